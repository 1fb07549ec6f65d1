# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
from functools import partial

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.special import logsumexp, xlogy

from ilr_dynamics.regression import ILR, BatchInference, Prior
from ilr_dynamics.regression.inference.expectation import Expectation
from ilr_dynamics.regression.inference.initialization import assignment_statistics
from ilr_dynamics.regression.inference.merging import entropy_losses, merge_components
from ilr_dynamics.regression.mixture.mixture import extend

SEEDS = st.integers(0, 2**32 - 1)
PRIOR = Prior(
    concentration=1.5,
    input_spread=0.5,
    input_strength=2.0,
    centre_spread=2.0,
    noise_std=0.2,
    noise_strength=2.0,
    slope_scale=1.0,
).base_distribution(2, 0, 1)


class Problem:
    """Statistics after an E-step from random labels, and what they were made of."""

    def __init__(self, seed, n_components=5, n=90):
        generator = np.random.default_rng(seed)
        X = generator.normal(size=(n, 2))
        Y = np.sin(X[:, :1]) + 0.1 * generator.normal(size=(n, 1))
        self.Z = extend(np.column_stack([X, np.ones(n)]), Y)
        self.weights = generator.uniform(0.2, 3.0, n)
        labels = generator.integers(0, n_components, n)
        initial = assignment_statistics(self.Z, self.weights, labels, n_components)
        self.groups = np.arange(n_components)
        order, _ = PRIOR.arrange(initial, self.groups, n_components)
        posterior = PRIOR.posterior(initial[order], self.groups)
        self.forms = posterior.expected_log_joint_forms()
        _, self.scatter = Expectation(self.Z, self.weights, 2)(posterior, self.groups)
        log_rho = np.einsum("ni,kij,nj->nk", self.Z, self.forms, self.Z)
        self.responsibilities = np.exp(log_rho - logsumexp(log_rho, axis=1, keepdims=True))

    def merged(self, scatter_or_responsibilities, axis, first, second):
        """Sum the second one up with the first and leave it out."""
        values = np.moveaxis(scatter_or_responsibilities, axis, 0).copy()
        values[first] += values[second]
        return np.moveaxis(np.delete(values, second, axis=0), 0, axis)

    def bound(self, responsibilities):
        """Entropy and evidence, from the responsibilities alone."""
        entropy = -self.weights @ np.sum(xlogy(responsibilities, responsibilities), axis=1)
        scatter = np.einsum(
            "n,nk,ni,nj->kij", self.weights, responsibilities, self.Z, self.Z, optimize=True
        )
        return entropy + PRIOR.log_evidence(scatter, np.arange(len(scatter)))


def all_pairs(n_components):
    return np.stack(np.triu_indices(n_components, 1), axis=1)


@settings(max_examples=20)
@given(SEEDS, st.integers(2, 6))
def test_gains_are_differences_of_the_evidence(seed, n_components):
    problem = Problem(seed, n_components)
    pairs = all_pairs(n_components)
    gains = PRIOR.merge_gains(problem.scatter, problem.groups, pairs)
    before = PRIOR.log_evidence(problem.scatter, problem.groups)
    for (first, second), gain in zip(pairs, gains, strict=True):
        merged = problem.merged(problem.scatter, 0, first, second)
        after = PRIOR.log_evidence(merged, np.arange(n_components - 1))
        assert gain == pytest.approx(after - before, rel=1e-9, abs=1e-8)


@settings(max_examples=20)
@given(SEEDS, st.integers(2, 6))
def test_entropy_losses_are_those_of_the_responsibilities(seed, n_components):
    problem = Problem(seed, n_components)
    pairs = all_pairs(n_components)
    losses = entropy_losses(problem.Z, problem.weights, problem.forms, pairs)
    r = problem.responsibilities

    def entropy(r):
        return -sum(
            w * p * np.log(p)
            for w, row in zip(problem.weights, r, strict=True)
            for p in row
            if p > 0.0
        )

    for (first, second), loss in zip(pairs, losses, strict=True):
        expected = entropy(r) - entropy(problem.merged(r, 1, first, second))
        assert loss == pytest.approx(expected, rel=1e-9, abs=1e-9)
        assert loss >= 0.0


def test_samples_are_worked_on_in_blocks():
    problem = Problem(3, n=2500)
    pairs = all_pairs(5)
    whole = entropy_losses(problem.Z, problem.weights, problem.forms, pairs)
    parts = sum(
        entropy_losses(problem.Z[rows], problem.weights[rows], problem.forms, pairs)
        for rows in np.array_split(np.arange(2500), 7)
    )
    np.testing.assert_allclose(whole, parts, rtol=1e-9)


