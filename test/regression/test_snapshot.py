# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest

from ilr_dynamics.exceptions import SnapshotError
from ilr_dynamics.regression import (
    HILR,
    ILR,
    BatchInference,
    Predictor,
    Scaling,
    load_snapshot,
)
from ilr_dynamics.regression.files.model_file import SNAPSHOT, read_file, write_file

METADATA = {
    "joint_names": ["j1", "jö"],
    "driver_compensates_gravity": True,
    "units": {"X": "rad", "n": 3, "rate": 1e-3, "none": None},
}


LINEAR = {"features": "linear", "degree": 3, "global_model": None}


@pytest.fixture
def path(model, tmp_path):
    path = tmp_path / "model.npz"
    model.save(path, METADATA)
    return path


def test_a_loaded_model_says_the_same_bits(model, motion, path):
    X, Y = motion
    X = np.concatenate([X, [[1e5, -1e7]]])
    loaded = load_snapshot(path)
    for a, b in zip(model.predict(X, True), loaded.predict(X, True), strict=True):
        np.testing.assert_array_equal(a, b)
    for a, b in zip(model.predict_interval(X), loaded.predict_interval(X), strict=True):
        np.testing.assert_array_equal(a, b)
    for a, b in zip(model.predict_components(X), loaded.predict_components(X), strict=True):
        np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(
        model.log_predictive_density(X[:-1], Y), loaded.log_predictive_density(X[:-1], Y)
    )
    for name in ("n_samples_", "n_active_", "converged_", "n_features_in_", "n_outputs_"):
        assert getattr(loaded, name) == getattr(model, name)
    np.testing.assert_array_equal(loaded.lower_bounds_, model.lower_bounds_)
    assert loaded.get_params() == model.get_params()


def test_a_loaded_model_learns_on_to_the_same_bits(motion, tmp_path):
    X, Y = motion
    model = ILR(n_components=10, random_state=2).fit(X[:200], Y[:200])
    model.save(tmp_path / "model.npz")
    loaded = load_snapshot(tmp_path / "model.npz")
    for m in (model, loaded):
        m.partial_fit(X[200:], Y[200:])
    np.testing.assert_array_equal(model.statistics_, loaded.statistics_)
    np.testing.assert_array_equal(model.predict(X), loaded.predict(X))
    assert loaded.n_samples_ == 400


def test_metadata_come_back_and_stay_through_another_save(path, tmp_path):
    loaded = load_snapshot(path)
    assert loaded.metadata_ == METADATA
    loaded.save(tmp_path / "again.npz")
    assert load_snapshot(tmp_path / "again.npz").metadata_ == METADATA
    loaded.save(tmp_path / "other.npz", {"a": 1})
    assert load_snapshot(tmp_path / "other.npz").metadata_ == {"a": 1}


def test_metadata_that_json_changes_can_still_be_read(model, tmp_path):
    model.save(tmp_path / "model.npz", {10: "ten", 2: ("t", "w", "o")})
    metadata = load_snapshot(tmp_path / "model.npz").metadata_
    assert metadata == {"10": "ten", "2": ["t", "w", "o"]}


def test_parameters_of_numpy_come_back_as_pythons_and_generators_as_none(motion, tmp_path):
    model = ILR(
        n_components=np.int64(3),
        degree=np.int64(2),
        random_state=np.random.default_rng(0),
        scaling=Scaling(input_scale=np.array([1.0, 200.0])),
    ).fit(*motion)
    model.save(tmp_path / "model.npz")
    loaded = load_snapshot(tmp_path / "model.npz")
    assert loaded.scaling == Scaling(input_scale=[1.0, 200.0])
    assert loaded.random_state is None
    np.testing.assert_array_equal(loaded.predict(motion[0]), model.predict(motion[0]))


def rewritten(path, header=None, arrays=None, without=()):
    """Write the snapshot again, changed and with a checksum that fits."""
    old_header, old_arrays = read_file(path, SNAPSHOT)
    kept = {k: v for k, v in old_header.items() if k not in ("format", "version", "checksum")}
    new_header = {**kept, **(header or {})}
    new_arrays = {**old_arrays, **(arrays or {})}
    for name in without:
        new_header.pop(name, None)
        new_arrays.pop(name, None)
    write_file(path, SNAPSHOT, new_header, new_arrays)
    return path


