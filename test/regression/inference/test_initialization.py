# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from ilr_dynamics.regression.inference.initialization import (
    assignment_statistics,
    k_means_plus_plus,
    nearest_seed,
)


def seeds_of(points, n_seeds, weights=None, seed=0):
    weights = np.ones(len(points)) if weights is None else weights
    return k_means_plus_plus(points, weights, n_seeds, np.random.default_rng(seed))


@settings(max_examples=30)
@given(st.integers(1, 30), st.integers(1, 40), st.integers(0, 2**32 - 1))
def test_seeds_are_distinct_points(n, n_seeds, seed):
    points = np.random.default_rng(seed).normal(size=(n, 3))
    seeds = seeds_of(points, n_seeds, seed=seed)
    assert len(seeds) == min(n, n_seeds)
    assert len(np.unique(seeds, axis=0)) == len(seeds)
    assert all(np.any(np.all(points == s, axis=1)) for s in seeds)


def test_equal_points_give_one_seed():
    assert len(seeds_of(np.ones((10, 2)), 5)) == 1


def test_far_clusters_each_get_a_seed():
    generator = np.random.default_rng(1)
    centres = 1e4 * np.arange(6)[:, None] * np.ones(2)
    points = np.repeat(centres, 20, axis=0) + generator.normal(size=(120, 2))
    for seed in range(20):
        seeds = seeds_of(points, 6, seed=seed)
        assert sorted(np.round(seeds[:, 0] / 1e4).astype(int)) == list(range(6))


def test_points_without_weight_are_never_drawn():
    points = np.arange(10.0)[:, None]
    weights = np.where(points[:, 0] < 5.0, 1.0, 0.0)
    assert np.all(seeds_of(points, 10, weights) < 5.0)


def test_second_seed_follows_the_squared_distance():
    # From 0, the points 1 and 2 have odds 1 : 4; the weight 3 makes them 3 : 4.
    points, weights = np.array([[0.0], [1.0], [2.0]]), np.array([1e9, 3.0, 1.0])
    draws = np.array([seeds_of(points, 2, weights, seed)[1, 0] for seed in range(2000)])
    share = np.mean(draws == 1.0)
    assert abs(share - 3.0 / 7.0) < 4.0 * np.sqrt(3.0 / 7.0 * 4.0 / 7.0 / 2000)


@settings(max_examples=30)
@given(st.integers(0, 2**32 - 1))
def test_each_point_goes_to_its_nearest_seed(seed):
    generator = np.random.default_rng(seed)
    points, seeds = generator.normal(size=(20, 3)), generator.normal(size=(4, 3))
    distances = np.linalg.norm(points[:, None] - seeds, axis=2)
    np.testing.assert_array_equal(nearest_seed(points, seeds), distances.argmin(axis=1))


@settings(max_examples=30)
@given(st.integers(1, 25), st.integers(1, 6), st.integers(0, 2**32 - 1))
def test_assignment_statistics_are_sums_over_the_members(n, n_components, seed):
    generator = np.random.default_rng(seed)
    Z, weights = generator.normal(size=(n, 3)), generator.uniform(0.1, 2.0, n)
    labels = generator.integers(0, n_components, n)
    S = assignment_statistics(Z, weights, labels, n_components)
    expected = np.zeros((n_components, 3, 3))
    for z, w, label in zip(Z, weights, labels, strict=True):
        expected[label] += w * np.outer(z, z)
    np.testing.assert_allclose(S, expected, rtol=1e-12, atol=1e-13)
