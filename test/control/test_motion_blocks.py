# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Motion is smoothed without delay, once a block, and not across gaps."""

import numpy as np
import pytest

from ilr_dynamics.control.motion_blocks import MotionBlocks

PERIOD, N_CYCLES = 0.002, 30


def swing(time):
    """Two joints at 1 and 2 rad/s."""
    rates = np.array([1.0, 2.0])
    angle = rates * time
    return np.sin(angle), rates * np.cos(angle), -(rates**2) * np.sin(angle)


def test_motion_at_the_middle_of_a_block_is_found():
    blocks = MotionBlocks(2, N_CYCLES, PERIOD)
    found = []
    for cycle in range(5 * N_CYCLES):
        time = cycle * PERIOD
        position, _, _ = swing(time)
        found.append(blocks.add(time, position, 3.0 * position))
    ends = [cycle for cycle, motion in enumerate(found) if motion is not None]
    assert ends == [N_CYCLES * (block + 1) - 1 for block in range(5)]
    for end in ends:
        position, velocity, acceleration = swing((end - 0.5 * (N_CYCLES - 1)) * PERIOD)
        motion = found[end]
        np.testing.assert_allclose(motion.position, position, atol=1e-6)
        np.testing.assert_allclose(motion.velocity, velocity, atol=1e-4)
        np.testing.assert_allclose(motion.acceleration, acceleration, atol=1e-2)
        np.testing.assert_allclose(motion.torque, 3.0 * position, atol=1e-5)
        np.testing.assert_allclose(motion.torque_rate, 3.0 * velocity, atol=1e-3)


@pytest.mark.parametrize("late", [0.05, -0.03])
def test_a_block_with_a_gap_is_left_out(late):
    blocks = MotionBlocks(2, N_CYCLES, PERIOD)
    for cycle in range(N_CYCLES):
        time = cycle * PERIOD + (late if cycle > 10 else 0.0)
        assert blocks.add(time, np.zeros(2), np.zeros(2)) is None


def test_an_encoders_steps_are_smoothed():
    random, blocks, errors = np.random.default_rng(0), MotionBlocks(2, N_CYCLES, PERIOD), []
    for cycle in range(100 * N_CYCLES):
        position, _, _ = swing(cycle * PERIOD)
        noisy = position + random.uniform(-2e-5, 2e-5, 2)
        motion = blocks.add(cycle * PERIOD, noisy, position)
        if motion is not None:
            middle = (cycle - 0.5 * (N_CYCLES - 1)) * PERIOD
            errors.append(motion.acceleration - swing(middle)[2])
    # Single differences over a cycle would be off by some 5 rad/s^2.
    assert np.sqrt(np.mean(np.square(errors))) < 0.2
