# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
from dataclasses import replace
from types import SimpleNamespace

import naive_hilr as naive
import numpy as np
import pytest

from ilr_dynamics.regression.families.matrix_normal_wishart import (
    MatrixNormalWishart,
    update_matrix_normal_wishart,
)
from ilr_dynamics.regression.families.normal_wishart import NormalWishart, update_normal_wishart
from ilr_dynamics.regression.families.tied_components import GroupedSums
from ilr_dynamics.regression.families.tied_regions import tied_regions
from ilr_dynamics.regression.families.tied_regressions import tied_regressions

# Inputs, outputs, features besides the inputs.
SIZES = [(1, 1, 0), (2, 3, 0), (3, 2, 2)]
GROUPS = np.array([0, 0, 0, 1, 2, 2])


def tied(h, scatter, groups):
    region, regression = naive.prior_arrays(h)
    sums, one = GroupedSums(groups), len(h.slope_precision)
    return (
        tied_regions(NormalWishart(*region), h.upper_strength, sums, scatter, one),
        tied_regressions(MatrixNormalWishart(*regression), sums, scatter),
    )


def random_samples(generator, n, m, d, features):
    X = 2.0 * generator.normal(size=(n, m)) + 1.0
    R = np.column_stack([X, generator.normal(size=(n, features))])
    Y = R @ generator.normal(size=(m + features, d)) + generator.normal(size=(n, d))
    Z = np.column_stack([R, np.ones(n), Y])
    return Z, [(x, f, y) for x, f, y in zip(X, R, Y, strict=True)]


@pytest.fixture(scope="module", params=SIZES, ids=str)
def shared(request):
    """Three upper components, of three, one and two lower ones, that share all samples."""
    m, d, features = request.param
    generator = np.random.default_rng(10 * m + d)
    h = naive.random_hyperparameters(generator, m, d, m + features)
    Z, samples = random_samples(generator, 14, m, d, features)
    weights = generator.uniform(0.0, 1.5, (14, 6))
    scatter = np.einsum("nk,ni,nj->kij", weights, Z, Z)
    members = [weights[:, GROUPS == g] for g in range(3)]
    priors = [h.group(w.shape[1]) for w in members]
    groups = [p.updated(samples, w) for p, w in zip(priors, members, strict=True)]
    regions, regressions = tied(h, scatter, GROUPS)
    return SimpleNamespace(
        h=h,
        priors=priors,
        groups=groups,
        weights=members,
        samples=samples,
        regions=regions,
        regressions=regressions,
    )


def lower_components(groups):
    return [(g, k) for g, group in enumerate(groups) for k in range(group.n_lower)]


def test_sums_are_over_the_members_of_each_group():
    sums = GroupedSums(GROUPS)
    values = np.arange(12.0).reshape(6, 2)
    np.testing.assert_array_equal(sums(values), [[6.0, 9.0], [6.0, 7.0], [18.0, 20.0]])
    np.testing.assert_array_equal(sums.sizes(), [3.0, 1.0, 2.0])


def test_regions_are_marginals_of_the_joint_posterior_of_all_centres(shared):
    found = shared.regions.components
    for index, (g, k) in enumerate(lower_components(shared.groups)):
        region, pick = shared.groups[g].region, shared.groups[g].centre_design(k)
        np.testing.assert_allclose(found.mean[index], region.mean @ pick, rtol=1e-9)
        assert 1.0 / found.kappa[index] == pytest.approx(region.variance(pick), rel=1e-9)
        inverse_scale = np.linalg.inv(region.scale)
        np.testing.assert_allclose(found.inverse_scale[index], inverse_scale, rtol=1e-9, atol=1e-9)
        assert found.dof[index] == pytest.approx(region.dof)


