# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
import naive_ilr as naive
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from naive_predictive import log_marginal_likelihood
from scipy.special import gammaln, logsumexp

from ilr_dynamics.regression import BatchInference, Prior
from ilr_dynamics.regression.families.matrix_normal_wishart import MatrixNormalWishart
from ilr_dynamics.regression.families.normal_wishart import NormalWishart
from ilr_dynamics.regression.inference.inference import Inference
from ilr_dynamics.regression.inference.initialization import assignment_statistics
from ilr_dynamics.regression.inference.state import initial_state
from ilr_dynamics.regression.mixture.mixture import MixturePrior, extend

SEEDS = st.integers(0, 2**32 - 1)
CONCENTRATION = 2.5


def extended(X, Y):
    return extend(np.column_stack([X, np.ones(len(X))]), Y)


def inferred(Z, weights, prior, previous, initial, *, callback=None, fit_scales=False, **settings):
    state = initial_state(weights, prior, prior, previous, initial, np.arange(len(previous)))
    inference = BatchInference(tolerance=1e-12, fit_scales=fit_scales, **settings)
    return inference.run(Z, weights, state, np.random.default_rng(0), callback)


class Problem:
    """A prior far from zero, old statistics sorted by size, and new samples with weights."""

    def __init__(self, seed, m=2, d=2, n=15, n_old=30, n_components=3):
        generator = np.random.default_rng(seed)
        self.component = naive.random_component(generator, m, d)
        region, regression = naive.region_and_regression([self.component])
        self.prior = MixturePrior(
            NormalWishart(*region), MatrixNormalWishart(*regression), CONCENTRATION
        )
        self.X = generator.normal(size=(n, m)) * 2.0
        self.Y = generator.normal(size=(n, d)) + self.X @ generator.normal(size=(m, d))
        self.weights = generator.uniform(0.2, 2.0, n)
        self.Z = extended(self.X, self.Y)
        self.previous = self._scatter(generator, n_old, m, d, n_components)
        self.initial = assignment_statistics(
            self.Z, self.weights, generator.integers(0, n_components, n), n_components
        )

    @staticmethod
    def _scatter(generator, n_old, m, d, n_components):
        Z = extended(generator.normal(size=(n_old, m)), generator.normal(size=(n_old, d)))
        # Far more samples each time, so that new ones do not change the order.
        labels = np.minimum(np.log2(1 + np.arange(n_old)).astype(int), n_components - 1)
        statistics = assignment_statistics(
            Z, 100.0 * (1 + labels), n_components - 1 - labels, n_components
        )
        return statistics

    def posterior(self, statistics):
        return self.prior.posterior(statistics, np.arange(len(statistics)))

    def naive_parts(self, statistics):
        posterior = self.posterior(statistics)
        components = naive.components_of(posterior.region, posterior.regression)
        return components, naive.sticks(list(self.prior.counts(statistics)), CONCENTRATION)

    def inferred(self, **settings):
        return inferred(self.Z, self.weights, self.prior, self.previous, self.initial, **settings)


@settings(max_examples=15)
@given(SEEDS, st.integers(1, 3), st.integers(1, 2))
def test_bound_agrees_with_the_sum_of_its_terms(seed, m, d):
    problem = Problem(seed, m, d)
    result = problem.inferred(max_iterations=1)
    components, sticks = problem.naive_parts(problem.previous + problem.initial)
    r = naive.responsibilities(components, sticks, problem.X, problem.Y)
    priors, prior_sticks = problem.naive_parts(problem.previous)
    counts = problem.previous[:, m, m] + problem.weights @ r
    posteriors = [
        naive.update(p, problem.X, problem.Y, problem.weights * r[:, k])
        for k, p in enumerate(priors)
    ]
    bound = naive.lower_bound(
        priors,
        posteriors,
        prior_sticks,
        naive.sticks(list(counts), CONCENTRATION),
        r,
        problem.X,
        problem.Y,
        problem.weights,
    )
    assert result.lower_bounds[0] == pytest.approx(bound, rel=1e-9, abs=1e-7)


