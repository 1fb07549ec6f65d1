# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest
from scipy.stats import t

from ilr_dynamics.exceptions import InvalidDataError, InvalidParameterError, NotFittedError
from ilr_dynamics.regression import (
    HILR,
    ILR,
    GaussianProcessGlobalModel,
    LinearGlobalModel,
    load_snapshot,
)
from ilr_dynamics.regression.gaussian_process_global_model import N_OF_SPREAD
from ilr_dynamics.regression.shared.kernel_search import Kernel
from ilr_dynamics.regression.shared.matern import correlation

pytestmark = pytest.mark.numerical

NOISE = np.array([0.05, 2.0])


def function(X):
    """Two smooth outputs (n, 2) of inputs X (n, 2) in units of their own."""
    a, b = X[:, 0], X[:, 1] / 100.0
    return np.column_stack([np.sin(2.0 * a) + 0.5 * b, 40.0 * np.cos(a + b)])


def samples(n, seed=0, low=-2.0, high=2.0):
    generator = np.random.default_rng(seed)
    X = generator.uniform(low, high, size=(n, 2)) * [1.0, 100.0]
    return X, function(X) + generator.normal(size=(n, 2)) * NOISE


@pytest.fixture(scope="module")
def informed():
    X, Y = samples(1500)
    return GaussianProcessGlobalModel().updated(X, Y, np.ones(1500))


def test_it_is_the_gaussian_process_if_all_inputs_are_inducing_ones():
    # In so many dimensions none is described by the others.
    generator = np.random.default_rng(5)
    X, X_new = generator.normal(size=(60, 6)), 2.0 * generator.normal(size=(30, 6))
    Y = np.column_stack([np.sin(X[:, 0]) + X[:, 1], X[:, 2] ** 2])
    kernel = Kernel(np.linspace(1.0, 2.0, 6), 0.05, 0.2)
    model = GaussianProcessGlobalModel(kernel=kernel).updated(X, Y, np.ones(60))
    assert len(model.inducing) == 60 and model.left < 1e-9
    A, B = model.inputs.transform(X), model.inputs.transform(X_new)
    Z = model.outputs.transform(Y)

    def covariance(a, b):
        linear = kernel.linear * (a @ b.T + 1.0)
        return correlation(a / kernel.lengths, b / kernel.lengths) + linear

    K = covariance(A, A) + kernel.noise * np.eye(60)
    mean = covariance(B, A) @ np.linalg.solve(K, Z)
    spread = np.diag(covariance(B, B) - covariance(B, A) @ np.linalg.solve(K, covariance(A, B)))
    found = model.predict(X_new)
    np.testing.assert_allclose(model.outputs.transform(found.mean), mean, atol=1e-6)
    np.testing.assert_allclose(found.factor * kernel.noise, kernel.noise + spread, rtol=1e-6)


def test_the_spread_of_few_inducing_inputs_is_that_of_a_model_of_these():
    generator = np.random.default_rng(6)
    # In so many dimensions none is described by the others, and more than the first are needed.
    n = N_OF_SPREAD + 40
    X, X_new = generator.normal(size=(n, 8)), 2.0 * generator.normal(size=(30, 8))
    Y = np.column_stack([np.sin(X[:, 0]) + X[:, 1], X[:, 2] ** 2])
    kernel = Kernel(np.full(8, 1.5), 0.05, 0.2)
    model = GaussianProcessGlobalModel(kernel=kernel).updated(X, Y, np.ones(n))
    assert len(model.inducing) == n
    A, B = model.inputs.transform(X), model.inputs.transform(X_new)
    Z = model.inducing[:N_OF_SPREAD]

    def features(points):
        rho = correlation(Z / kernel.lengths, points / kernel.lengths)
        phi = np.linalg.solve(np.linalg.cholesky(correlation(*[Z / kernel.lengths] * 2)), rho).T
        return np.column_stack([phi, points, np.ones(len(points))])

    U, U_new = features(A), features(B)
    left, left_new = (1.0 - np.sum(u[:, :N_OF_SPREAD] ** 2, axis=1) for u in (U, U_new))
    noise = model.kernel.noise
    prior = np.append(np.full(N_OF_SPREAD, noise), np.full(9, noise / kernel.linear))
    uncertain = np.einsum("np,np->n", U_new, np.linalg.solve(U.T @ U + np.diag(prior), U_new.T).T)
    expected = 1.0 + uncertain + (left_new - np.mean(left)) / noise
    np.testing.assert_allclose(model.predict(X_new).factor, np.maximum(expected, 1.0), rtol=1e-6)
    assert 1e-3 < model.left < 1.0


