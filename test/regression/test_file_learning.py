# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Learning from files of samples: the model of the arrays, whoever computes which part."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ilr_dynamics.exceptions import (
    ConvergenceWarning,
    FileAccessError,
    InvalidDataError,
    InvalidParameterError,
    NotFittedError,
)
from ilr_dynamics.regression import (
    HILR,
    ILR,
    BatchInference,
    LinearGlobalModel,
    StochasticInference,
    file_learning,
    fit_files,
    write_samples,
)
from ilr_dynamics.regression.shared.map_reduce import OneProcess, aligned_blocks, tree_sum

X_TEST = np.random.default_rng(7).uniform(-2.0, 2.0, (40, 2))


def relation(X):
    return np.column_stack([np.sin(2.0 * X[:, 0]), X[:, 0] * X[:, 1], np.abs(X[:, 1])])


def samples(seed, n):
    generator = np.random.default_rng(seed)
    X = generator.uniform(-2.0, 2.0, (n, 2))
    Y = relation(X) + 0.05 * generator.normal(size=(n, 3))
    return X, Y, generator.uniform(0.2, 2.0, n)


def written(folder, X, Y, weights, cuts):
    rows = np.split(np.arange(len(X)), cuts)
    return [
        write_samples(folder / f"{part:02d}.npy", X[chosen], Y[chosen], weights[chosen])
        for part, chosen in enumerate(rows)
    ]


class Scattered(OneProcess):
    """Workers that have a part of a sum each, in an order of their own, some of it twice."""

    def __init__(self, seed, n_blocks):
        self._generator = np.random.default_rng(seed)
        self._n_blocks = n_blocks

    def sum(self, function, items, shared):
        blocks = aligned_blocks(items, self._n_blocks)
        parts = [None] * len(blocks)
        for number in self._generator.permutation(len(blocks)):
            if self._generator.uniform() < 0.3:
                function(blocks[number][0], shared)
            parts[number] = tree_sum(function(item, shared) for item in blocks[number])
        return tree_sum(parts)


@pytest.mark.parametrize(
    "make",
    [
        lambda: ILR(12, inference=BatchInference(25)),
        lambda: ILR(12, inference=BatchInference(25, merge=True)),
        lambda: HILR(12, inference=BatchInference(25)),
        lambda: ILR(12, global_model=LinearGlobalModel(), inference=BatchInference(25)),
    ],
    ids=["plain", "merging", "hierarchical", "global model"],
)
def test_files_give_the_model_of_the_arrays(make, tmp_path):
    X, Y, weights = samples(1, 700)
    whole = make().fit(X, Y, weights)
    model = fit_files(make(), written(tmp_path, X, Y, weights, [90, 300, 301, 520]))
    assert model.n_samples_ == 700
    np.testing.assert_allclose(model.lower_bounds_, whole.lower_bounds_, rtol=1e-9)
    for found, expected in zip(
        model.predict(X_TEST, return_std=True), whole.predict(X_TEST, return_std=True), strict=True
    ):
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-8)
    # Only what was given is left.
    assert len(list(tmp_path.iterdir())) == 5


@pytest.mark.parametrize(
    "inference",
    [BatchInference(12, merge=True), StochasticInference(4, batch_size=200)],
    ids=["batch", "stochastic"],
)
def test_who_computes_what_does_not_matter(inference, tmp_path):
    files = written(tmp_path, *samples(2, 600), [100, 150, 320, 333, 500])

    def learned(mapper):
        return fit_files(ILR(10, inference=inference), files, mapper=mapper)

    one = learned(OneProcess())
    for seed, n_blocks in ((0, 1), (1, 3), (2, 6)):
        other = learned(Scattered(seed, n_blocks))
        np.testing.assert_array_equal(other.statistics_, one.statistics_)
        np.testing.assert_array_equal(other.lower_bounds_, one.lower_bounds_)


def test_stochastic_steps_over_files_learn_the_relation(tmp_path):
    X, Y, weights = samples(3, 3000)
    # Each file a small picture of the whole.
    parts = [
        write_samples(tmp_path / f"{part}.npy", X[part::10], Y[part::10], weights[part::10])
        for part in range(10)
    ]
    model = ILR(40, inference=StochasticInference(30, batch_size=600))
    fit_files(model, parts)
    error = np.mean((model.predict(X_TEST) - relation(X_TEST)) ** 2, axis=0)
    assert np.all(error < 0.02 * np.var(relation(X_TEST), axis=0))
    # The last iteration is over all samples: each counts once.
    assert np.sum(model.statistics_[:, 2, 2]) == pytest.approx(np.sum(weights), rel=1e-12)


