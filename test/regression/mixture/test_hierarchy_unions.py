# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Upper components are united, and lower ones merged, where the evidence rises."""

from functools import partial
from itertools import combinations

import numpy as np
import pytest
from hierarchy_problem import Problem
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq
from scipy.special import xlogy

from ilr_dynamics.regression import Prior
from ilr_dynamics.regression.inference.merging import entropy_losses, merge_components
from ilr_dynamics.regression.mixture.hierarchy import HierarchicalPrior

SEEDS = st.integers(0, 2**32 - 1)


def united(weights, groups, first, second):
    """Weights and groups after the second component became part of the first."""
    merged = weights.copy()
    merged[:, first] += weights[:, second]
    return np.delete(merged, second, axis=1), np.delete(groups, second)


@settings(max_examples=10)
@given(SEEDS)
def test_merge_gains_are_differences_of_the_evidence(seed):
    problem = Problem(seed, 1, 2, groups=(0, 0, 0, 1, 2, 3, 3))
    groups, weights = problem.groups, problem.weights
    pairs = np.array(list(combinations(range(7), 2)))
    gains = problem.prior.merge_gains(problem.scatter, groups, pairs)
    before = problem.evidence(weights, groups)
    sizes = np.bincount(groups)
    for gain, (first, second) in zip(gains, pairs, strict=True):
        together = groups[first] == groups[second]
        if together or (sizes[groups[first]] == 1 and sizes[groups[second]] == 1):
            after = problem.evidence(*united(weights, groups, first, second))
            assert gain == pytest.approx(after - before, rel=1e-8, abs=1e-7)
        else:
            assert gain == -np.inf


@settings(max_examples=25)
@given(SEEDS, st.integers(2, 5))
def test_upper_components_are_united_if_and_only_if_the_evidence_rises(seed, n_upper):
    groups = np.append(np.arange(n_upper), [0, 1, 1])
    problem = Problem(seed, 1, 1, groups=groups, n=12)
    before = problem.evidence(problem.weights, problem.groups)
    gains = {}
    for first, second in combinations(range(n_upper), 2):
        labels = np.where(problem.groups == second, first, problem.groups)
        gains[first, second] = problem.evidence(problem.weights, labels) - before
    best = max(gains, key=gains.get)
    found = problem.prior.united_groups(problem.scatter, problem.groups)
    if gains[best] < 1e-6:
        assert found is None
    else:
        assert problem.evidence(problem.weights, found) > before
        first, second = best
        of_best = found[np.isin(problem.groups, best)]
        assert np.all(of_best == of_best[0])
        # None with more than two.
        pairs = np.unique(np.stack([problem.groups, found]), axis=1)
        assert np.bincount(pairs[1]).max() == 2


def pieces(slopes, centres=(-2.0, -1.0, 1.0, 2.0)):
    """Statistics of straight pieces of one input and one output, all through the origin."""
    scatter = []
    for centre, slope in zip(centres, slopes, strict=True):
        x = centre + np.linspace(-0.4, 0.4, 20)
        Z = np.stack([x, np.ones(20), slope * x + 0.1 * np.sin(37.0 * x)], axis=1)
        scatter.append(Z.T @ Z)
    return np.array(scatter)


@pytest.fixture(scope="module")
def prior_of_pieces():
    base = Prior(
        concentration=0.1,
        input_spread=0.2,
        input_strength=1.0,
        centre_spread=1.0,
        noise_std=0.1,
        noise_strength=2.0,
        slope_scale=1.0,
    ).base_distribution(1, 0, 1)
    return HierarchicalPrior(base.region, base.regression, 0.1, 0.1, 0.04)


def test_components_of_equal_slopes_come_under_one_upper_component(prior_of_pieces):
    found = prior_of_pieces.united_groups(pieces([1.0, -1.5, 1.0, -1.5]), np.arange(4))
    np.testing.assert_array_equal(found, [0, 1, 0, 1])


