# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
from dataclasses import replace
from itertools import combinations, permutations

import naive_hilr as naive
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq
from scipy.special import xlogy

from ilr_dynamics.regression import stick_breaking
from ilr_dynamics.regression.expectation import Expectation
from ilr_dynamics.regression.hierarchy import HierarchicalPrior
from ilr_dynamics.regression.matrix_normal_wishart import MatrixNormalWishart
from ilr_dynamics.regression.merging import merge_components
from ilr_dynamics.regression.normal_wishart import NormalWishart
from ilr_dynamics.regression.predictive import (
    PredictiveMixture,
    log_conditional_density,
    mean_and_variance,
)
from ilr_dynamics.regression.priors import isotropic_prior

SEEDS = st.integers(0, 2**32 - 1)
LOG_2PI = np.log(2.0 * np.pi)
# Inputs, outputs, features besides the inputs.
SIZES = [(1, 1, 0), (2, 3, 0), (3, 2, 2)]


class Problem:
    """Samples shared, by weights, among lower components in the order that sticks ask for."""

    def __init__(self, seed, m=2, d=2, features=0, groups=(0, 0, 0, 1, 2, 2), n=16, hard=False):
        generator = np.random.default_rng(seed)
        self.h = naive.random_hyperparameters(generator, m, d, m + features)
        self.prior = package_prior(self.h)
        self.X = 2.0 * generator.normal(size=(n, m)) + 1.0
        self.R = np.column_stack([self.X, generator.normal(size=(n, features))])
        self.Y = self.R @ generator.normal(size=(m + features, d)) + generator.normal(size=(n, d))
        self.Z = np.column_stack([self.R, np.ones(n), self.Y])
        self.samples = list(zip(self.X, self.R, self.Y, strict=True))
        weights = generator.uniform(0.0, 1.5, (n, len(groups)))
        if hard:
            # One for each, so that none is empty.
            labels = np.append(
                np.arange(len(groups)), generator.integers(0, len(groups), n - len(groups))
            )
            weights = np.eye(len(groups))[labels]
        order, self.groups = self.prior.arrange(
            self.scatter_of(weights), np.asarray(groups), len(groups)
        )
        self.weights = weights[:, order]
        self.scatter = self.scatter_of(self.weights)

    def scatter_of(self, weights):
        return np.einsum("nk,ni,nj->kij", weights, self.Z, self.Z)

    def by_group(self, weights, groups):
        return [weights[:, groups == g] for g in np.unique(groups)]

    def evidence(self, weights, groups):
        """Naive log evidence without the powers of 2 pi."""
        constant = 0.5 * weights.sum() * (self.X.shape[1] + self.Y.shape[1]) * LOG_2PI
        return naive.log_evidence(self.h, self.samples, self.by_group(weights, groups)) + constant

    def naive_posterior(self):
        """Naive groups and the counts in each."""
        members = self.by_group(self.weights, self.groups)
        groups = [self.h.group(w.shape[1]).updated(self.samples, w) for w in members]
        return groups, [w.sum(axis=0) for w in members]


def package_prior(h):
    gate, regression = naive.prior_arrays(h)
    return HierarchicalPrior(
        NormalWishart(*gate),
        MatrixNormalWishart(*regression),
        h.concentration,
        h.upper_concentration,
        h.upper_strength,
    )


def scatter_with(counts, size=4, one=2):
    scatter = np.zeros((len(counts), size, size))
    scatter[:, one, one] = counts
    return scatter


def small_prior():
    return package_prior(naive.random_hyperparameters(np.random.default_rng(0), 2, 1, 2))


def test_both_levels_are_sorted_by_count_and_ties_stay_in_place():
    scatter = scatter_with([1.0, 7.0, 4.0, 2.0, 9.0, 2.0, 4.0])
    groups = np.array([5, 2, 5, 3, 5, 3, 2])
    order, arranged = small_prior().arrange(scatter, groups, 7)
    np.testing.assert_array_equal(order, [4, 2, 0, 1, 6, 3, 5])
    np.testing.assert_array_equal(arranged, [0, 0, 0, 1, 1, 2, 2])


