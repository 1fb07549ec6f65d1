# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ilr_dynamics.control import VelocityCheck

PERIOD = 0.002
COUNT = 2.0 * np.pi / 4096


def motion(duration, frequency=0.5, amplitude=0.3, period=PERIOD):
    """Times (n,) and a sway of one of two joints (n, 2), and its velocity."""
    times = np.arange(0.0, duration, period)
    phase = 2.0 * np.pi * frequency * times
    positions, velocities = np.zeros((2, len(times), 2))
    positions[:, 1] = amplitude * (1.0 - np.cos(phase))
    velocities[:, 1] = amplitude * 2.0 * np.pi * frequency * np.sin(phase)
    return times, positions, velocities


def filtered(velocities, delay, period=PERIOD):
    if not delay:
        return velocities
    share = 1.0 - np.exp(-period / delay)
    result = np.zeros_like(velocities)
    for k in range(1, len(velocities)):
        result[k] = result[k - 1] + share * (velocities[k] - result[k - 1])
    return result


def noticed(times, positions, velocities):
    """When the check finds the velocities wrong, s, and what it says; None if it never does."""
    check = VelocityCheck(("j1", "j2"))
    for state in zip(times, positions, velocities, strict=True):
        if check.add(*state):
            return state[0], check.verdict
    return None


@pytest.mark.parametrize("scale", [0.0, -1.0, 180.0 / np.pi, np.pi / 180.0, 0.159, 9.55, 42.0])
@pytest.mark.parametrize("frequency", [0.1, 0.5, 2.0])
@pytest.mark.parametrize("delay", [0.0, 0.02])
@pytest.mark.parametrize("rate", [100.0, 500.0, 2000.0])
def test_velocities_of_something_else_are_noticed_within_a_second(scale, frequency, delay, rate):
    times, positions, velocities = motion(2.0, frequency, period=1.0 / rate)
    when, text = noticed(times, positions, scale * filtered(velocities, delay, 1.0 / rate))
    assert when <= 1.0
    assert text.startswith("the velocities of joint j2 are ")
    assert text.endswith(" times the change of its positions: expected 1, velocities in rad/s")


@pytest.mark.parametrize("scale", [0.0, -1.0, 57.3])
def test_velocities_that_go_wrong_amid_a_motion_are_noticed_within_a_second(scale):
    times, positions, velocities = motion(5.0)
    velocities[times > 2.3] *= scale
    when, _ = noticed(times, positions, velocities)
    assert 2.3 < when <= 3.3


@pytest.mark.parametrize("scale", [0.5, 1.55, 2.0])
@pytest.mark.parametrize("frequency", [0.1, 0.5, 1.0])
def test_another_gear_is_noticed_within_a_second(scale, frequency):
    times, positions, velocities = motion(2.0, frequency)
    assert noticed(times, positions, scale * filtered(velocities, 0.005))[0] <= 1.0


@pytest.mark.parametrize("frequency", [0.3, 1.0, 3.0, 4.0])
@pytest.mark.parametrize("delay", [0.02, 0.05])
def test_filters_of_velocities_are_no_other_unit(frequency, delay):
    times, positions, velocities = motion(6.0, frequency, amplitude=0.1)
    assert noticed(times, positions, filtered(velocities, delay)) is None


def test_slope_is_told():
    times, positions, velocities = motion(1.0)
    assert " are 57." in noticed(times, positions, 57.3 * velocities)[1]
    assert " are 0 times the " in noticed(times, positions, 0.0 * velocities)[1]


@settings(max_examples=40, deadline=None)
@given(
    frequency=st.floats(0.05, 2.0),
    amplitude=st.floats(0.002, 0.5),
    delay=st.sampled_from([0.0, 0.01, 0.05]),
    step=st.sampled_from([0.0, COUNT / 42, COUNT]),
    stick=st.sampled_from([0.0, 0.02]),
    noise=st.sampled_from([0.0, 0.05, 0.3]),
    lost=st.sampled_from([0.0, 0.1, 0.5]),
    seed=st.integers(0, 1000),
)
def test_sound_drivers_raise_no_alarm(frequency, amplitude, delay, step, stick, noise, lost, seed):
    random = np.random.default_rng(seed)
    times, positions, _ = motion(4.0, frequency, amplitude)
    if stick:
        # A joint that sticks and then slips, softly.
        positions = filtered(np.floor(positions / stick) * stick, 0.005)
    if step:
        positions = np.round(positions / step) * step
    velocities = np.diff(positions, axis=0, prepend=positions[:1]) / PERIOD
    velocities = filtered(velocities, delay) + random.normal(0.0, noise, velocities.shape)
    times = times + 0.4 * PERIOD * random.uniform(-1.0, 1.0, len(times))
    kept = random.random(len(times)) >= lost
    assert noticed(times[kept], positions[kept], velocities[kept]) is None


def test_clock_that_jumps_and_gaps_are_no_motion():
    times, positions, velocities = motion(4.0)
    times += np.where(times > 2.0, -7.0, 0.0)
    positions[times > -6.0] += 1.0
    assert noticed(times, positions, velocities) is None
    assert noticed(times[::100], positions[::100], 0.0 * velocities[::100]) is None


def test_joint_that_stands_still_says_nothing():
    times, positions, velocities = motion(3.0, amplitude=0.0)
    assert noticed(times, positions, velocities + 5.0) is None


def test_reset_forgets_the_verdict():
    check = VelocityCheck(("j1", "j2"))
    times, positions, velocities = motion(1.0)
    for state in zip(times, positions, 0.0 * velocities, strict=True):
        check.add(*state)
    assert check.verdict
    check.reset()
    assert not check.verdict
    assert not any(check.add(*state) for state in zip(times, positions, velocities, strict=True))
