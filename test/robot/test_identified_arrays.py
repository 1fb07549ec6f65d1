# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Identified dynamics in files, and copies of them."""

import copy
import pickle

import numpy as np
import pytest
from identification import motion

from ilr_dynamics.regression import ILR, Predictor, load_snapshot
from ilr_dynamics.robot.identified_dynamics import IdentifiedDynamics


def test_arrays_lead_back_to_the_same_bits(arm, identified):
    X = motion(arm.n_joints, 10, 6)
    again = IdentifiedDynamics.from_arrays(identified.arrays())
    for name in ("mean", "doubt", "unlearnable"):
        np.testing.assert_array_equal(
            getattr(again.predict(X), name), getattr(identified.predict(X), name)
        )
    np.testing.assert_array_equal(again.noise_shape, identified.noise_shape)
    assert again.dof == identified.dof
    # It learns on as it began.
    more = (motion(arm.n_joints, 30, 7), np.ones((30, arm.n_joints)), np.ones(30))
    of_both = (one.updated(*more).arrays() for one in (again, identified))
    for found, expected in zip(*(arrays.items() for arrays in of_both), strict=True):
        assert found[0] == expected[0]
        np.testing.assert_array_equal(found[1], expected[1])


@pytest.mark.parametrize(
    "copied", [copy.copy, copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))]
)
def test_copies_and_later_queries_leave_earlier_answers_as_they_were(arm, identified, copied):
    X = motion(arm.n_joints, 3, 10)
    mean, doubt = identified.expected(X[:1]), identified.predict(X[:1]).doubt
    kept = mean.copy(), doubt.copy()
    twin = copied(identified)
    for _ in range(2):
        np.testing.assert_array_equal(twin.expected(X[:1]), kept[0])
        np.testing.assert_array_equal(twin.predict(X[:1]).doubt, kept[1])
        # One row, so that both would use their scratch memory.
        identified.predict(X[1:2])
        twin.predict(X[2:3])
    np.testing.assert_array_equal(mean, kept[0])
    np.testing.assert_array_equal(doubt, kept[1])


def test_what_is_taken_from_arrays_predicts_without_solving(arm, identified, monkeypatch):
    again = IdentifiedDynamics.from_arrays(identified.arrays())

    def fail(*_):
        raise AssertionError("solved for the parameters")

    monkeypatch.setattr("ilr_dynamics.robot.dynamics_knowledge.parameter_posterior", fail)
    X = motion(arm.n_joints, 3, 9)
    assert np.all(np.isfinite(again.predict(X).mean))
    # Learning on starts from the sums.
    with pytest.raises(AssertionError, match="solved"):
        again.updated(X, np.zeros((3, arm.n_joints)), np.ones(3))


@pytest.mark.parametrize(
    "name",
    [
        "gram",
        "motors",
        "weight",
        "posterior_covariance",
        "posterior_noise",
        "noise_sums",
        "representative_X",
        "representative_Y",
        "representative_worth",
        "correlation",
        "prior_scales",
    ],
)
def test_arrays_that_do_not_fit_are_refused(identified, name):
    arrays = identified.arrays()
    for wrong in (np.zeros((2, 2, 2, 2)), np.full(np.shape(arrays[name]), np.nan)):
        with pytest.raises(ValueError, match=name):
            IdentifiedDynamics.from_arrays({**arrays, name: wrong})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("posterior_noise", 0.0),
        ("representative_mass", 0.0),
        ("representative_mass", np.nan),
        ("representative_worth", -1.0),
        ("correlation", 0.0),
        ("correlation", 1.0),
        ("prior_scales", 0.0),
    ],
)
def test_values_that_cannot_be_are_refused(identified, name, value):
    arrays = identified.arrays()
    with pytest.raises(ValueError, match=name):
        IdentifiedDynamics.from_arrays({**arrays, name: np.full(arrays[name].shape, value)})


def test_joints_without_end_in_a_file_of_an_earlier_version_are_refused(identified):
    """Arrays that such a file lacks would take more memory than there is."""
    arrays = identified.arrays()
    old = {name: array for name, array in arrays.items() if not name.startswith("earlier_")}
    with pytest.raises(ValueError, match="gram"):
        IdentifiedDynamics.from_arrays({**old, "axes": np.zeros((100_000, 3))})


def test_another_number_of_representatives_is_refused(identified):
    arrays = identified.arrays()
    for wrong in (arrays["representative_mass"][:-1], np.array(1.0)):
        with pytest.raises(ValueError, match="representative_"):
            IdentifiedDynamics.from_arrays({**arrays, "representative_mass": wrong})


def test_a_mixture_falls_back_on_it_and_keeps_it_in_its_files(arm, rubbing, tmp_path):
    X = motion(arm.n_joints, 300, 7)
    identified = IdentifiedDynamics.from_description(arm)
    model = ILR(n_components=5, global_model=identified).fit(X, rubbing(X))
    far = 100.0 * motion(arm.n_joints, 5, 8)
    np.testing.assert_allclose(
        model.predict(far), model.global_model_.predict(far).mean, rtol=1e-6
    )
    model.save(tmp_path / "model.npz")
    loaded = load_snapshot(tmp_path / "model.npz")
    np.testing.assert_array_equal(loaded.predict(far), model.predict(far))
    model.predictor().save(tmp_path / "predictor")
    mean, std = Predictor.open(tmp_path / "predictor")(far[0])
    expected, expected_std = model.predict(far[:1], return_std=True)
    np.testing.assert_allclose(mean, expected[0], rtol=1e-9)
    np.testing.assert_allclose(std, expected_std[0], rtol=1e-9)


def test_a_loaded_model_with_identified_dynamics_computes_the_same_bits(arm, samples, tmp_path):
    X, Y = samples
    model = ILR(5, global_model=IdentifiedDynamics.from_description(arm)).fit(X, Y)
    model.save(tmp_path / "model.npz")
    loaded = load_snapshot(tmp_path / "model.npz")
    of_both = (m.predict(X[:50], return_std=True) for m in (loaded, model))
    for found, expected in zip(*of_both, strict=True):
        np.testing.assert_array_equal(found, expected)


def test_arrays_of_an_earlier_version_are_told_apart_from_damaged_ones(identified):
    """That version had a sum of weights and sums of squares, and no samples."""
    arrays = {
        name: array
        for name, array in identified.arrays().items()
        if not name.startswith(("representative_", "correlation", "noise_sums", "prior_scales"))
    }
    before = {**arrays, "seen": np.array(3000.0), "moments": np.ones((3, len(arrays["axes"])))}
    with pytest.raises(ValueError, match="earlier version: learn them again"):
        IdentifiedDynamics.from_arrays(before)


def test_arrays_from_before_the_prior_had_scales_predict_the_same(identified):
    arrays = dict(identified.arrays())
    del arrays["prior_scales"]
    again = IdentifiedDynamics.from_arrays(arrays)
    assert np.array_equal(again.prior_scales, np.ones_like(identified.prior_scales))
    X = identified.representatives.X[:20]
    np.testing.assert_array_equal(again.expected(X), identified.expected(X))