def barely_alike(gain_of):
    """Pieces with slopes so different that each of two pairs gains next to nothing."""
    steps = [
        brentq(lambda step: gain_of(pieces([2.0, 2.0 + step, -2.0, -2.0]), 0) - 1e-3, 0.0, 1.5),
        brentq(lambda step: gain_of(pieces([2.0, 2.0, -2.0, -2.0 - step]), 1) - 1e-3, 0.0, 1.5),
    ]
    return pieces([2.0, 2.0 + steps[0], -2.0, -2.0 - steps[1]])


def test_two_pairs_of_upper_components_are_not_united_where_only_one_is_a_gain(prior_of_pieces):
    prior, apart = prior_of_pieces, np.arange(4)

    def gain(scatter, labels):
        return prior.log_evidence(scatter, np.array(labels)) - prior.log_evidence(scatter, apart)

    scatter = barely_alike(lambda S, pair: gain(S, [[0, 0, 2, 3], [0, 1, 2, 2]][pair]))
    assert gain(scatter, [0, 0, 2, 3]) > 0.0
    assert gain(scatter, [0, 1, 2, 2]) > 0.0
    # Either changes what the sticks say about the other.
    assert gain(scatter, [0, 0, 2, 2]) < -0.1
    assert gain(scatter, prior.united_groups(scatter, apart)) > 0.0


@pytest.mark.parametrize("n_shared", [0, 3])
def test_two_pairs_of_lower_components_are_not_merged_where_only_one_is_a_gain(
    prior_of_pieces, n_shared
):
    prior, apart = prior_of_pieces, np.arange(4)

    def gain(scatter, merged_into):
        merged_into = np.asarray(merged_into)
        kept = np.unique(merged_into)
        merged = np.stack([scatter[merged_into == k].sum(axis=0) for k in kept])
        # A sample in four equal shares loses entropy with each pair merged.
        losses = 0.5 * np.log(2.0) * n_shared * (4 - kept.size)
        return prior.log_evidence(merged, kept) - prior.log_evidence(scatter, apart) - losses

    scatter = barely_alike(lambda S, pair: gain(S, [[0, 0, 2, 3], [0, 1, 2, 2]][pair]))
    assert gain(scatter, [0, 0, 2, 2]) < 0.0
    Z, equal_shares = np.ones((n_shared, 3)), np.zeros((4, 3, 3))
    losses_of = partial(entropy_losses, Z, np.ones(n_shared), equal_shares)
    found = merge_components(prior, scatter, apart, losses_of)
    assert gain(scatter, found) > 0.0


@settings(max_examples=25)
@given(SEEDS, st.floats(0.0, 1.0))
def test_components_are_merged_if_and_only_if_evidence_and_entropy_rise(seed, overlap):
    problem = Problem(seed, 1, 1, groups=(0, 1, 2), n=12, hard=True)
    generator = np.random.default_rng(seed)
    # Each sample belongs to its own component, in part to the next.
    r = (1.0 - 0.5 * overlap) * problem.weights + 0.5 * overlap * problem.weights[:, [2, 0, 1]]
    weights = generator.uniform(0.2, 2.0, 12)
    # Forms that lead to these: log r through the products of one-hot extended samples.
    Z = np.eye(12)
    forms = np.array([np.diag(np.log(np.maximum(r[:, k], 1e-300))) for k in range(3)])
    scatter = problem.scatter_of(weights[:, None] * r)

    def entropy(r):
        return -np.sum(weights[:, None] * xlogy(r, r))

    before = problem.evidence(weights[:, None] * r, np.arange(3)) + entropy(r)
    gains = []
    for first, second in combinations(range(3), 2):
        merged, groups = united(r, np.arange(3), first, second)
        after = problem.evidence(weights[:, None] * merged, groups) + entropy(merged)
        gains.append(after - before)
    losses_of = partial(entropy_losses, Z, weights, forms)
    found = merge_components(problem.prior, scatter, np.arange(3), losses_of)
    if max(gains) < 1e-6:
        assert found is None
    else:
        best = list(combinations(range(3), 2))[int(np.argmax(gains))]
        expected = np.where(np.arange(3) == best[1], best[0], np.arange(3))
        np.testing.assert_array_equal(found, expected)