def test_inference_goes_on_from_a_model_of_the_first_files(tmp_path):
    X, Y, weights = samples(4, 900)
    files = written(tmp_path, X, Y, weights, [300, 600])

    def make():
        return ILR(15, global_model=LinearGlobalModel(), inference=BatchInference(200))

    start = fit_files(make(), files[:2])
    model = fit_files(make(), files, start=start)
    assert model.n_samples_ == 900 and start.n_samples_ == 600
    assert np.sum(model.statistics_[:, 2, 2]) == pytest.approx(np.sum(weights), rel=1e-12)
    # Its global model knows all samples too.
    assert model.global_model_.dof > start.global_model_.dof
    from_nothing = fit_files(make(), files)
    # Where components start that know two thirds of the samples there is less left to do.
    assert model.lower_bounds_[0] > from_nothing.lower_bounds_[0]

    def error(model):
        return np.mean((model.predict(X_TEST) - relation(X_TEST)) ** 2)

    assert error(model) < 1.5 * error(from_nothing)
    with pytest.raises(InvalidDataError, match=r"has learned 600 samples; .* have \[300, 900\]"):
        others = written(tmp_path, X, Y, weights, [300])
        fit_files(make(), others, start=start)


@settings(max_examples=10)
@given(st.lists(st.integers(1, 40), min_size=1, max_size=5), st.integers(1, 60))
def test_the_sketch_is_evenly_spaced_over_all_files(tmp_path_factory, sizes, limit):
    total = sum(sizes)
    X = np.arange(float(total))[:, None]
    cuts = np.cumsum(sizes)[:-1]
    files = written(tmp_path_factory.mktemp("files"), X, X, np.ones(total), cuts)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(file_learning, "SKETCH_ROWS", limit)
        found, _, weights = file_learning._sketch(files, OneProcess())
    np.testing.assert_array_equal(found[:, 0], np.arange(0.0, total, -(-total // limit)))
    assert len(found) <= limit
    assert len(weights) == len(found)


def test_samples_that_do_not_fit_are_refused(tmp_path):
    X, Y, weights = samples(5, 60)
    one = write_samples(tmp_path / "one.npy", X, Y)
    other = write_samples(tmp_path / "other.npy", X, Y[:, :1])
    with pytest.raises(InvalidDataError, match=r"\[\(2, 1\), \(2, 3\)\]; expected one pair"):
        fit_files(ILR(5), [one, other])
    with pytest.raises(InvalidDataError, match="given twice"):
        fit_files(ILR(5), [one, one])
    with pytest.raises(InvalidDataError, match=r"\[\]; expected one pair"):
        fit_files(ILR(5), [])
    with pytest.raises(InvalidDataError, match=r"expected a \.npy file"):
        write_samples(tmp_path / "one.npz", X, Y)
    with pytest.raises(InvalidDataError, match="NaN"):
        write_samples(tmp_path / "one.npy", np.full_like(X, np.nan), Y)
    np.save(one.path, X)
    with pytest.raises(InvalidDataError, match=r"shape \(60, 2\) .* expected \(60, 6\)"):
        fit_files(ILR(5), [one])
    (tmp_path / "one.npy").write_bytes(b"no array")
    with pytest.raises(InvalidDataError, match="cannot be read"):
        fit_files(ILR(5), [one])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["one.npy", "other.npy"]


def test_arguments_of_another_type_are_named(tmp_path):
    X, Y, weights = samples(6, 60)
    files = written(tmp_path, X, Y, weights, [30])
    model = ILR(5, inference=BatchInference(3, fit_scales=False))
    for arguments, text in (
        ((X, files), "model must be of type MixtureRegressor"),
        ((model, files[0]), "files must be of type Sequence, got SampleFile"),
        ((model, [files[0].path]), "each of the files must be of type SampleFile, got '"),
        ((model, files, {"mapper": "local:2"}), "mapper must be of type Mapper, got 'local:2'"),
        ((model, files, {"start": files[0]}), "start must be of type MixtureRegressor"),
        ((model, files, {"start": HILR(5)}), "the prior of start must be of type Prior"),
    ):
        *given, options = arguments if isinstance(arguments[-1], dict) else (*arguments, {})
        with pytest.raises(InvalidParameterError, match=text):
            fit_files(*given, **options)
    with pytest.raises(NotFittedError, match="this ILR has not seen data yet"):
        fit_files(model, files, start=ILR(5))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        start = ILR(5, inference=model.inference).fit(X[:, :1], Y)
    with pytest.raises(InvalidDataError, match="1 inputs and 3 outputs; expected 2 and 3, as"):
        fit_files(model, files, start=start)
    assert not hasattr(model, "lower_bounds_")


def test_a_folder_that_cannot_be_written_is_named(tmp_path):
    X, Y, _ = samples(7, 20)
    with pytest.raises(FileAccessError, match="/proc/self/x.npy cannot be written .*expected a f"):
        write_samples("/proc/self/x.npy", X, Y)
    # Those beside the files too: here their names become too long.
    name = "x" * 200
    file = write_samples(tmp_path / f"{name}.npy", X[:, :1], Y)
    with pytest.raises(FileAccessError, match=r"extended-.* cannot be written"):
        fit_files(ILR(5), [file])
    assert [path.name for path in tmp_path.iterdir()] == [f"{name}.npy"]
