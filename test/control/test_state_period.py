# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest

from ilr_dynamics.control.state_period import StatePeriod

NOMINAL = 0.002
START = 1.7e9


def fed(intervals, states=None):
    states = states or StatePeriod(NOMINAL)
    time = START
    for interval in intervals:
        time += interval
        states.add(time)
    return states, time


def test_before_anything_is_known_the_next_is_due_after_the_nominal_period():
    states, time = fed([0.0025] * 5)
    assert states.next == time + NOMINAL


@pytest.mark.parametrize("rate", [10.0, 400.0, 499.0, 1000.0, 5000.0])
def test_it_is_due_after_the_period_of_the_stamps(rate):
    states, time = fed([1.0 / rate] * 120)
    assert states.next == pytest.approx(time + 1.0 / rate, abs=1e-6)


def test_lost_states_and_jitter_do_not_move_it():
    random = np.random.default_rng(0)
    intervals = 0.0025 + random.uniform(-1e-4, 1e-4, 500)
    intervals[::7] *= 3.0
    states, time = fed(intervals)
    assert states.next == pytest.approx(time + 0.0025, abs=5e-5)


def test_none_is_due_while_most_come_at_other_times():
    random = np.random.default_rng(0)
    states, _ = fed(random.uniform(0.5e-3, 3.5e-3, 200))
    assert states.next is None
    states, time = fed([0.0025] * 120, states)
    assert states.next == pytest.approx(time + 0.0025)


@pytest.mark.parametrize("blocks", [[50, 50], [60, 40]])
def test_none_is_due_while_two_rates_take_turns(blocks):
    """Each block agrees with itself; none with what the one before made expect."""
    intervals = [1e-3] * blocks[0] + [3e-3] * blocks[1]
    states, _ = fed(intervals * 5)
    assert states.next is None


def test_none_is_due_while_the_rate_swings():
    cycles = np.arange(1000)
    states, _ = fed(2e-3 + 4e-4 * np.sin(2.0 * np.pi * cycles / 100.0))
    assert states.next is None


def test_clock_that_jumps_does_not_matter():
    states, time = fed([0.001] * 75)
    for jump in (-100.0, 100.0):
        states.add(time + jump)
    states, time = fed([0.001] * 75, states)
    assert states.next == pytest.approx(time + 0.001)


def test_desired_state_is_never_farther_away_than_at_the_nominal_rate():
    assert fed([NOMINAL] * 60)[0].tolerance == pytest.approx(0.1 * NOMINAL, rel=1e-3)
    assert fed([0.001] * 60)[0].tolerance == pytest.approx(0.1 * 0.001, rel=1e-3)
    assert fed([0.01] * 60)[0].tolerance == pytest.approx(0.1 * NOMINAL, rel=1e-3)
