# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ilr_dynamics.regression.mixture.pairs import (
    N_NEIGHBOURS,
    best_disjoint,
    merged,
    neighbours,
    summed,
)


@settings(max_examples=30)
@given(st.integers(0, 2**32 - 1), st.integers(2, 40), st.integers(1, 3))
def test_every_point_is_paired_with_those_nearest_to_it(seed, n_points, p):
    points = np.random.default_rng(seed).normal(size=(n_points, p))
    expected = set()
    for first in range(n_points):
        order = np.argsort(np.sum((points - points[first]) ** 2, axis=1))
        expected |= {(min(first, k), max(first, k)) for k in order[1 : N_NEIGHBOURS + 1]}
    found = neighbours(points)
    assert {tuple(pair) for pair in found} == expected
    assert len(found) == len(expected)


@pytest.mark.parametrize("n_points", [0, 1])
def test_one_point_has_no_neighbour(n_points):
    assert neighbours(np.zeros((n_points, 2))).shape == (0, 2)


def test_equal_points_are_paired_and_not_with_themselves():
    found = neighbours(np.zeros((3, 2)))
    np.testing.assert_array_equal(found, [[0, 1], [0, 2], [1, 2]])


def always(chosen):
    return 1.0


def test_the_best_pairs_come_first_and_no_component_twice():
    pairs = np.array([[0, 1], [1, 2], [2, 3], [4, 5]])
    merged_into = best_disjoint(pairs, np.array([1.0, 3.0, 2.0, -1.0]), 6, always)
    np.testing.assert_array_equal(merged_into, [0, 1, 1, 3, 4, 5])
    merged_into = best_disjoint(pairs, np.array([2.0, 1.0, 2.5, 0.5]), 6, always)
    np.testing.assert_array_equal(merged_into, [0, 0, 2, 2, 4, 4])


@pytest.mark.parametrize("gain", [-1.0, 0.0, 1e-9, -np.inf])
def test_what_is_no_gain_is_left_apart(gain):
    assert best_disjoint(np.array([[0, 1]]), np.array([gain]), 2, always) is None
    assert best_disjoint(np.zeros((0, 2), dtype=int), np.zeros(0), 2, always) is None


@pytest.mark.parametrize(
    ("n_compatible", "merged_into"),
    [
        (4, [0, 0, 2, 2, 4, 4, 6, 6]),
        (3, [0, 1, 2, 2, 4, 5, 6, 6]),
        (1, [0, 1, 2, 2, 4, 5, 6, 7]),
        (0, [0, 1, 2, 2, 4, 5, 6, 7]),
    ],
)
def test_the_better_half_is_united_where_all_together_are_no_gain(n_compatible, merged_into):
    pairs, gains = np.array([[0, 1], [2, 3], [4, 5], [6, 7]]), np.array([1.0, 4.0, 2.0, 3.0])
    asked = []

    def joint_gain(chosen):
        asked.append(list(chosen))
        return 1.0 if len(chosen) <= n_compatible else -1.0

    found = best_disjoint(pairs, gains, 8, joint_gain)
    np.testing.assert_array_equal(found, merged_into)
    # What the best one gains alone is known.
    assert asked == [[1, 3, 2, 0], [1, 3]][: 1 if n_compatible == 4 else 2]


def test_statistics_of_the_united_are_summed():
    scatter = np.arange(5.0)[:, None, None] * np.ones((2, 2))
    merged_into = merged(np.array([[0, 3], [2, 1]]), 5)
    np.testing.assert_array_equal(merged_into, [0, 2, 2, 0, 4])
    np.testing.assert_array_equal(summed(scatter, merged_into)[:, 0, 1], [3.0, 3.0, 4.0])
