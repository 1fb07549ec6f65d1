# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
from dataclasses import replace

import naive_ilr as naive
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import logsumexp
from scipy.stats import gamma, norm

from ilr_dynamics.regression.families.matrix_normal_wishart import (
    MatrixNormalWishart,
    update_matrix_normal_wishart,
)

SEEDS = st.integers(0, 2**32 - 1)
SIZES = st.integers(1, 3)


def statistics_of(U, Y, weights):
    WU, WY = weights[:, None] * U, weights[:, None] * Y
    return np.array([weights.sum()]), (WU.T @ U)[None], (WY.T @ U)[None], (WY.T @ Y)[None]


def drawn(seed, m, d, n=12):
    generator = np.random.default_rng(seed)
    component = naive.random_component(generator, m, d)
    prior = MatrixNormalWishart(*naive.region_and_regression([component])[1])
    X = generator.normal(size=(n, m)) * 2.0
    Y = generator.normal(size=(n, d)) + X @ generator.normal(size=(m, d))
    return component, prior, X, Y, generator.uniform(0.1, 3.0, n)


def with_one(X):
    return np.column_stack([X, np.ones(len(X))])


def assert_equal_families(a, b):
    for name in ("mean", "column_precision", "inverse_scale", "dof"):
        np.testing.assert_allclose(getattr(a, name), getattr(b, name), rtol=1e-8, atol=1e-8)


@settings(max_examples=30)
@given(SEEDS, SIZES, SIZES)
def test_update_agrees_with_residuals_and_correction_of_the_prior(seed, m, d):
    component, prior, X, Y, weights = drawn(seed, m, d)
    posterior = update_matrix_normal_wishart(prior, *statistics_of(with_one(X), Y, weights))
    expected = naive.update(component, X, Y, weights)
    assert_equal_families(
        posterior, MatrixNormalWishart(*naive.region_and_regression([expected])[1])
    )


@settings(max_examples=30)
@given(SEEDS, SIZES, SIZES)
def test_two_updates_in_turn_equal_one(seed, m, d):
    _, prior, X, Y, weights = drawn(seed, m, d)
    U = with_one(X)
    halfway = update_matrix_normal_wishart(prior, *statistics_of(U[:5], Y[:5], weights[:5]))
    in_turn = update_matrix_normal_wishart(halfway, *statistics_of(U[5:], Y[5:], weights[5:]))
    at_once = update_matrix_normal_wishart(prior, *statistics_of(U, Y, weights))
    assert_equal_families(in_turn, at_once)


@settings(max_examples=30)
@given(SEEDS, SIZES, SIZES)
def test_no_data_leave_the_prior(seed, m, d):
    _, prior, *_ = drawn(seed, m, d)
    q = m + 1
    nothing = (np.zeros(1), np.zeros((1, q, q)), np.zeros((1, d, q)), np.zeros((1, d, d)))
    assert_equal_families(update_matrix_normal_wishart(prior, *nothing), prior)


@settings(max_examples=30)
@given(SEEDS, SIZES, SIZES)
def test_what_an_update_finds_on_its_way_is_what_its_parameters_lead_to(seed, m, d):
    _, prior, X, Y, weights = drawn(seed, m, d)
    posterior = update_matrix_normal_wishart(prior, *statistics_of(with_one(X), Y, weights))
    anew = replace(posterior)
    np.testing.assert_allclose(posterior.slope_covariance, anew.slope_covariance, rtol=1e-9)
    np.testing.assert_allclose(posterior.log_normalizer(), anew.log_normalizer(), rtol=1e-12)


@settings(max_examples=30)
@given(SEEDS, SIZES, SIZES)
def test_expected_log_likelihood_agrees_with_the_naive_one(seed, m, d):
    component, prior, X, Y, _ = drawn(seed, m, d)
    (R,), (constant,) = prior.expected_log_likelihoods()
    for x, y in zip(X, Y, strict=True):
        zeta = np.concatenate([x, [1.0], y])
        expected = naive.expected_log_output(component, x, y)
        found = constant - 0.5 * np.sum((R @ zeta) ** 2)
        assert found == pytest.approx(expected, rel=1e-9, abs=1e-9)


@pytest.fixture(scope="module")
def on_grid():
    """Posterior of one slope through the origin and its noise, by summing over a grid."""
    generator = np.random.default_rng(5)
    m0, l0, phi, eta = 1.5, 0.8, 0.7, 6.0
    prior = MatrixNormalWishart(
        np.full((1, 1, 1), m0),
        np.full((1, 1, 1), l0),
        np.full((1, 1, 1), 1.0 / phi),
        np.array([eta]),
    )
    u, weights = generator.normal(size=6), generator.uniform(0.3, 2.0, 6)
    y = -0.7 * u + generator.normal(size=6) * 0.5
    slope, log_noise = np.meshgrid(
        np.linspace(-6.0, 6.0, 601), np.linspace(-7.0, 5.0, 601), indexing="ij"
    )
    noise = np.exp(log_noise)
    log_joint = (
        norm.logpdf(slope, m0, 1.0 / np.sqrt(l0 * noise))
        + gamma.logpdf(noise, 0.5 * eta, scale=2.0 * phi)
        + log_noise
        + sum(weights[n] * norm.logpdf(y[n], slope * u[n], 1.0 / np.sqrt(noise)) for n in range(6))
    )
    cell = np.log(0.02 * 0.02)
    log_evidence = logsumexp(log_joint) + cell
    share = np.exp(log_joint + cell - log_evidence)
    posterior = update_matrix_normal_wishart(
        prior, *statistics_of(u[:, None], y[:, None], weights)
    )
    return prior, posterior, weights, log_evidence, share, slope, noise


def test_one_dimensional_posterior_equals_numerical_integration(on_grid):
    _, posterior, _, _, share, slope, noise = on_grid
    mean, precision = posterior.mean[0, 0, 0], posterior.column_precision[0, 0, 0]
    expected_noise = posterior.dof[0] / posterior.inverse_scale[0, 0, 0]
    assert np.sum(share * slope) == pytest.approx(mean, rel=1e-5)
    assert np.sum(share * noise) == pytest.approx(expected_noise, rel=1e-5)
    assert np.sum(share * noise * (slope - mean) ** 2) == pytest.approx(1 / precision, rel=1e-4)


def test_one_dimensional_evidence_equals_numerical_integration(on_grid):
    prior, posterior, weights, log_evidence, *_ = on_grid
    found = posterior.log_normalizer()[0] - prior.log_normalizer()[0]
    found -= 0.5 * weights.sum() * np.log(2.0 * np.pi)
    assert found == pytest.approx(log_evidence, rel=1e-5)


def test_one_dimensional_expectation_equals_numerical_integration(on_grid):
    _, posterior, _, _, share, slope, noise = on_grid
    (R,), (constant,) = posterior.expected_log_likelihoods()
    for u, y in ((0.5, 1.0), (-2.0, 0.3)):
        found = constant - 0.5 * np.sum((R @ [u, y]) ** 2)
        expected = np.sum(share * norm.logpdf(y, slope * u, 1.0 / np.sqrt(noise)))
        assert found == pytest.approx(expected, rel=1e-5)