def test_only_the_largest_are_kept_and_groups_without_members_vanish():
    scatter = scatter_with([1.0, 7.0, 4.0, 0.0, 3.0, 0.5])
    order, arranged = small_prior().arrange(scatter, np.array([0, 1, 2, 0, 2, 3]), 3)
    # Two and three have 7 together, like one: the tie stays in the order of the labels.
    np.testing.assert_array_equal(order, [1, 2, 4])
    np.testing.assert_array_equal(arranged, [0, 1, 1])


@settings(max_examples=20)
@given(SEEDS)
def test_no_other_order_of_the_sticks_has_a_higher_bound(seed):
    generator = np.random.default_rng(seed)
    prior = small_prior()
    counts, groups = generator.exponential(5.0, 6), np.array([0, 1, 1, 2, 2, 2])
    order, arranged = prior.arrange(scatter_with(counts), groups, 6)

    def bound(of_groups):
        upper = np.array([sum(of_group) for of_group in of_groups])
        total = stick_breaking.log_evidence(upper, prior.upper_concentration)
        return total + sum(
            stick_breaking.log_evidence(np.array(of_group), prior.concentration)
            for of_group in of_groups
        )

    best = bound([counts[order][arranged == g] for g in range(3)])
    members = [counts[groups == g] for g in range(3)]
    for upper in permutations(range(3)):
        for lower in permutations(range(3)):
            others = [members[g] if g < 2 else members[g][list(lower)] for g in upper]
            assert bound(others) <= best + 1e-9
            others = [others[g][::-1] for g in range(3)]
            assert bound(others) <= best + 1e-9


@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_expected_log_joint_agrees_with_the_naive_one(sizes):
    problem = Problem(1, *sizes)
    posterior = problem.prior.posterior(problem.scatter, problem.groups)
    groups, counts = problem.naive_posterior()
    log_weights = naive.expected_log_weights(problem.h, counts)
    np.testing.assert_allclose(
        posterior.expected_log_weights, np.concatenate(log_weights), rtol=1e-10
    )
    forms = posterior.expected_log_joint_forms()
    found = np.einsum("ni,kij,nj->nk", problem.Z, forms, problem.Z)
    for n, sample in enumerate(problem.samples):
        expected = [
            log_weights[g][k] + group.expected_log_likelihood(k, sample)
            for g, group in enumerate(groups)
            for k in range(group.n_lower)
        ]
        np.testing.assert_allclose(found[n], expected, rtol=1e-8, atol=1e-8)


