# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest
from scipy.optimize import check_grad

from ilr_dynamics.regression.shared.kernel_search import (
    LENGTH_DEVIATION,
    Kernel,
    _Evidence,
    most_probable_kernel,
)
from ilr_dynamics.regression.shared.matern import correlation

pytestmark = pytest.mark.numerical

USUAL = np.log([2.0, 2.0, 2.0])


def drawn(kernel, X, n_outputs, seed=0):
    """Outputs (n, d) of a Gaussian process at inputs X (n, m)."""
    generator = np.random.default_rng(seed)
    scaled = X / kernel.lengths
    covariance = correlation(scaled, scaled) + kernel.noise * np.eye(len(X))
    return np.linalg.cholesky(covariance) @ generator.normal(size=(len(X), n_outputs))


@pytest.fixture
def samples():
    X = np.random.default_rng(1).normal(size=(40, 3))
    return X, drawn(Kernel(np.array([1.0, 3.0, 9.0]), 0.05, 0.0), X, 2)


def test_evidence_is_that_of_the_covariance(samples):
    X, Y = samples
    parameters = np.log([1.5, 2.5, 7.0, 0.03, 0.2])
    scaled = X / np.exp(parameters[:3])
    K = correlation(scaled, scaled) + 0.2 * (X @ X.T + 1.0) + 0.03 * np.eye(40)
    energies = np.diag(Y.T @ np.linalg.solve(K, Y))
    prior = np.sum((parameters[:3] - USUAL) ** 2) / (2.0 * LENGTH_DEVIATION**2)
    expected = np.linalg.slogdet(K)[1] + 20.0 * np.sum(np.log(energies)) + prior
    value, _ = _Evidence(X, Y, USUAL)(parameters)
    assert value == pytest.approx(expected, rel=1e-8)


def test_gradient_is_that_of_the_evidence(samples):
    evidence = _Evidence(*samples, USUAL)
    parameters = np.log([1.5, 2.5, 7.0, 0.03, 0.2])
    error = check_grad(lambda p: evidence(p)[0], lambda p: evidence(p)[1], parameters)
    assert error < 1e-3 * np.linalg.norm(evidence(parameters)[1])


def test_lengths_tell_which_inputs_matter():
    X = np.random.default_rng(2).normal(size=(200, 3))
    Y = drawn(Kernel(np.array([1.0, 4.0, 1e6]), 0.01, 0.0), X, 12, seed=3)
    found = most_probable_kernel(X, Y)
    # Each output of the process tells the lengths to some percents; half is far beyond that.
    assert found.lengths[:2] == pytest.approx([1.0, 4.0], rel=0.5)
    assert found.lengths[2] > 20.0
    assert 0.005 < found.noise < 0.02


def test_outputs_without_noise_or_variation_do_no_harm():
    X = np.random.default_rng(4).normal(size=(60, 2))
    Y = np.column_stack([X @ [1.0, -2.0], np.zeros(60)])
    found = most_probable_kernel(X, Y)
    assert np.all(np.isfinite(found.lengths)) and found.noise > 0.0 and found.linear > 0.0


@pytest.mark.parametrize("n", [1, 2])
def test_hardly_any_samples_are_enough(n):
    found = most_probable_kernel(np.zeros((n, 2)), np.zeros((n, 1)))
    assert np.all(np.isfinite(found.lengths))