@pytest.mark.parametrize(
    "arrays",
    [
        {"gate_mean": np.zeros((1, 3))},
        {"gate_mean": np.zeros(())},
        {"gate_kappa": np.zeros(1)},
        {"gate_dof": np.array([0.5])},
        {"gate_inverse_scale": -np.eye(2)[None]},
        {"regression_mean": np.zeros(4)},
        {"regression_mean": np.zeros((1, 2, 2))},
        {"regression_dof": np.array([2.5])},
        {"regression_column_precision": np.zeros((1, 3, 3))},
        {"concentration": np.array([-1.0])},
        {"statistics": np.zeros((0, 5, 5))},
        {"statistics": np.zeros((3, 4, 4))},
        {"statistics": np.zeros(5)},
        {"statistics": -np.ones((1, 5, 5))},
        {"statistics": np.stack([np.eye(5), 2.0 * np.eye(5)])},
        {"statistics": np.diag([1.0, 1.0, 1.0, 1.0, -0.5])[None]},
        {"output_scale": np.full(2, 1e300)},
        {"input_location": np.full(2, 1e300)},
        {"input_scale": np.zeros(2)},
        {"input_scale": np.ones(3)},
        {"output_location": np.zeros((2, 1))},
        {"feature_location": np.zeros(2)},
        {"groups": np.arange(3.0)},
        {"lower_bounds": np.zeros((1, 1))},
        {"lower_bounds": np.zeros(())},
    ],
    ids=lambda arrays: f"{next(iter(arrays))}",
)
def test_arrays_that_do_not_fit_together_are_refused(path, arrays):
    with pytest.raises(SnapshotError, match="not consistent in itself"):
        load_snapshot(rewritten(path, arrays=arrays))


@pytest.mark.parametrize(
    "name",
    [
        "gate_inverse_scale",
        "regression_column_precision",
        "regression_inverse_scale",
        "statistics",
    ],
)
def test_matrices_that_are_not_symmetric_are_refused(path, name):
    matrices = read_file(path, SNAPSHOT)[1][name]
    matrices[0, 0, 1] += 0.01 * matrices[0, 0, 0]
    with pytest.raises(SnapshotError, match="not symmetric"):
        load_snapshot(rewritten(path, arrays={name: matrices}))


@pytest.mark.parametrize("name", ["lower_bounds", "input_location", "statistics", "gate_mean"])
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_values_that_are_not_finite_are_refused(path, name, value):
    array = read_file(path, SNAPSHOT)[1][name]
    array.flat[0] = value
    with pytest.raises(SnapshotError, match=f"{name}.*finite"):
        load_snapshot(rewritten(path, arrays={name: array}))


@pytest.fixture(scope="module")
def hierarchy(motion):
    return HILR(n_components=5, inference=BatchInference(max_iterations=10)).fit(*motion)


@pytest.mark.parametrize("name", ["gate_mean", "regression_mean"])
@pytest.mark.parametrize("value", [1e300, -1e300])
def test_models_that_predict_nothing_finite_are_refused(model, hierarchy, tmp_path, name, value):
    for learned in (model, hierarchy):
        learned.save(tmp_path / "model.npz")
        array = np.full_like(read_file(tmp_path / "model.npz", SNAPSHOT)[1][name], value)
        # LAPACK's Cholesky factorisation refuses NaN itself; OpenBLAS's lets it through.
        with pytest.raises(SnapshotError, match="not finite|not positive definite"):
            load_snapshot(rewritten(tmp_path / "model.npz", arrays={name: array}))


def test_strengths_beyond_all_numbers_are_refused(hierarchy, tmp_path):
    hierarchy.save(tmp_path / "model.npz")
    with pytest.raises(SnapshotError, match="not consistent in itself"):
        load_snapshot(rewritten(tmp_path / "model.npz", arrays={"gate_kappa": np.array([1e300])}))


