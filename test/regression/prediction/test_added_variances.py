# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Mixtures whose components have variances of each input besides their widened noise."""

from dataclasses import replace

import numpy as np
import pytest
from naive_prediction import naive_predictions
from scipy.stats import multivariate_t

from ilr_dynamics.regression import (
    HILR,
    ILR,
    LinearGlobalModel,
    Predictor,
    Scaling,
    load_snapshot,
)
from ilr_dynamics.regression.prediction.component_predictions import (
    ComponentPredictions,
    covariances,
    interval,
    log_conditional_density,
)
from ilr_dynamics.regression.prediction.predictive_mixture import PredictiveMixture
from ilr_dynamics.regression.units.spread import SpreadFactors

N, D = 5, 3
DOFS = np.array([6.0, 4.5, 30.0])
N_DRAWS = 400_000


def mixture(dofs=DOFS):
    """Three components with correlated outputs, of which the last one is the unseen one."""
    roots = np.random.default_rng(0).normal(size=(len(dofs), D, D))
    shapes = roots @ roots.transpose(0, 2, 1) + 0.2 * np.eye(D)
    nothing = np.zeros((len(dofs), 3))
    return PredictiveMixture(
        coordinates=np.eye(1),
        log_constants=np.zeros(len(dofs)),
        exponents=np.ones(len(dofs)),
        roots=nothing[:, :2],
        maps=np.zeros((len(dofs), D, 2)),
        widening_coefficients=nothing,
        noise_shapes=shapes,
        dofs=dofs,
        centres=np.zeros((len(dofs), 1)),
        extents=np.zeros((len(dofs), 1)),
    )


def predictions(*, added=True):
    generator = np.random.default_rng(1)
    weights = generator.dirichlet(np.ones(3), N)
    return ComponentPredictions(
        numbers=np.tile(np.arange(3), (N, 1)),
        log_weights=np.log(weights),
        factors=1.0 + generator.uniform(size=(N, 3)),
        means=2.0 * generator.normal(size=(N, 3, D)),
        added=generator.uniform(0.0, 4.0, (N, 3, D)) if added else np.zeros((N, 3, D)),
    )


def laws(model, block, row):
    """Student-t of each component: its shape holds variances by the factor (dof - 2) / dof."""
    for k, dof in enumerate(model.dofs):
        variance = np.diag(block.added[row, k]) * max(dof - 2.0, 0.0) / dof
        shape = block.factors[row, k] * model.noise_shapes[k] + variance
        yield multivariate_t(block.means[row, k], shape, dof)


ADDED = pytest.mark.parametrize("added", [True, False])


@ADDED
def test_density_is_that_of_each_components_own_student_t(added):
    block = predictions(added=added)
    Y = np.random.default_rng(2).normal(size=(N, D)) * 3.0
    for model in (mixture(), mixture(np.array([1.5, 4.0, 3.0]))):
        found = log_conditional_density(model, block, Y)
        for row in range(N):
            densities = [law.pdf(Y[row]) for law in laws(model, block, row)]
            expected = np.log(block.weights[row] @ densities)
            assert found[row] == pytest.approx(expected, rel=1e-9)


@ADDED
def test_covariance_is_that_of_the_noise_and_what_is_added(added):
    model, block = mixture(), predictions(added=added)
    found = covariances(model, block)
    for row in range(N):
        for k, dof in enumerate(DOFS):
            expected = block.factors[row, k] * model.noise_shapes[k] * dof / (dof - 2.0)
            expected = expected + np.diag(block.added[row, k])
            np.testing.assert_allclose(found[row, k], expected, rtol=1e-12)


@pytest.fixture(scope="module")
def draws():
    """Of the mixture at each input (n, N_DRAWS, d)."""
    model, block, generator = mixture(), predictions(), np.random.default_rng(3)
    drawn = np.empty((N, N_DRAWS, D))
    for row in range(N):
        labels = generator.choice(3, N_DRAWS, p=block.weights[row] / block.weights[row].sum())
        for k, law in enumerate(laws(model, block, row)):
            drawn[row, labels == k] = law.rvs(np.sum(labels == k), random_state=generator)
    return drawn


@pytest.mark.parametrize("level", [0.5, 0.95])
def test_intervals_cover_draws_with_as_many_on_either_side(draws, level):
    lower, upper = (bound[:, None] for bound in interval(mixture(), predictions(), level))
    outside = 0.5 * (1.0 - level)
    error = 4.0 * np.sqrt(outside * (1.0 - outside) / N_DRAWS)
    for beyond in (draws < lower, draws > upper):
        np.testing.assert_allclose(np.mean(beyond, axis=1), outside, atol=error)


