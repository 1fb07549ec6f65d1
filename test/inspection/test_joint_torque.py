# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""What is left of a torque is what its columns cannot explain within their bounds."""

import numpy as np
import pytest

from ilr_dynamics.inspection.joint_torque import JointTorque


@pytest.fixture
def columns():
    return np.random.default_rng(0).standard_normal((500, 6))


def test_nothing_is_left_of_what_is_expected(columns):
    y = columns @ np.array([1.0, -1.0, 0.5, 0.0, 2.0, 0.1])
    assert np.abs(JointTorque(columns, 1e-3).residual(y)).max() < 1e-5


def test_what_is_far_from_expected_is_left(columns):
    tight = JointTorque(1e-3 * columns, 1.0)
    y = columns[:, 0]
    assert np.linalg.norm(tight.residual(y)) > 0.9 * np.linalg.norm(y)


def test_torques_of_any_shape_are_taken(columns):
    y = np.random.default_rng(1).standard_normal((3, 2, 500))
    model = JointTorque(columns, 0.1)
    np.testing.assert_allclose(model.residual(y)[1, 1], model.residual(y[1, 1]))


def test_the_level_is_that_of_the_noise(columns):
    noise = 0.05 * np.random.default_rng(2).standard_normal(500)
    y = columns.sum(axis=1) + noise
    worse = y + np.random.default_rng(3).standard_normal(500)
    model = JointTorque(columns, 1.0).settled(np.stack([worse, y]), 1e-3)
    assert model.level == pytest.approx(0.05, rel=0.1)


def test_the_level_has_a_least(columns):
    assert JointTorque(columns, 1.0).settled(columns[:, 0][np.newaxis], 0.01).level == 0.01