def test_regressions_are_marginals_of_the_joint_posterior_of_slope_and_offsets(shared):
    found = shared.regressions.components
    for index, (g, k) in enumerate(lower_components(shared.groups)):
        group, joint = shared.groups[g], shared.groups[g].regression
        kept = np.append(np.arange(group.n_slopes), group.n_slopes + k)
        np.testing.assert_allclose(found.mean[index], joint.mean[:, kept], rtol=1e-8, atol=1e-10)
        covariance = np.linalg.inv(joint.precision)[np.ix_(kept, kept)]
        np.testing.assert_allclose(
            np.linalg.inv(found.column_precision[index]), covariance, rtol=1e-8, atol=1e-10
        )
        inverse_scale = np.linalg.inv(joint.scale)
        np.testing.assert_allclose(found.inverse_scale[index], inverse_scale, rtol=1e-8, atol=1e-8)
        assert found.dof[index] == pytest.approx(joint.dof)
        np.testing.assert_allclose(
            shared.regressions.slopes[g], joint.mean[:, : group.n_slopes], rtol=1e-8, atol=1e-10
        )


def test_log_evidence_is_the_ratio_of_the_dense_normalisers(shared):
    for found, part in ((shared.regions, "region"), (shared.regressions, "regression")):
        for g, (prior, group) in enumerate(zip(shared.priors, shared.groups, strict=True)):
            expected = (
                getattr(group, part).log_normalizer() - getattr(prior, part).log_normalizer()
            )
            assert found.log_evidence[g] == pytest.approx(expected, rel=1e-9), part


@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_log_evidence_is_the_product_of_predictive_densities(sizes):
    m, d, features = sizes
    generator = np.random.default_rng(sum(sizes))
    h = naive.random_hyperparameters(generator, m, d, m + features)
    Z, samples = random_samples(generator, 9, m, d, features)
    labels = np.array([0, 2, 1, 0, 0, 2, 1, 0, 2])
    scatter = np.array([Z[labels == k].T @ Z[labels == k] for k in range(3)])
    regions, regressions = tied(h, scatter, np.zeros(3, dtype=int))
    of_inputs, of_outputs = naive.log_chance_of_samples(h.group(3), samples, labels)
    constant = 0.5 * len(Z) * np.log(2.0 * np.pi)
    assert regions.log_evidence[0] - m * constant == pytest.approx(of_inputs, rel=1e-9)
    assert regressions.log_evidence[0] - d * constant == pytest.approx(of_outputs, rel=1e-9)


def test_lower_components_without_samples_change_nothing_for_the_others(shared):
    h, weights = shared.h, shared.weights[0]
    Z = np.array([np.concatenate([f, [1.0], y]) for _, f, y in shared.samples])
    scatter = np.einsum("nk,ni,nj->kij", weights, Z, Z)
    padded = np.concatenate([scatter, np.zeros_like(scatter[:2])])
    alone, among = (tied(h, S, np.zeros(len(S), dtype=int)) for S in (scatter, padded))
    for a, b in zip(alone, among, strict=True):
        np.testing.assert_allclose(a.log_evidence, b.log_evidence, rtol=1e-10)
        for name, value in vars(a.components).items():
            np.testing.assert_allclose(
                value, getattr(b.components, name)[:3], rtol=1e-9, atol=1e-10
            )


@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_alone_under_a_certain_upper_centre_a_component_is_untied(sizes):
    m, d, features = sizes
    generator = np.random.default_rng(5)
    h = naive.random_hyperparameters(generator, m, d, m + features)
    h = replace(h, upper_strength=1e12)
    Z, _ = random_samples(generator, 8, m, d, features)
    S, one = (Z.T @ Z)[None], m + features
    q = one + 1
    regions, regressions = tied(h, S, np.zeros(1, dtype=int))
    region, regression = naive.prior_arrays(h)
    region, regression = NormalWishart(*region), MatrixNormalWishart(*regression)
    count = S[:, one, one]
    untied_region = update_normal_wishart(region, count, S[:, :m, one], S[:, :m, :m])
    untied_regression = update_matrix_normal_wishart(
        regression, count, S[:, :q, :q], S[:, q:, :q], S[:, q:, q:]
    )
    for found, prior, expected in (
        (regions, region, untied_region),
        (regressions, regression, untied_regression),
    ):
        for name, value in vars(expected).items():
            np.testing.assert_allclose(
                getattr(found.components, name), value, rtol=1e-9, atol=1e-9
            )
        np.testing.assert_allclose(
            found.log_evidence, expected.log_normalizer() - prior.log_normalizer(), rtol=1e-9
        )


