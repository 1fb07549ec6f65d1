# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
import naive_ilr as naive
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import logsumexp

from ilr_dynamics.regression import Prior
from ilr_dynamics.regression.families.matrix_normal_wishart import MatrixNormalWishart
from ilr_dynamics.regression.families.normal_wishart import NormalWishart
from ilr_dynamics.regression.inference import expectation as expectation_module
from ilr_dynamics.regression.inference.expectation import LEAF_SIZE, Expectation
from ilr_dynamics.regression.inference.initialization import assignment_statistics
from ilr_dynamics.regression.mixture.mixture import MixturePrior, extend

SEEDS = st.integers(0, 2**32 - 1)


def extended(X, Y):
    return extend(np.column_stack([X, np.ones(len(X))]), Y)


def dense(Z, weights, forms):
    """All samples by all components."""
    log_rho = np.einsum("ni,kij,nj->nk", Z, forms, Z, optimize=True)
    log_total = logsumexp(log_rho, axis=1)
    r = np.exp(log_rho - log_total[:, None])
    return weights @ log_total, np.einsum("n,nk,ni,nj->kij", weights, r, Z, Z, optimize=True)


class ManyComponents:
    """Far more samples than fit a leaf, along a curve, and components that lie along it."""

    def __init__(self, seed, n=700, n_components=30):
        generator = np.random.default_rng(seed)
        t = generator.uniform(0.0, 6.0, n)
        X = np.column_stack([np.cos(t), np.sin(2.0 * t), 0.3 * t])
        X += 0.02 * generator.normal(size=X.shape)
        self.Z = extended(X, np.sin(3.0 * t)[:, None] + 0.05 * generator.normal(size=(n, 1)))
        self.weights = generator.uniform(0.2, 2.0, n)
        self.prior = Prior(
            concentration=5.0,
            input_spread=0.1,
            input_strength=5.0,
            centre_spread=1.0,
            noise_std=0.1,
            noise_strength=2.0,
            slope_scale=1.0,
        ).base_distribution(3, 0, 1)
        labels = (t / 6.0 * n_components).astype(int)
        labels = generator.permutation(n_components)[labels]
        self.statistics = assignment_statistics(self.Z, self.weights, labels, n_components)
        self.names = np.arange(n_components)

    def forms(self, statistics=None):
        statistics = self.statistics if statistics is None else statistics
        return self.prior.posterior(statistics, self.names).expected_log_joint_forms()


@settings(max_examples=15)
@given(SEEDS, st.integers(1, 3), st.integers(1, 2))
def test_agrees_with_loops_over_samples_and_components(seed, m, d):
    generator = np.random.default_rng(seed)
    region, regression = naive.region_and_regression([naive.random_component(generator, m, d)])
    prior = MixturePrior(NormalWishart(*region), MatrixNormalWishart(*regression), 2.5)
    X, Y = 2.0 * generator.normal(size=(15, m)), generator.normal(size=(15, d))
    Z, weights = extended(X, Y), generator.uniform(0.2, 2.0, 15)
    statistics = assignment_statistics(Z, weights, generator.integers(0, 3, 15), 3)
    posterior = prior.posterior(statistics, np.arange(3))
    forms = posterior.expected_log_joint_forms()
    log_normalizer, found = Expectation(Z, weights, m)(forms, np.arange(3), of_all=True)

    components = naive.components_of(posterior.region, posterior.regression)
    r = naive.responsibilities(components, naive.sticks(list(prior.counts(statistics)), 2.5), X, Y)
    expected = np.einsum("n,nk,ni,nj->kij", weights, r, Z, Z)
    np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-9)
    entropy = -np.sum(weights[:, None] * r * np.log(np.maximum(r, 1e-300)))
    assert log_normalizer - np.vdot(forms, found) == pytest.approx(entropy, rel=1e-7, abs=1e-7)


@pytest.mark.parametrize("n", [1, LEAF_SIZE - 1, LEAF_SIZE, LEAF_SIZE + 1, 700])
@pytest.mark.parametrize("kept_bytes", [0, 2**28])
def test_leaving_components_out_changes_nothing_but_rounding(n, kept_bytes, monkeypatch):
    monkeypatch.setattr(expectation_module, "MAX_KEPT_BYTES", kept_bytes)
    problem = ManyComponents(1)
    Z, weights, forms = problem.Z[:n], problem.weights[:n], problem.forms()
    log_normalizer, statistics = Expectation(Z, weights, 3)(forms, problem.names, of_all=True)
    expected_normalizer, expected = dense(Z, weights, forms)
    assert log_normalizer == pytest.approx(expected_normalizer, rel=1e-12)
    np.testing.assert_allclose(statistics, expected, rtol=1e-9, atol=1e-9)


def test_most_components_are_left_out():
    problem = ManyComponents(2)
    expectation = Expectation(problem.Z, problem.weights, 3)
    expectation(problem.forms(), problem.names, of_all=True)
    assert np.mean([chosen.size for chosen in expectation._names]) < 0.5 * problem.names.size


@settings(max_examples=10)
@given(SEEDS)
def test_candidates_follow_components_that_change_places_or_go(seed):
    problem = ManyComponents(seed)
    expectation = Expectation(problem.Z, problem.weights, 3)
    expectation(problem.forms(), problem.names, of_all=True)
    order = np.random.default_rng(seed).permutation(problem.names.size)[:-1]
    forms = problem.forms()[order]
    found = expectation(forms, problem.names[order], of_all=False)
    # What belonged to the one that went is now others', of whom those nearby were candidates.
    log_normalizer, statistics = dense(problem.Z, problem.weights, forms)
    assert found[0] <= log_normalizer + 1e-9 * abs(log_normalizer)
    total = np.einsum("n,ni,nj->ij", problem.weights, problem.Z, problem.Z)
    np.testing.assert_allclose(found[1].sum(axis=0), total, rtol=1e-9, atol=1e-9)
    missing = np.setdiff1d(problem.names, order)[0]
    untouched = [
        k
        for k, name in enumerate(order)
        if not any({name, missing} <= set(leaf.tolist()) for leaf in expectation._names)
    ]
    np.testing.assert_allclose(found[1][untouched], statistics[untouched], rtol=1e-6, atol=1e-6)


def test_a_leaf_none_of_whose_components_is_left_asks_all():
    problem = ManyComponents(3)
    expectation = Expectation(problem.Z, problem.weights, 3)
    first = problem.forms()
    expectation(first, problem.names, of_all=True)
    others = problem.names + 100
    found = expectation(first, others, of_all=False)
    expected = dense(problem.Z, problem.weights, first)
    assert found[0] == pytest.approx(expected[0], rel=1e-12)
    np.testing.assert_allclose(found[1], expected[1], rtol=1e-9, atol=1e-9)
