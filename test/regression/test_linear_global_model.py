# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest
from scipy.stats import t

from ilr_dynamics.exceptions import InvalidDataError, NotFittedError
from ilr_dynamics.regression import HILR, ILR, LinearGlobalModel, load_snapshot

SLOPE, OFFSET = np.array([[2.0, -0.01], [30.0, 0.5]]), np.array([5.0, -100.0])


def samples(n, seed=0):
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(n, 2)) * [1.0, 200.0] + [3.0, -50.0]
    return X, X @ SLOPE.T + OFFSET + generator.normal(size=(n, 2)) * [0.1, 3.0]


@pytest.fixture
def informed():
    X, Y = samples(2000)
    return LinearGlobalModel().updated(X, Y, np.ones(len(X)))


def test_the_map_is_found_and_extrapolates(informed):
    X, _ = samples(20, seed=1)
    far = 10.0 * X
    error = informed.predict(far).mean - (far @ SLOPE.T + OFFSET)
    assert np.all(np.abs(error) < [0.2, 6.0])


def test_intervals_cover_new_samples(informed):
    X, Y = samples(4000, seed=2)
    prediction = informed.predict(X)
    std = np.sqrt(np.diagonal(informed.noise_shape) * prediction.factor[:, None])
    inside = np.abs(Y - prediction.mean) < t.ppf(0.95, informed.dof) * std
    np.testing.assert_allclose(inside.mean(axis=0), 0.9, atol=0.02)


def test_samples_add_up_and_weights_are_repetitions(informed):
    X, Y = samples(2000)
    halves = LinearGlobalModel().updated(X, Y, np.ones(2000))
    more = halves.updated(X[:500], Y[:500], np.ones(500))
    weights = np.where(np.arange(2000) < 500, 2.0, 1.0)
    # The scaling is that of the first samples, so compare what both know in the same units.
    known = LinearGlobalModel(halves.inputs, halves.outputs).updated(X, Y, weights)
    np.testing.assert_allclose(more.scatter, known.scatter, rtol=1e-10)
    np.testing.assert_allclose(more.discounted(0.5).scatter, 0.5 * more.scatter)


def test_another_number_of_inputs_is_refused(informed):
    with pytest.raises(InvalidDataError, match="takes 2 inputs, got 3"):
        informed.predict(np.zeros((1, 3)))


@pytest.mark.parametrize("model_class", [ILR, HILR])
def test_a_mixture_returns_to_it_where_it_has_no_data(model_class, tmp_path):
    X, Y = samples(300)
    model = model_class(n_components=5, global_model=LinearGlobalModel()).fit(X, Y)
    far = np.array([[1e6, 0.0], [0.0, -1e8]])
    expected = model.global_model_.predict(far)
    np.testing.assert_allclose(model.predict(far), expected.mean, rtol=1e-6)
    dof = model.global_model_.dof
    variance = np.diagonal(model.global_model_.noise_shape) * dof / (dof - 2.0)
    std = np.sqrt(variance * expected.factor[:, None])
    np.testing.assert_allclose(model.predict(far, return_std=True)[1], std, rtol=1e-6)
    model.save(tmp_path / "model.npz")
    loaded = load_snapshot(tmp_path / "model.npz")
    np.testing.assert_array_equal(loaded.predict(far), model.predict(far))
    # What it was before any data is what a new fit starts from.
    assert loaded.global_model.arrays() == {}


def test_nothing_is_predicted_before_any_samples():
    with pytest.raises(NotFittedError, match="has seen no samples"):
        LinearGlobalModel().predict(np.zeros((1, 2)))


def test_scales_that_are_not_positive_are_refused(informed):
    arrays = informed.arrays()
    arrays["input_scale"] = np.array([1.0, 0.0])
    with pytest.raises(ValueError, match="input_scale of a linear model must be positive"):
        LinearGlobalModel.from_arrays(arrays)


def test_what_is_left_of_learned_samples_is_inflated_to_what_is_left_of_new_ones():
    X, Y = samples(12)
    weights = np.linspace(0.2, 1.0, 12)
    known = LinearGlobalModel().scaled_to(X, Y, weights)
    learned = known.with_sums(X, Y, weights)
    ratios = []
    for row in range(12):
        others = np.arange(12) != row
        without = known.with_sums(X[others], Y[others], weights[others])
        left = [Y[row] - model.expected(X[row : row + 1])[0] for model in (without, learned)]
        ratios.append(left[0] / left[1])
    np.testing.assert_allclose(np.ptp(ratios, axis=1), 0.0, atol=1e-6)
    expected = np.average(np.mean(ratios, axis=1), weights=weights)
    assert expected > 1.2
    np.testing.assert_allclose(learned.residual_inflation(X, weights), expected, rtol=1e-6)
    # Samples without weight say nothing.
    more = np.concatenate([X, X]), np.append(weights, np.zeros(12))
    np.testing.assert_allclose(learned.residual_inflation(*more), expected, rtol=1e-6)
    assert learned.residual_inflation(X, np.zeros(12)) == 1.0
