# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
import naive_ilr as naive
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import logsumexp
from scipy.stats import gamma, norm

from ilr_dynamics.regression.families.normal_wishart import NormalWishart, update_normal_wishart

SEEDS = st.integers(0, 2**32 - 1)
SIZES = st.integers(1, 4)


def statistics_of(X, weights):
    return (
        np.array([weights.sum()]),
        (weights @ X)[None],
        ((weights[:, None] * X).T @ X)[None],
    )


def drawn(seed, m, n=12):
    generator = np.random.default_rng(seed)
    component = naive.random_component(generator, m, 1)
    prior = NormalWishart(*naive.region_and_regression([component])[0])
    X = generator.normal(size=(n, m)) * 2.0 + generator.normal(size=m)
    return component, prior, X, generator.uniform(0.1, 3.0, n)


def assert_equal_families(a, b):
    for name in ("mean", "kappa", "inverse_scale", "dof"):
        np.testing.assert_allclose(getattr(a, name), getattr(b, name), rtol=1e-9, atol=1e-9)


@settings(max_examples=30)
@given(SEEDS, SIZES)
def test_update_agrees_with_the_centred_textbook_formulas(seed, m):
    component, prior, X, weights = drawn(seed, m)
    posterior = update_normal_wishart(prior, *statistics_of(X, weights))
    expected = naive.update(component, X, np.zeros((len(X), 1)), weights)
    assert_equal_families(posterior, NormalWishart(*naive.region_and_regression([expected])[0]))


@settings(max_examples=30)
@given(SEEDS, SIZES)
def test_two_updates_in_turn_equal_one(seed, m):
    _, prior, X, weights = drawn(seed, m)
    halfway = update_normal_wishart(prior, *statistics_of(X[:5], weights[:5]))
    in_turn = update_normal_wishart(halfway, *statistics_of(X[5:], weights[5:]))
    assert_equal_families(in_turn, update_normal_wishart(prior, *statistics_of(X, weights)))


@settings(max_examples=30)
@given(SEEDS, SIZES)
def test_no_data_leave_the_prior(seed, m):
    _, prior, _, _ = drawn(seed, m)
    nothing = (np.zeros(1), np.zeros((1, m)), np.zeros((1, m, m)))
    assert_equal_families(update_normal_wishart(prior, *nothing), prior)


def test_one_prior_serves_many_components():
    _, prior, X, weights = drawn(3, 2)
    parts = [statistics_of(X[rows], weights[rows]) for rows in (slice(0, 5), slice(5, 12))]
    stacked = update_normal_wishart(prior, *(np.concatenate(s) for s in zip(*parts, strict=True)))
    for k, part in enumerate(parts):
        alone = update_normal_wishart(prior, *part)
        np.testing.assert_allclose(stacked.mean[k], alone.mean[0])
        np.testing.assert_allclose(stacked.inverse_scale[k], alone.inverse_scale[0])


@pytest.fixture(scope="module")
def on_grid():
    """Posterior of mu and Lambda in one dimension by summing over a grid."""
    component, prior, X, weights = drawn(11, 1, n=6)
    mu, log_precision = np.meshgrid(
        np.linspace(-8.0, 8.0, 801), np.linspace(-8.0, 5.0, 651), indexing="ij"
    )
    precision = np.exp(log_precision)
    # A Wishart of size one is a gamma; log_precision is the Jacobian of the grid.
    log_prior = (
        norm.logpdf(mu, component.mean[0], 1.0 / np.sqrt(component.kappa * precision))
        + gamma.logpdf(precision, 0.5 * component.dof, scale=2.0 * component.scale[0, 0])
        + log_precision
    )
    log_likelihood = sum(
        w * norm.logpdf(x[0], mu, 1.0 / np.sqrt(precision))
        for w, x in zip(weights, X, strict=True)
    )
    cell = np.log(0.02 * 0.02)
    log_joint = log_prior + log_likelihood
    log_evidence = logsumexp(log_joint) + cell
    share = np.exp(log_joint + cell - log_evidence)
    posterior = update_normal_wishart(prior, *statistics_of(X, weights))
    return prior, posterior, weights, log_evidence, share, mu, precision


def test_one_dimensional_posterior_equals_numerical_integration(on_grid):
    _, posterior, _, _, share, mu, precision = on_grid
    mean, kappa = posterior.mean[0, 0], posterior.kappa[0]
    dof, scale = posterior.dof[0], 1.0 / posterior.inverse_scale[0, 0, 0]
    assert np.sum(share * mu) == pytest.approx(mean, rel=1e-5)
    assert np.sum(share * precision) == pytest.approx(dof * scale, rel=1e-5)
    assert np.sum(share * precision * (mu - mean) ** 2) == pytest.approx(1.0 / kappa, rel=1e-4)


def test_one_dimensional_evidence_equals_numerical_integration(on_grid):
    prior, posterior, weights, log_evidence, *_ = on_grid
    found = posterior.log_normalizer()[0] - prior.log_normalizer()[0]
    found -= 0.5 * weights.sum() * np.log(2.0 * np.pi)
    assert found == pytest.approx(log_evidence, rel=1e-5)


def test_one_dimensional_expectation_equals_numerical_integration(on_grid):
    _, posterior, _, _, share, mu, precision = on_grid
    (R,), (constant,) = posterior.expected_log_likelihoods()
    for x in (-3.0, 0.5, 4.0):
        found = constant - 0.5 * np.sum((R @ [x, 1.0]) ** 2)
        expected = np.sum(share * norm.logpdf(x, mu, 1.0 / np.sqrt(precision)))
        assert found == pytest.approx(expected, rel=1e-5)


def test_one_dimensional_predictive_equals_numerical_integration(on_grid):
    _, posterior, _, _, share, mu, precision = on_grid
    root, constant = posterior.predictive_roots()[0], posterior.predictive_log_constants()[0]
    for x in (-3.0, 0.5, 4.0):
        z = np.array([x, 1.0])
        found = constant - 0.5 * (posterior.dof[0] + 1.0) * np.log1p(np.sum((root @ z) ** 2))
        expected = np.log(np.sum(share * norm.pdf(x, mu, 1.0 / np.sqrt(precision))))
        assert found == pytest.approx(expected, rel=1e-5)