@settings(max_examples=10)
@given(SEEDS)
def test_upper_responsibilities_are_those_of_the_lower_ones_together(seed):
    problem = Problem(seed)
    posterior = problem.prior.posterior(problem.scatter, problem.groups)
    weights = np.random.default_rng(seed).uniform(0.2, 2.0, len(problem.Z))
    expectation = Expectation(problem.Z, weights, problem.prior.n_inputs)
    _, statistics = expectation(
        posterior.expected_log_joint_forms(), np.arange(len(problem.groups)), of_all=True
    )
    groups, counts = problem.naive_posterior()
    log_weights = naive.expected_log_weights(problem.h, counts)
    logs = [naive.log_responsibilities(groups, log_weights, sample) for sample in problem.samples]
    lower = np.exp([np.concatenate(of_groups) for _, of_groups in logs])
    expected = np.einsum("n,nk,ni,nj->kij", weights, lower, problem.Z, problem.Z)
    np.testing.assert_allclose(statistics, expected, rtol=1e-7, atol=1e-8)
    upper = np.exp([of_upper for of_upper, _ in logs])
    np.testing.assert_allclose(upper.sum(axis=1), 1.0)
    totals = np.bincount(problem.groups, weights=problem.prior.counts(statistics))
    np.testing.assert_allclose(totals, weights @ upper, rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_log_evidence_agrees_with_the_dense_one_in_any_order(sizes):
    problem = Problem(2, *sizes)
    expected = problem.evidence(problem.weights, problem.groups)
    assert problem.prior.log_evidence(problem.scatter, problem.groups) == pytest.approx(
        expected, rel=1e-9
    )
    mixed = np.array([4, 0, 3, 5, 2, 1])
    # Groups may have any labels.
    labels = np.array([7, 0, 3])[problem.groups][mixed]
    assert problem.prior.log_evidence(problem.scatter[mixed], labels) == pytest.approx(
        expected, rel=1e-9
    )


def test_log_evidence_is_the_chance_of_labels_times_that_of_samples():
    problem = Problem(3, n=12, hard=True)
    labels = problem.weights.argmax(axis=1)
    upper = problem.groups[labels]
    expected = naive.log_chance_of_labels(upper, problem.h.upper_concentration)
    for g in range(3):
        members = np.flatnonzero(upper == g)
        lower = labels[members] - np.flatnonzero(problem.groups == g)[0]
        expected += naive.log_chance_of_labels(lower, problem.h.concentration)
        samples = [problem.samples[n] for n in members]
        group = problem.h.group(int(np.sum(problem.groups == g)))
        expected += sum(naive.log_chance_of_samples(group, samples, lower))
    found = problem.prior.log_evidence(problem.scatter, problem.groups)
    assert found - 0.5 * 12 * 4 * LOG_2PI == pytest.approx(expected, rel=1e-9)


@settings(max_examples=20)
@given(SEEDS, st.lists(st.integers(0, 3), min_size=1, max_size=7))
def test_masses_of_seen_vacant_and_unseen_components_sum_to_one(seed, groups):
    problem = Problem(seed, 1, 1, groups=groups, n=10)
    components = problem.prior.predictive(problem.scatter, problem.groups)
    masses = np.exp(components.log_expected_weights)
    assert masses.size == len(groups) + len(set(groups)) + 1
    assert masses.sum() == pytest.approx(1.0, abs=1e-12)
    seen, vacant, unseen = naive.predictive_masses(problem.h, problem.naive_posterior()[1])
    np.testing.assert_allclose(masses, [*np.concatenate(seen), *vacant, unseen], rtol=1e-9)
    posterior = problem.prior.posterior(problem.scatter, problem.groups)
    np.testing.assert_allclose(
        posterior.log_expected_weights, components.log_expected_weights[: len(groups)], rtol=1e-9
    )


def test_without_vacant_components_their_mass_is_the_unseen_ones():
    problem = Problem(7, 2, 1, groups=[0, 0, 1, 2, 2], n=20)
    every = problem.prior.predictive(problem.scatter, problem.groups)
    fewer = problem.prior.predictive(problem.scatter, problem.groups, with_vacant=False)
    masses, left = np.exp(every.log_expected_weights), np.exp(fewer.log_expected_weights)
    np.testing.assert_allclose(left[:5], masses[:5])
    assert left[5] == pytest.approx(masses[5:].sum())
    chosen = np.array([0, 1, 2, 3, 4, 8])
    for name in ("mean", "inverse_scale", "dof"):
        for part in ("gate", "regression"):
            expected = getattr(getattr(every, part), name)[chosen]
            np.testing.assert_allclose(getattr(getattr(fewer, part), name), expected)


@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_predictive_mixture_agrees_with_the_naive_one(sizes):
    problem = Problem(4, *sizes)
    mixture = PredictiveMixture.from_components(
        problem.prior.predictive(problem.scatter, problem.groups)
    )
    members = problem.by_group(problem.weights, problem.groups)
    groups = [naive.with_vacant(problem.h, problem.samples, w) for w in members]
    counts = [w.sum(axis=0) for w in members]
    places = np.concatenate([problem.R[:3], problem.R[3:5] + 3.0, problem.R[5:6] - 50.0])
    U = np.column_stack([places, np.ones(6)])
    (block,) = mixture.predictions(U)
    mean, variance = mean_and_variance(mixture, block)
    Y = mean + 0.4
    log_density = log_conditional_density(mixture, block, Y)
    for n, features in enumerate(places):
        x = features[: sizes[0]]
        weights, parts = naive.predictive(problem.h, groups, counts, x, features)
        np.testing.assert_allclose(block.weights[n], weights, rtol=1e-7, atol=1e-14)
        for k, t in enumerate(parts):
            np.testing.assert_allclose(block.means[n, k], t.loc, rtol=1e-8, atol=1e-9)
            shape = block.factors[n, k] * mixture.noise_shapes[k]
            np.testing.assert_allclose(shape, t.shape, rtol=1e-8, atol=1e-9)
            assert mixture.dofs[k] == pytest.approx(t.df)
        expected = sum(w * t.loc for w, t in zip(weights, parts, strict=True))
        np.testing.assert_allclose(mean[n], expected, rtol=1e-7, atol=1e-9)
        second = sum(
            w * (t.df / (t.df - 2.0) * np.diag(t.shape) + (t.loc - expected) ** 2)
            for w, t in zip(weights, parts, strict=True)
        )
        np.testing.assert_allclose(variance[n], second, rtol=1e-7)
        density = sum(w * t.pdf(Y[n]) for w, t in zip(weights, parts, strict=True))
        assert log_density[n] == pytest.approx(np.log(density), abs=1e-7)


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
    base = isotropic_prior(
        1,
        1,
        concentration=0.1,
        input_spread=0.2,
        input_strength=1.0,
        centre_spread=1.0,
        noise_std=0.1,
        noise_strength=2.0,
        slope_scale=1.0,
    )
    return HierarchicalPrior(base.gate, base.regression, 0.1, 0.1, 0.04)


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
    found = merge_components(prior, scatter, apart, Z, np.ones(n_shared), equal_shares)
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
    found = merge_components(problem.prior, scatter, np.arange(3), Z, weights, forms)
    if max(gains) < 1e-6:
        assert found is None
    else:
        best = list(combinations(range(3), 2))[int(np.argmax(gains))]
        expected = np.where(np.arange(3) == best[1], best[0], np.arange(3))
        np.testing.assert_array_equal(found, expected)


SCALES = st.floats(0.02, 5.0)


@settings(max_examples=40)
@given(SEEDS, st.integers(1, 3), st.integers(1, 2), SCALES, SCALES, SCALES, SCALES, SCALES)
def test_refitting_the_scales_never_lowers_their_evidence(
    seed, m, d, spread, centre, upper, noise, slope
):
    generator = np.random.default_rng(seed)
    base = isotropic_prior(
        m,
        d,
        n_features=1,
        concentration=1.0,
        input_spread=spread,
        input_strength=generator.uniform(0.5, 20.0),
        centre_spread=centre,
        noise_std=noise,
        noise_strength=generator.uniform(0.5, 20.0),
        slope_scale=slope,
    )
    guess = HierarchicalPrior(base.gate, base.regression, 1.0, 1.0, (spread / upper) ** 2)
    problem = Problem(seed, m, d, 1, groups=generator.integers(0, 3, 5), n=12)
    prior = guess
    values = []
    for _ in range(6):
        values.append(
            prior.log_evidence(problem.scatter, problem.groups) + prior.log_prior_of_scales(guess)
        )
        posterior = prior.posterior(problem.scatter, problem.groups)
        prior = prior.refitted(guess, posterior)
    assert np.all(np.diff(values) >= -1e-9 * np.maximum(np.abs(values[1:]), 1.0))


def test_a_prior_is_its_own_best_guess():
    prior = small_prior()
    assert prior.log_prior_of_scales(prior) == 0.0
    stronger = replace(prior, upper_strength=2.0 * prior.upper_strength)
    assert stronger.log_prior_of_scales(prior) < 0.0
    assert prior.log_prior_of_scales(stronger) < 0.0
