# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Samples at like states count as the few independent ones that they are."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ilr_dynamics.robot.residual_correlation import ResidualCorrelation
from ilr_dynamics.robot.state_cells import StateCells

LIKE = ResidualCorrelation()
WIDE, FAST = np.sqrt(2.0 * np.pi) * np.array([LIKE.position_length, LIKE.velocity_length])


def naive(positions, velocities, rows, weights):
    """Sums for one joint, cell by cell, from all samples at once."""
    cells = {}
    for position, velocity, row, weight in zip(positions, velocities, rows, weights, strict=True):
        place = (np.floor(position / WIDE), np.floor(velocity / FAST))
        cells.setdefault(place, []).append((weight, row))
    products, count = np.zeros((rows.shape[1],) * 2), 0.0
    for members in cells.values():
        total = sum(weight for weight, _ in members)
        mean = sum(weight * row for weight, row in members) / total
        independent = total / (1.0 - LIKE.share + LIKE.share * total)
        products += independent * np.outer(mean, mean)
        count += independent
    return products, count


@given(st.integers(0, 1000), st.integers(1, 40), st.integers(1, 3))
def test_sums_are_those_of_the_cells_means(seed, n_samples, n_joints):
    random = np.random.default_rng(seed)
    positions = random.uniform(-3.0, 3.0, (n_samples, n_joints)) * random.choice([0.05, 1.0])
    velocities = random.uniform(-4.0, 4.0, (n_samples, n_joints)) * random.choice([0.3, 1.0])
    rows = random.normal(size=(n_samples, n_joints, 3))
    weights = random.uniform(0.01, 1.0, (n_samples, n_joints))
    cells = StateCells(1, n_joints, 3, LIKE)
    for sample in zip(positions, velocities, rows, weights, strict=True):
        cells.add(*sample)
    for joint in range(n_joints):
        of_joint = (each[:, joint] for each in (positions, velocities, rows, weights))
        products, count = naive(*of_joint)
        np.testing.assert_allclose(cells.products[0, joint], products, rtol=1e-9, atol=1e-9)
        assert cells.counts[0, joint] == pytest.approx(count)


def test_a_state_that_is_repeated_counts_little_more_than_once():
    cells = StateCells(1, 1, 1, LIKE)
    state = np.array([0.3]), np.array([0.2])
    for _ in range(1000):
        cells.add(*state, np.array([[2.0]]), np.ones(1))
    assert cells.counts[0, 0] == pytest.approx(1.0 / LIKE.share, rel=1e-3)
    assert cells.products[0, 0, 0, 0] == pytest.approx(4.0 / LIKE.share, rel=1e-3)


def test_either_way_of_turning_is_another_state_and_sets_are_forgotten_alone():
    cells = StateCells(2, 1, 1, LIKE)
    for velocity in (0.1, -0.1):
        cells.add(np.array([0.3]), np.array([velocity]), np.array([[velocity]]), np.ones(1))
    np.testing.assert_allclose(cells.counts, 2.0)
    cells.forget(0)
    np.testing.assert_allclose(cells.counts[:, 0], [0.0, 2.0])
    cells.add(np.array([0.3]), np.array([0.1]), np.array([[0.1]]), np.ones(1))
    assert cells.counts[0, 0] == pytest.approx(1.0)
    assert cells.products[1, 0, 0, 0] > cells.products[0, 0, 0, 0] > 0.0