@settings(max_examples=20)
@given(
    SEEDS,
    st.floats(0.1, 30.0),
    st.floats(0.05, 2.0),
    st.floats(0.1, 20.0),
    st.floats(0.01, 1.0),
    st.floats(0.1, 20.0),
    st.booleans(),
    st.booleans(),
    st.booleans(),
)
def test_bound_never_falls(
    seed, concentration, spread, strength, noise, noise_strength, known, fit_scales, merge
):
    generator = np.random.default_rng(seed)
    prior = Prior(
        concentration=concentration,
        input_spread=spread,
        input_strength=strength,
        centre_spread=1.0,
        noise_std=noise,
        noise_strength=noise_strength,
        slope_scale=1.0,
    ).base_distribution(2, 0, 1)
    X = generator.normal(size=(120, 2))
    Z = extended(X, np.sin(2.0 * X[:, :1]) + 0.1 * generator.normal(size=(120, 1)))
    weights = generator.uniform(0.1, 3.0, 120)
    labels = generator.integers(0, 8, 120)
    old = assignment_statistics(Z[:60], weights[:60], labels[:60], 8)
    old = old[np.argsort(-old[:, 2, 2])]
    previous = old if known else np.zeros((8, 4, 4))
    initial = assignment_statistics(Z[60:], weights[60:], labels[60:], 8)
    bounds = inferred(
        Z[60:],
        weights[60:],
        prior,
        previous,
        initial,
        max_iterations=25,
        fit_scales=fit_scales,
        merge=merge,
    ).lower_bounds
    assert np.all(np.diff(bounds) >= -1e-9 * np.maximum(np.abs(bounds[1:]), 100.0))


def partitions(n):
    """All partitions of 0..n-1, each as the label of every element."""
    if n == 0:
        yield []
        return
    for labels in partitions(n - 1):
        for label in range(max(labels, default=-1) + 2):
            yield [*labels, label]


@settings(max_examples=12)
@given(SEEDS, st.integers(1, 4), st.integers(1, 3))
def test_bound_stays_below_the_evidence_summed_over_all_partitions(seed, n, n_components):
    problem = Problem(seed, 1, 1, n=n, n_components=n_components)
    # The Dirichlet process over the partitions: Chinese restaurant process.
    log_terms = []
    for labels in map(np.array, partitions(n)):
        sizes = np.bincount(labels)
        log_chance = sizes.size * np.log(CONCENTRATION) + np.sum(gammaln(sizes))
        log_chance += gammaln(CONCENTRATION) - gammaln(CONCENTRATION + n)
        for k in range(sizes.size):
            members = labels == k
            log_chance += log_marginal_likelihood(
                problem.component, problem.X[members], problem.Y[members]
            )
        log_terms.append(log_chance)
    log_evidence = logsumexp(log_terms)
    ones = np.ones(n)
    initial = assignment_statistics(problem.Z, ones, np.arange(n) % n_components, n_components)
    bounds = inferred(
        problem.Z, ones, problem.prior, np.zeros_like(initial), initial, max_iterations=50
    ).lower_bounds
    assert np.all(bounds <= log_evidence + 1e-9 * abs(log_evidence))


def test_with_one_component_the_bound_is_the_evidence_of_its_labels():
    problem = Problem(4, n=12, n_components=1)
    ones = np.ones(12)
    initial = assignment_statistics(problem.Z, ones, np.zeros(12, dtype=int), 1)
    bounds = inferred(
        problem.Z, ones, problem.prior, np.zeros_like(initial), initial, max_iterations=3
    ).lower_bounds
    evidence = log_marginal_likelihood(problem.component, problem.X, problem.Y)
    # All twelve in the first: E[s^12] = prod i / (i + alpha).
    evidence += np.sum(np.log(np.arange(1, 13)) - np.log(np.arange(1, 13) + CONCENTRATION))
    assert bounds[-1] == pytest.approx(evidence, rel=1e-9)


def test_result_is_sorted_and_holds_every_sample():
    problem = Problem(9, n_components=4)
    result = problem.inferred(max_iterations=5)
    counts = result.statistics[:, 2, 2]
    assert np.all(np.diff(counts) <= 0.0)
    total = problem.previous.sum(axis=0) + (problem.weights * problem.Z.T) @ problem.Z
    np.testing.assert_allclose(result.statistics.sum(axis=0), total, rtol=1e-9, atol=1e-9)


def test_callback_hears_each_iteration_and_may_stop_the_work():
    problem, heard = Problem(2), []

    def callback(iteration, max_iterations, bound):
        heard.append((iteration, max_iterations, bound))
        if iteration == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        problem.inferred(max_iterations=7, callback=callback)
    assert [h[:2] for h in heard] == [(1, 7), (2, 7)]


def test_a_scheme_says_how_it_visits_the_samples():
    with pytest.raises(TypeError, match="abstract"):
        Inference()