def test_a_function_is_found_and_intervals_cover_new_samples(informed):
    X, Y = samples(4000, seed=2)
    prediction = informed.predict(X)
    assert np.all(np.sqrt(np.mean((prediction.mean - function(X)) ** 2, axis=0)) < 0.4 * NOISE)
    std = np.sqrt(np.diagonal(informed.noise_shape) * prediction.factor[:, None])
    inside = np.abs(Y - prediction.mean) < t.ppf(0.95, informed.dof) * std
    np.testing.assert_allclose(inside.mean(axis=0), 0.9, atol=0.03)
    np.testing.assert_allclose(informed.expected(X), prediction.mean, rtol=1e-12)


def test_far_from_all_samples_it_is_a_line_as_unsure_as_the_prior(informed):
    far = np.array([[400.0, 0.0], [500.0, 0.0], [600.0, 0.0]])
    prediction = informed.predict(far)
    first, second, third = prediction.mean
    np.testing.assert_allclose(second - first, third - second, rtol=1e-6, atol=1e-9)
    process = (1.0 - informed.left) / informed.kernel.noise
    assert np.all(prediction.factor > process)


def test_parts_tell_what_all_at_once_does():
    X, Y = samples(400)
    left = X[:, 0] < 0.0
    parts = GaussianProcessGlobalModel()
    for rows in (left, ~left):
        parts = parts.updated(X[rows], Y[rows], np.ones(np.sum(rows)))
    X_new, _ = samples(500, seed=3)
    error = np.sqrt(np.mean((parts.predict(X_new).mean - function(X_new)) ** 2, axis=0))
    assert np.all(error < NOISE)


def test_there_are_no_more_inducing_inputs_than_allowed():
    X, Y = samples(300)
    model = GaussianProcessGlobalModel(max_inducing=7)
    for _ in range(2):
        model = model.updated(X, Y, np.ones(300))
        assert len(model.inducing) == 7
    assert model.discounted(0.0).max_inducing == 7
    np.testing.assert_allclose(model.discounted(0.5).scatter, 0.5 * model.scatter)


def test_a_sample_of_no_weight_is_none():
    X, Y = samples(200)
    weights = np.where(np.arange(200) < 150, 1.0, 0.0)
    Y[150:] = 1e6
    X_new, _ = samples(50, seed=4)
    found = GaussianProcessGlobalModel().updated(X, Y, weights).predict(X_new)
    expected = GaussianProcessGlobalModel().updated(X[:150], Y[:150], np.ones(150))
    np.testing.assert_allclose(found.mean, expected.predict(X_new).mean, rtol=1e-6)


def test_an_output_that_never_changes_is_no_trouble():
    X, _ = samples(50)
    model = GaussianProcessGlobalModel().updated(X, np.ones((50, 1)), np.ones(50))
    np.testing.assert_allclose(model.predict(X).mean, 1.0, atol=1e-6)


@pytest.mark.parametrize("number", [0, -3, 2.5, "a", 10**6])
def test_a_number_of_inducing_inputs_that_makes_no_sense_is_refused(number):
    with pytest.raises(InvalidParameterError, match="max_inducing"):
        GaussianProcessGlobalModel(max_inducing=number)


def test_too_few_inducing_inputs_make_it_unsure_and_not_undefined():
    generator = np.random.default_rng(4)
    X = generator.standard_t(1.5, size=(30, 2))
    Y = np.sin(2.0 * X[:, :1]) + 0.05 * generator.normal(size=(30, 1))
    model = ILR(20, global_model=GaussianProcessGlobalModel(max_inducing=1), random_state=0)
    predictor = model.fit(X, Y, np.full(30, 3.0)).predictor()
    assert np.all(model.global_model_.predict(X).factor >= 1.0)
    assert np.all(np.isfinite([predictor.query(x).doubt for x in X]))


