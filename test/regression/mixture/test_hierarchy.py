# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
from itertools import permutations

import naive_hilr as naive
import numpy as np
import pytest
from hierarchy_problem import LOG_2PI, Problem, small_prior
from hypothesis import given, settings
from hypothesis import strategies as st
from standard_units import in_standard_units

from ilr_dynamics.regression.families import stick_breaking
from ilr_dynamics.regression.inference.expectation import Expectation
from ilr_dynamics.regression.prediction.predictive_mixture import PredictiveMixture

SEEDS = st.integers(0, 2**32 - 1)
# Inputs, outputs, features besides the inputs.
SIZES = [(1, 1, 0), (2, 3, 0), (3, 2, 2)]


def scatter_with(counts, size=4, one=2):
    scatter = np.zeros((len(counts), size, size))
    scatter[:, one, one] = counts
    return scatter


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
    _, statistics = expectation(posterior, np.arange(len(problem.groups)))
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
def test_masses_of_seen_and_unseen_components_sum_to_one(seed, groups):
    problem = Problem(seed, 1, 1, groups=groups, n=10)
    components = problem.prior.predictive(problem.scatter, problem.groups)
    masses = np.exp(components.log_expected_weights)
    assert masses.size == len(groups) + 1
    assert masses.sum() == pytest.approx(1.0, abs=1e-12)
    seen, unseen = naive.predictive_masses(problem.h, problem.naive_posterior()[1])
    np.testing.assert_allclose(masses, [*np.concatenate(seen), unseen], rtol=1e-9)
    posterior = problem.prior.posterior(problem.scatter, problem.groups)
    np.testing.assert_allclose(
        posterior.log_expected_weights, components.log_expected_weights[: len(groups)], rtol=1e-9
    )


@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_predictive_mixture_agrees_with_the_naive_one(sizes):
    problem = Problem(4, *sizes)
    mixture = PredictiveMixture.from_components(
        problem.prior.predictive(problem.scatter, problem.groups)
    )
    members = problem.by_group(problem.weights, problem.groups)
    groups = [naive.posterior_of_group(problem.h, problem.samples, w) for w in members]
    counts = [w.sum(axis=0) for w in members]
    places = np.concatenate([problem.R[:3], problem.R[3:5] + 3.0, problem.R[5:6] - 50.0])
    m, d, r = sizes
    physical = in_standard_units(mixture, places[:, m:] if r else None)
    ((_, block, _),) = physical._components(places[:, :m], None)
    mean, std, *_ = np.split(physical.moments(places[:, :m]), [d, 2 * d], axis=1)
    Y = mean + 0.4
    log_density = physical.log_density(places[:, :m], Y)
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
        np.testing.assert_allclose(std[n] ** 2, second, rtol=1e-7)
        density = sum(w * t.pdf(Y[n]) for w, t in zip(weights, parts, strict=True))
        assert log_density[n] == pytest.approx(np.log(density), abs=1e-7)
