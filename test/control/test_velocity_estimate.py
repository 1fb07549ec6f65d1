# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest

from ilr_dynamics.control.velocity_estimate import VelocityEstimate
from ilr_dynamics.exceptions import InvalidParameterError

PERIOD = 0.002


@pytest.fixture
def estimate():
    return VelocityEstimate(2, cutoff=30.0, longest_step=0.1)


def run(estimate, times, positions):
    return np.array([estimate(*state) for state in zip(times, positions, strict=True)])


def test_velocity_of_a_motion_comes_with_the_delay_of_the_low_pass(estimate):
    times = 50.0 + PERIOD * np.arange(1000)
    phase = 2.0 * np.pi * np.array([0.5, 1.0]) * times[:, None]
    velocities = run(estimate, times, np.sin(phase))
    later = 1.0 / (2.0 * np.pi * 30.0)
    expected = 2.0 * np.pi * np.array([0.5, 1.0]) * np.cos(phase * (1.0 - later / times[:, None]))
    assert not velocities[0].any()
    assert np.abs(velocities - expected)[100:].max() < 0.05


def test_steps_of_an_encoder_are_smoothed(estimate):
    count = 2.0 * np.pi / 4096 / 42
    times = PERIOD * np.arange(1000)
    positions = np.round(np.outer(times, [0.1, -0.1]) / count) * count
    velocities = run(estimate, times, positions)
    raw = np.diff(positions, axis=0) / PERIOD
    assert np.abs(velocities[100:] - [0.1, -0.1]).max() < 0.5 * np.abs(raw - [0.1, -0.1]).max()


def test_state_that_is_no_news_changes_nothing(estimate):
    run(estimate, PERIOD * np.arange(50), np.outer(PERIOD * np.arange(50), [1.0, 1.0]))
    before = estimate(0.1, np.array([0.1, 0.1]))
    for time, position in ((0.1, 0.9), (0.09, 0.9), (0.102, np.nan), (np.nan, 0.1)):
        np.testing.assert_array_equal(estimate(time, np.full(2, position)), before)
    after = estimate(0.102, np.array([0.102, 0.102]))
    np.testing.assert_allclose(after, 1.0, atol=0.01)


@pytest.mark.parametrize("jump", [0.2, -0.2, 1e6, -1e6])
def test_clock_that_jumps_starts_at_rest(estimate, jump):
    run(estimate, PERIOD * np.arange(50), np.outer(PERIOD * np.arange(50), [1.0, 1.0]))
    assert not estimate(0.1 + jump, np.array([3.0, 3.0])).any()
    assert estimate(0.102 + jump, np.array([3.1, 3.1])).all()


@pytest.mark.parametrize("cutoff", [0.0, -1.0, np.inf, np.nan])
def test_cutoff_out_of_range_is_refused(cutoff):
    with pytest.raises(InvalidParameterError, match="cutoff is .* expected a positive number"):
        VelocityEstimate(2, cutoff, 0.1)