class Unsure(LinearGlobalModel):
    """A linear model with variances of each input and output besides."""

    name = "unsure"

    def predict(self, X):
        doubt = np.column_stack([0.3 * X[:, 0] ** 2, np.abs(X[:, 1])])
        unlearnable = np.column_stack([0.0 * X[:, 0], 0.2 + np.exp(-(X[:, 0] ** 2))])
        return replace(super().predict(X), doubt=doubt, unlearnable=unlearnable)


@pytest.fixture(
    scope="module",
    params=[(ILR, False), (ILR, True), (HILR, True)],
    ids=["outputs", "residuals", "residuals in a hierarchy"],
)
def model(request):
    kind, learn_residual = request.param
    generator = np.random.default_rng(5)
    X = generator.normal(size=(300, 2))
    Y = X @ [[2.0, -1.0], [0.5, 3.0]] + np.sin(3.0 * X) + 0.1 * generator.normal(size=X.shape)
    return kind(
        6,
        random_state=0,
        global_model=Unsure(),
        learn_residual=learn_residual,
        # Of other units than the standard ones.
        scaling=Scaling(output_scale=[0.2, 5.0]),
    ).fit(X, Y)


INPUTS = np.concatenate(
    [np.random.default_rng(6).normal(size=(10, 2)) * scale for scale in (1.0, 4.0, 1e3)]
)


def with_spread(model, spread, tmp_path):
    """The same model with other factors on its spread, from a file of its own."""
    model.save(tmp_path / "model.npz")
    other = load_snapshot(tmp_path / "model.npz")
    known = other._knowledge
    other._know(replace(known, transforms=replace(known.transforms, spread=spread)))
    return other


@pytest.mark.parametrize("spread", [SpreadFactors(), SpreadFactors(0.4, 1.7)], ids=str)
def test_single_queries_agree_with_many(model, spread, tmp_path):
    model = with_spread(model, spread, tmp_path)
    mean, std = model.predict(INPUTS, return_std=True)
    model.predictor().save(tmp_path / "predictor")
    for predictor in (model.predictor(), Predictor.open(tmp_path / "predictor")):
        found = [predictor.query(x) for x in INPUTS]
        # The global model's own rounding may differ.
        np.testing.assert_allclose([one.mean for one in found], mean, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose([one.std for one in found], std, rtol=1e-12)
    expected = naive_predictions(model, INPUTS)
    np.testing.assert_allclose(mean, [one.mean for one in expected], rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(std, [one.std for one in expected], rtol=1e-9)
    doubts = [one.doubt for one in found]
    np.testing.assert_allclose(doubts, [one.doubt for one in expected], rtol=1e-9)


def test_all_ways_to_ask_know_of_it(model, tmp_path):
    """Means and covariances of components, density and intervals belong together."""
    model = with_spread(model, SpreadFactors(0.7, 1.3), tmp_path)
    _, std = model.predict(INPUTS, return_std=True)
    weights, means, covariances = model.predict_components(INPUTS)
    mean = np.einsum("nk,nkd->nd", weights, means)
    spread = np.diagonal(covariances, axis1=2, axis2=3) + (means - mean[:, None]) ** 2
    np.testing.assert_allclose(std**2, np.einsum("nk,nkd->nd", weights, spread), rtol=1e-9)
    # Doubt and unlearnable variance of the unseen one, with its spread.
    everywhere = model.global_model_.predict(INPUTS)
    noise = np.diag(model.global_model_.noise_shape) * model.global_model_.dof
    noise = noise / (model.global_model_.dof - 2.0) * everywhere.factor[:, None]
    expected = 1.3**2 * (noise + everywhere.doubt + everywhere.unlearnable)
    unseen = np.diagonal(covariances[:, -1], axis1=1, axis2=2)
    np.testing.assert_allclose(unseen, expected, rtol=1e-9)
    lower, upper = model.predict_interval(INPUTS, 0.9)
    # Far away there is the unseen one alone: nearly normal after 300 samples.
    np.testing.assert_allclose(
        (upper - lower)[20:], 2.0 * 1.645 * np.sqrt(expected[20:]), rtol=0.02
    )


def test_density_integrates_to_one(model):
    x = np.array([[0.4, -0.3]])
    mean, std = (part[0] for part in model.predict(x, return_std=True))
    # Substituted, so that all of the plane is there: y = mean + std * tan(angle).
    angles = (np.arange(80) + 0.5) / 80 * np.pi - 0.5 * np.pi
    grid = np.stack(np.meshgrid(angles, angles), axis=-1).reshape(-1, 2)
    Y = mean + std * np.tan(grid)
    density = np.exp(model.log_predictive_density(np.repeat(x, len(Y), axis=0), Y))
    jacobian = np.prod(std / np.cos(grid) ** 2, axis=1)
    assert np.sum(density * jacobian) * (np.pi / 80) ** 2 == pytest.approx(1.0, abs=2e-3)