def test_a_model_with_an_unseen_component_as_wide_as_numbers_allow_can_be_asked(model, tmp_path):
    model.save(tmp_path / "model.npz")
    weakest = {"gate_kappa": np.array([5e-324])}
    loaded = load_snapshot(rewritten(tmp_path / "model.npz", arrays=weakest))
    answer = loaded.predictor().query([3.0, 10.0])
    assert np.all(np.isfinite([*answer.mean, *answer.std, *answer.doubt]))


@pytest.mark.parametrize(
    "change",
    [lambda groups: groups[::-1], lambda groups: groups + 0.5, lambda groups: 0.0 * groups],
    ids=["reversed", "halves", "one"],
)
def test_groups_that_do_not_fit_the_components_are_refused(path, change):
    groups = read_file(path, SNAPSHOT)[1]["groups"]
    with pytest.raises(SnapshotError, match="not consistent in itself.*groups"):
        load_snapshot(rewritten(path, arrays={"groups": change(groups)}))


@pytest.mark.parametrize(
    "header",
    [
        {"class": "GaussianProcess"},
        {"class": ["ILR"]},
        {"parameters": {"depth": 3}},
        {"parameters": None},
        {"metadata": 5},
        {"n_samples": "many"},
        {"n_samples": float("inf")},
        {"n_samples": 10.5},
        {"n_samples": -1},
        {"transforms": LINEAR | {"degree": float("inf")}},
        {"transforms": LINEAR | {"degree": -3}},
        {"transforms": {"features": "linear", "degree": 3}},
        {"transforms": LINEAR | {"features": "polynomial"}},
        {"transforms": LINEAR | {"features": "polynomial", "degree": 10**9}},
        {"transforms": LINEAR | {"features": "never_registered"}},
        {"transforms": LINEAR | {"global_model": "linear"}},
        {"transforms": LINEAR | {"global_model": "never_defined"}},
        {"parameters": {"prior": {"type": "Posterior"}}},
        {"parameters": {"prior": {"noise_std": 0.1}}},
        {"parameters": {"prior": {"type": "Prior", "depth": 3}}},
        {"parameters": {"inference": {"type": "BatchInference", "max_iterations": 0}}},
    ],
    ids=str,
)
def test_headers_that_make_no_model_are_refused(path, header):
    with pytest.raises(SnapshotError, match="not consistent in itself|cannot be loaded"):
        load_snapshot(rewritten(path, header=header))


@pytest.mark.parametrize(
    "name", ["statistics", "gate_dof", "output_scale", "class", "metadata", "groups"]
)
def test_missing_parts_are_named(path, name):
    with pytest.raises(SnapshotError, match=name):
        load_snapshot(rewritten(path, without=[name]))


def test_a_group_that_could_not_be_found_again_is_not_saved(motion, tmp_path):
    class Hurried(BatchInference):
        """Without a name that leads back to it."""

    model = ILR(n_components=2, inference=Hurried(max_iterations=2)).fit(*motion)
    with pytest.raises(SnapshotError, match="Hurried cannot be saved; expected one of .*Batch"):
        model.save(tmp_path / "model.npz")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_missing_is_told(model, tmp_path):
    with pytest.raises(SnapshotError, match="cannot write"):
        model.save(tmp_path / "nowhere" / "model.npz")


@pytest.mark.parametrize("size", [1e-140, 1e-40, 1e-27, 1.0, 1e27, 1e40, 1e140])
@pytest.mark.parametrize("of", ["inputs", "outputs"])
def test_what_is_saved_can_be_loaded(size, of, motion, tmp_path):
    X, Y = motion
    X, Y = (size * X, Y) if of == "inputs" else (X, size * Y)
    model = ILR(n_components=3, random_state=0, inference=BatchInference(max_iterations=3)).fit(
        X, Y
    )
    path = tmp_path / "model.npz"
    if 1e-30 < size < 1e30:
        model.save(path)
        np.testing.assert_array_equal(load_snapshot(path).predict(X), model.predict(X))
        model.predictor().save(path)
        Predictor.open(path)
        return
    for save in (model.save, model.predictor().save):
        with pytest.raises(SnapshotError, match="cannot be saved: the .*put scaling has .*1e"):
            save(path)
    assert list(tmp_path.iterdir()) == []