@settings(max_examples=20)
@given(SEEDS)
def test_a_merge_changes_the_bound_by_gain_minus_loss(seed):
    problem = Problem(seed)
    pairs = all_pairs(5)
    gains = PRIOR.merge_gains(problem.scatter, problem.groups, pairs)
    gains -= entropy_losses(problem.Z, problem.weights, problem.forms, pairs)
    before = problem.bound(problem.responsibilities)
    for (first, second), gain in zip(pairs, gains, strict=True):
        after = problem.bound(problem.merged(problem.responsibilities, 1, first, second))
        assert after - before == pytest.approx(gain, rel=1e-8, abs=1e-7)


@settings(max_examples=20)
@given(SEEDS)
def test_the_merges_chosen_raise_the_bound(seed):
    problem = Problem(seed, n_components=6)
    losses_of = partial(entropy_losses, problem.Z, problem.weights, problem.forms)
    merged_into = merge_components(PRIOR, problem.scatter, problem.groups, losses_of)
    # Components of random labels overlap fully: two are always better one.
    assert merged_into is not None
    after = np.zeros_like(problem.responsibilities)
    np.add.at(after.T, merged_into, problem.responsibilities.T)
    kept = np.unique(merged_into)
    assert kept.size < 6
    assert problem.bound(after[:, kept]) > problem.bound(problem.responsibilities)


def clusters(shift, slope, seed=0, n=150):
    """Two clusters, the second one elsewhere and with another slope; equal if both are zero."""
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(2 * n, 1)) * 0.3
    second = np.arange(2 * n) >= n
    X[second] += shift
    Y = X * np.where(second, 1.0 + slope, 1.0)[:, None] + 0.05 * generator.normal(size=X.shape)
    return X, Y, second.astype(int)


@pytest.mark.parametrize(
    ("shift", "slope", "n_left"), [(0.0, 0.0, 1), (3.0, 0.0, 2), (0.0, 3.0, 2), (3.0, -2.0, 2)]
)
def test_two_copies_of_one_cluster_merge_and_different_ones_do_not(shift, slope, n_left):
    X, Y, labels = clusters(shift, slope)
    prior = Prior(
        concentration=0.1,
        input_spread=0.3,
        input_strength=1.0,
        centre_spread=2.0,
        noise_std=0.05,
        noise_strength=2.0,
        slope_scale=2.0,
    ).base_distribution(1, 0, 1)
    Z = extend(np.column_stack([X, np.ones(len(X))]), Y)
    weights = np.ones(len(X))
    scatter = assignment_statistics(Z, weights, labels, 2)
    posterior = prior.posterior(scatter, np.arange(2))
    _, scatter = Expectation(Z, weights, X.shape[1])(posterior, np.arange(2))
    losses_of = partial(entropy_losses, Z, weights, posterior.expected_log_joint_forms())
    merged_into = merge_components(prior, scatter, np.arange(2), losses_of)
    if n_left == 2:
        assert merged_into is None
    else:
        np.testing.assert_array_equal(merged_into, [0, 0])


@settings(max_examples=10)
@given(SEEDS, st.booleans())
@example(580, False)  # a component that had held a millionth of a sample was dropped
def test_bound_never_falls_while_components_merge(seed, fit_scales):
    generator = np.random.default_rng(seed)
    X = generator.uniform(-1.0, 1.0, (250, 1))
    Y = np.abs(X) + 0.05 * generator.normal(size=X.shape)
    weights = generator.uniform(0.3, 2.0, 250)
    model = ILR(
        15,
        inference=BatchInference(
            merge=True, fit_scales=fit_scales, tolerance=1e-10, max_iterations=60
        ),
    )
    for rows in (slice(0, 150), slice(150, 250)):
        model.partial_fit(X[rows], Y[rows], weights[rows])
        bounds = model.lower_bounds_
        assert np.all(np.diff(bounds) >= -1e-9 * np.maximum(np.abs(bounds[1:]), 100.0))
    assert np.sum(model.prior_.counts(model.statistics_)) == pytest.approx(weights.sum())


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_pieces_of_a_relation_are_counted(seed):
    generator = np.random.default_rng(seed)
    piece = np.repeat([0, 1, 2], 300)
    X = np.array([-2.0, 0.0, 2.0])[piece, None] + 0.4 * generator.normal(size=(900, 1))
    Y = np.array([1.0, -2.0, 3.0])[piece, None] * X + 0.05 * generator.normal(size=X.shape)
    merged, apart = (
        ILR(25, inference=BatchInference(merge=merge)).fit(X, Y) for merge in (True, False)
    )
    assert merged.n_active_ == 3
    assert apart.n_active_ > 3
    assert merged.lower_bounds_[-1] > apart.lower_bounds_[-1]
    assert merged.score(X, Y) > 0.98
