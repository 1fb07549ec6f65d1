# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Components that learn what a global model leaves."""

from dataclasses import replace

import numpy as np
import pytest

from ilr_dynamics.exceptions import InvalidDataError, InvalidParameterError
from ilr_dynamics.regression import (
    HILR,
    ILR,
    BatchInference,
    LinearGlobalModel,
    Predictor,
    Prior,
    Scaling,
    load_snapshot,
)
from ilr_dynamics.regression.inference.residual_statistics import shifted_statistics

SETTINGS = {"n_components": 6, "random_state": 0, "inference": BatchInference(max_iterations=30)}
SCALING = Scaling(input_location=0.0, input_scale=1.0, output_scale=0.3)


@pytest.fixture(scope="module")
def samples():
    generator = np.random.default_rng(0)
    X = generator.normal(size=(400, 2))
    bump = np.exp(-4.0 * np.sum((X - 0.5) ** 2, axis=1))
    Y = X @ np.array([[2.0, -1.0], [0.5, 3.0]]) + bump[:, None] + [1.0, -2.0]
    return X, Y + 0.02 * generator.normal(size=Y.shape)


def learned(kind, X, Y, **changes):
    of_residual = {"global_model": LinearGlobalModel(), "learn_residual": True}
    return kind(**{**SETTINGS, "scaling": SCALING, **of_residual, **changes}).fit(X, Y)


@pytest.mark.parametrize("kind", [ILR, HILR])
def test_it_is_the_global_model_and_a_mixture_of_what_that_leaves(samples, kind):
    X, Y = samples
    model = learned(kind, X, Y)
    linear = LinearGlobalModel().updated(X, Y, np.ones(len(X)))
    left = Y - linear.predict(X).mean
    alone = kind(**SETTINGS, scaling=replace(SCALING, output_location=0.0)).fit(X, left)
    test = X[:20]
    weights, means, _ = model.predict_components(test)
    n = model.statistics_.shape[0]
    expected = alone.predict_components(test)[1][:, :n] + linear.predict(test).mean[:, None]
    np.testing.assert_allclose(means[:, :n], expected, atol=1e-8)
    np.testing.assert_allclose(means[:, -1], linear.predict(test).mean, atol=1e-8)
    np.testing.assert_allclose(weights.sum(axis=1), 1.0)


def test_it_is_better_than_the_global_model_near_the_data_and_as_good_far_from_it(samples):
    X, Y = samples
    model = learned(ILR, X, Y, n_components=30, prior=Prior(input_spread=0.3))
    linear = model.global_model_
    errors = [np.mean((m - Y) ** 2) for m in (model.predict(X), linear.predict(X).mean)]
    assert errors[0] < 0.5 * errors[1]
    # The unseen component has all the weight there but for the last digits.
    far = np.array([[1e14, -1e16]])
    np.testing.assert_allclose(model.predict(far), linear.predict(far).mean, rtol=1e-6)


def test_single_queries_snapshots_and_predictor_files_say_the_same(samples, tmp_path):
    X, Y = samples
    model = learned(ILR, X[:200], Y[:200]).partial_fit(X[200:], Y[200:])
    mean, std = model.predict(X[:10], return_std=True)
    model.save(tmp_path / "model.npz")
    loaded = load_snapshot(tmp_path / "model.npz")
    np.testing.assert_array_equal(loaded.predict(X[:10]), mean)
    model.predictor().save(tmp_path / "predictor")
    opened = Predictor.open(tmp_path / "predictor")
    for x, expected, spread in zip(X[:10], mean, std, strict=True):
        for predictor in (model.predictor(), opened):
            found, found_std = predictor(x)
            np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)
            np.testing.assert_allclose(found_std, spread, rtol=1e-9)
    # It goes on as it began.
    more = (X[:50] + 0.1, Y[:50])
    np.testing.assert_array_equal(
        loaded.partial_fit(*more).predict(X), model.partial_fit(*more).predict(X)
    )


def test_what_was_learned_stays_when_the_global_model_changes():
    generator = np.random.default_rng(1)
    near, later = generator.uniform(0.0, 1.0, (400, 1)), generator.uniform(3.0, 4.0, (400, 1))
    noise = 0.01 * generator.normal(size=(800, 1))
    model = ILR(
        10,
        prior=Prior(input_spread=0.2),
        random_state=0,
        global_model=LinearGlobalModel(),
        learn_residual=True,
        scaling=Scaling(input_location=0.0, input_scale=1.0, output_scale=1.0),
    ).partial_fit(near, near**2 + noise[:400])
    before = model.global_model_.predict(near).mean
    model.partial_fit(later, later**2 + noise[400:])
    assert np.sqrt(np.mean((model.global_model_.predict(near).mean - before) ** 2)) > 0.5
    assert np.sqrt(np.mean((model.predict(near) - near**2) ** 2)) < 0.01
    low, high = model.predict_interval(near, 0.95)
    assert np.mean((low <= near**2) & (near**2 <= high)) > 0.9