@pytest.mark.parametrize("n", [1, 2])
def test_hardly_any_samples_are_enough(n):
    X, Y = samples(n)
    prediction = GaussianProcessGlobalModel().updated(X, Y, np.ones(n)).predict(X)
    assert np.all(np.isfinite(prediction.mean)) and np.all(prediction.factor > 0.0)


@pytest.mark.parametrize("model_class", [ILR, HILR])
def test_a_mixture_learns_its_residual_and_comes_back_from_a_file(model_class, tmp_path):
    X, Y = samples(400)
    model = model_class(5, global_model=GaussianProcessGlobalModel(), random_state=0).fit(X, Y)
    assert model.transforms_.learn_residual
    far = np.array([[1e6, 0.0], [0.0, -1e8]])
    np.testing.assert_allclose(
        model.predict(far), model.global_model_.predict(far).mean, rtol=1e-6
    )
    model.save(tmp_path / "model.npz")
    loaded = load_snapshot(tmp_path / "model.npz")
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    mean, std = loaded.predict(X[:1], return_std=True)
    of_one = loaded.predictor()(X[0])
    np.testing.assert_allclose(of_one, [mean[0], std[0]], rtol=1e-6)
    assert loaded.global_model.inducing is None


@pytest.mark.parametrize("model_class", [ILR, HILR])
def test_intervals_cover_new_samples_though_the_process_has_learned_the_others(model_class):
    """It leaves little of samples that it has as many inducing inputs as for."""
    random = np.random.default_rng(7)
    X = random.uniform(-1.5, 1.5, size=(900, 5))
    Y = np.column_stack([np.sin(2.0 * X[:, 0]) + X[:, 1] * X[:, 2], np.cos(X[:, 3] - X[:, 4])])
    Y += 0.05 * random.normal(size=Y.shape)
    model = model_class(10, global_model=GaussianProcessGlobalModel(), random_state=0)
    model.fit(X[:450], Y[:450])
    assert model.spread_factors_.components > 1.2
    lower, upper = model.predict_interval(X[450:], 0.9)
    inside = np.mean((lower < Y[450:]) & (Y[450:] < upper), axis=0)
    np.testing.assert_allclose(inside, 0.9, atol=0.06)


def test_outputs_are_learned_where_the_global_model_is_a_line_unless_told_otherwise():
    X, Y = samples(100)
    linear = LinearGlobalModel()
    assert not ILR(3, global_model=linear).fit(X, Y).transforms_.learn_residual
    assert ILR(3, global_model=linear, learn_residual=True).fit(X, Y).transforms_.learn_residual
    process = GaussianProcessGlobalModel()
    of_outputs = ILR(3, global_model=process, learn_residual=False).fit(X, Y)
    assert not of_outputs.transforms_.learn_residual
    assert not ILR(3).fit(X, Y).transforms_.learn_residual


def test_nothing_is_predicted_before_any_samples():
    with pytest.raises(NotFittedError, match="has seen no samples"):
        GaussianProcessGlobalModel().predict(np.zeros((1, 2)))


def test_another_number_of_inputs_is_refused(informed):
    with pytest.raises(InvalidDataError, match="takes 2 inputs, got 3"):
        informed.predict(np.zeros((1, 3)))


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("max_inducing", np.array(0.0), "max_inducing must be a number from 1 to .*, got 0"),
        ("shares", np.array([0.0, 1.0, 0.0]), "shares of a Gaussian process must be positive"),
        ("inducing", np.zeros((3, 3)), r"must be finite, of shape \(k, 2\)"),
        ("lengths", np.array([1.0, -1.0]), "lengths of a Gaussian process must be"),
        ("shares", np.array([np.nan, 1.0, 0.0]), "shares of a Gaussian process must be"),
        ("scatter", np.zeros((2, 2)), "scatter of a linear model must be finite, of shape"),
        ("input_scale", np.array([1.0, 0.0]), "input_scale of a linear model must be positive"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(informed, name, value, message):
    with pytest.raises(ValueError, match=message):
        GaussianProcessGlobalModel.from_arrays({**informed.arrays(), name: value})