def test_expected_distances_agree_with_the_joint_posterior(shared):
    h, groups, r = shared.h, shared.groups, shared.groups[0].n_slopes
    regions, regressions = shared.regions, shared.regressions
    np.testing.assert_allclose(
        regions.precision_sums,
        sum(g.region.dof * np.diag(g.region.scale) for g in groups),
        rtol=1e-8,
    )
    np.testing.assert_allclose(
        regressions.precision_sums,
        sum(g.regression.dof * np.diag(g.regression.scale) for g in groups),
        rtol=1e-8,
    )
    common = sum(g.region.expected_distance(np.eye(1 + g.n_lower)[0], h.location) for g in groups)
    assert regions.common_distances == pytest.approx(common, rel=1e-8)
    centres, offsets = 0.0, 0.0
    for g, k in lower_components(groups):
        step = groups[g].centre_design(k) - np.eye(1 + groups[g].n_lower)[0]
        centres += groups[g].region.expected_distance(step, np.zeros_like(h.location))
        pick = groups[g].output_design(k, np.zeros(r))
        offsets += groups[g].regression.expected_distance(pick, h.offset)
    assert regions.centre_distances == pytest.approx(centres, rel=1e-8)
    assert regressions.offset_distances == pytest.approx(offsets, rel=1e-8)
    slopes = [
        sum(
            g.regression.expected_distance(np.eye(r + g.n_lower)[column], h.slope[:, column])
            for g in groups
        )
        for column in range(r)
    ]
    np.testing.assert_allclose(regressions.slope_distances, slopes, rtol=1e-8)


def test_expected_distances_agree_with_draws_from_the_posterior(shared):
    generator = np.random.default_rng(1)
    h, n_draws, r = shared.h, 10_000, shared.groups[0].n_slopes
    names = ("precisions", "common", "centres", "noises", "slopes", "offsets")
    drawn = dict.fromkeys(names, 0.0)
    for group in shared.groups:
        T, precision = group.region.draw(generator, n_draws)
        M, noise = group.regression.draw(generator, n_draws)
        common, centres = T[:, :, :1], T[:, :, 1:]
        drawn["precisions"] += np.diagonal(precision, axis1=1, axis2=2)
        drawn["noises"] += np.diagonal(noise, axis1=1, axis2=2)
        drawn["common"] += squared(common - h.location[:, None], precision).sum(axis=1)
        drawn["centres"] += squared(centres - common, precision).sum(axis=1)
        drawn["slopes"] += squared(M[:, :, :r] - h.slope, noise)
        drawn["offsets"] += squared(M[:, :, r:] - h.offset[:, None], noise).sum(axis=1)
    for name, expected in (
        ("precisions", shared.regions.precision_sums),
        ("common", shared.regions.common_distances),
        ("centres", shared.regions.centre_distances),
        ("noises", shared.regressions.precision_sums),
        ("slopes", shared.regressions.slope_distances),
        ("offsets", shared.regressions.offset_distances),
    ):
        error = drawn[name].std(axis=0) / np.sqrt(n_draws)
        assert np.all(np.abs(drawn[name].mean(axis=0) - expected) < 3.0 * error), name


def squared(columns, precision):
    """b' W b (n, columns) of the columns b of B (n, rows, columns)."""
    return np.einsum("nic,nij,njc->nc", columns, precision, columns)