@pytest.mark.parametrize("features", ["linear", "polynomial"])
def test_sums_of_a_residual_are_shifted_exactly_for_linear_models(samples, features):
    X, Y = samples
    models = [
        learned(ILR, X[rows], Y[rows], features=features) for rows in (slice(100), slice(400))
    ]
    before, after = (model.transforms_ for model in models)
    after = replace(before, global_model=after.global_model)
    share = np.random.default_rng(2).uniform(size=(3, len(X)))
    sums = []
    for transforms in (before, after):
        left = (Y - transforms.global_model.predict(X).mean - before.outputs.location) / 0.3
        Z = np.column_stack([before.regressors(X), left])
        sums.append(np.einsum("kn,ni,nj->kij", share, Z, Z))
    np.testing.assert_allclose(
        shifted_statistics(sums[0], before, after), sums[1], rtol=1e-8, atol=1e-7
    )
    nothing = np.zeros_like(sums[0])
    np.testing.assert_array_equal(shifted_statistics(nothing, before, after), nothing)


def test_what_is_forgotten_is_not_defended_against_the_new_global_model(samples):
    X, Y = samples
    near = np.sum((X - 0.5) ** 2, axis=1) < 1.0
    model = learned(ILR, X[near], Y[near], forgetting_factor=1e-3)
    before = model.predict(X[near])
    model.partial_fit(X[~near], Y[~near] + 5.0)
    change = model.predict(X[near]) - before
    assert np.median(change) == pytest.approx(5.0, abs=0.5)


class HalfDeaf(LinearGlobalModel):
    """Second outputs say nothing, and scatter by 0.5 where the first input is positive."""

    name = "half_deaf"

    def informative_share(self, X):
        return np.tile([1.0, 0.0], (len(X), 1))

    def predict(self, X):
        variance = np.zeros((len(X), 2))
        variance[X[:, 0] > 0.0, 1] = 0.5
        return replace(super().predict(X), unlearnable=variance)


def test_what_says_nothing_is_not_learned_but_widens_the_spread_where_it_scatters(samples):
    X, Y = samples
    model = learned(ILR, X, Y, global_model=HalfDeaf())
    expected = model.global_model_.predict(X).mean
    np.testing.assert_allclose(model.predict(X)[:, 1], expected[:, 1], atol=1e-6)
    assert np.max(np.abs(model.predict(X) - expected)[:, 0]) > 0.2
    _, std = model.predict(X, return_std=True)
    plain = replace(
        model.transforms_, global_model=LinearGlobalModel().updated(X, Y, np.ones(400))
    )
    without = replace(model._predictive, transforms=plain).moments(X)[:, 2:4]
    scatters = X[:, 0] > 0.0
    # Of all components alike, so of the mixture.
    np.testing.assert_allclose(std[scatters, 1] ** 2, without[scatters, 1] ** 2 + 0.5, rtol=1e-9)
    np.testing.assert_allclose(std[~scatters], without[~scatters], rtol=1e-9)
    np.testing.assert_allclose(std[:, 0], without[:, 0], rtol=1e-9)


class Doubtful(LinearGlobalModel):
    """Has a doubt of 0.5 about its first output besides."""

    name = "doubtful_of_one"

    def predict(self, X):
        return replace(super().predict(X), doubt=np.tile([0.5, 0.0], (len(X), 1)))


@pytest.mark.parametrize("learn_residual", [False, True])
def test_a_doubt_is_that_of_the_global_model_alone(samples, learn_residual):
    """What components learned of its residual has corrected its error."""
    X, Y = samples
    model = learned(ILR, X, Y, global_model=Doubtful(), learn_residual=learn_residual)
    plain = learned(ILR, X, Y, learn_residual=learn_residual)
    weights, _, covariances = model.predict_components(X)
    without = plain.predict_components(X)[2]
    np.testing.assert_allclose(covariances[:, :-1], without[:, :-1], rtol=1e-9)
    added = covariances[:, -1] - without[:, -1]
    np.testing.assert_allclose(added, np.tile(np.diag([0.5, 0.0]), (400, 1, 1)), atol=1e-9)
    variance = [m.predict(X, return_std=True)[1] ** 2 for m in (model, plain)]
    np.testing.assert_allclose(
        variance[0] - variance[1], weights[:, -1:] * [0.5, 0.0], rtol=1e-6, atol=1e-9
    )


@pytest.mark.parametrize(
    "changes",
    [{"global_model": None}, {"learn_residual": "yes"}],
)
def test_a_residual_of_nothing_is_refused(samples, changes):
    with pytest.raises(InvalidParameterError, match="learn_residual"):
        learned(ILR, *samples, **changes)


@pytest.mark.parametrize(
    ("changes", "name"),
    [
        ({"share": np.nan}, "informative_share"),
        ({"share": 2.0}, "informative_share"),
        ({"unlearnable": -5.0}, "unlearnable"),
        ({"unlearnable": np.nan}, "unlearnable"),
        ({"doubt": -5.0}, "doubt"),
        ({"doubt": np.inf}, "doubt"),
        ({"doubt": np.zeros(3)}, "doubt"),
    ],
)
def test_shares_and_variances_that_are_none_are_refused(samples, changes, name):
    class Wrong(LinearGlobalModel):
        def informative_share(self, X):
            return np.full((len(X), 2), changes.get("share", 0.5))

        def predict(self, X):
            variances = {
                part: np.zeros((len(X), np.size(value) if np.ndim(value) else 2)) + value
                for part, value in changes.items()
                if part != "share"
            }
            return replace(super().predict(X), **variances)

    with pytest.raises(InvalidDataError, match=name):
        learned(ILR, *samples, global_model=Wrong())
