# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
from dataclasses import replace

import numpy as np
import pytest

from ilr_dynamics.control import JointPath
from ilr_dynamics.control.reference_source import ReferenceSource
from ilr_dynamics.exceptions import TrajectoryError

STEP = 0.002
FADE = 0.2
TOLERANCE = np.array([0.1, 0.1])


@pytest.fixture
def source():
    return ReferenceSource(np.zeros(2), 100.0, FADE)


def run(source, begin, duration):
    times = begin + np.arange(1, round(duration / STEP) + 1) * STEP
    references = [source.advance(time) for time in times]
    return times, np.array([(r.position, r.velocity, r.acceleration) for r in references])


def assert_continuous(states, jerk):
    """Each derivative is the difference quotient of the one before, and none jumps."""
    for order in range(2):
        slope = np.diff(states[:, order], axis=0) / STEP
        mean = 0.5 * (states[1:, order + 1] + states[:-1, order + 1])
        np.testing.assert_allclose(slope, mean, atol=jerk * STEP)
    assert np.abs(np.diff(states[:, 2], axis=0)).max() < jerk * STEP


def test_source_stands_still_at_first(source):
    _, states = run(source, 100.0, 0.1)
    assert not states.any()
    assert source.finished(100.1)


def test_path_starts_now_without_a_stamp(source, limits, sway):
    source.follow(sway, None, limits, TOLERANCE)
    np.testing.assert_allclose(source.advance(100.4).position, sway.sample(0.4).position)


def test_path_with_a_past_start_is_joined_on_its_way(source, limits, sway):
    source.follow(sway, 99.9, limits, TOLERANCE)
    _, states = run(source, 100.0, 0.5)
    assert np.abs(states[0, 0]).max() < 1e-4
    np.testing.assert_allclose(states[-1, 0], sway.sample(0.6).position, atol=1e-9)
    assert_continuous(states, 700.0)


def test_difference_to_the_path_fades_without_a_jump(source, limits):
    source.follow(JointPath([0.0], [[0.08, -0.05]]), None, limits, TOLERANCE)
    _, states = run(source, 100.0, 0.4)
    assert not source.finished(100.1)
    assert source.finished(100.0 + FADE + STEP)
    np.testing.assert_allclose(states[-1, 0], [0.08, -0.05])
    assert_continuous(states, 60 * 0.08 / FADE**3)


def test_replacement_in_full_motion_does_not_jump(source, limits, sway):
    source.follow(sway, None, limits, TOLERANCE)
    _, before = run(source, 100.0, 0.3)
    source.follow(JointPath([0.0, 1.0], np.full((2, 2), 0.1)), None, limits, np.full(2, 0.5))
    _, after = run(source, 100.3, 0.3)
    assert_continuous(np.concatenate((before[1:], after)), 2000.0)


def test_distant_point_is_approached_along_the_path(source, limits):
    zero = np.zeros((1, 2))
    source.follow(JointPath([1.0], [[1.0, -1.0]], zero, zero), None, limits, TOLERANCE)
    _, states = run(source, 100.0, 1.2)
    assert_continuous(states, 60.0)
    np.testing.assert_allclose(states[-1, 0], [1.0, -1.0])
    np.testing.assert_allclose(states[249, 0], [0.5, -0.5], atol=1e-9)


@pytest.mark.parametrize("lead", [0.008, 0.04, 0.15, 0.3])
def test_first_point_ahead_that_is_passed_in_motion_is_joined_without_a_jump(source, limits, lead):
    times = [lead, lead + 0.4, lead + 0.8]
    positions = np.array([[0.01, 0.0], [0.25, 0.0], [0.3, 0.0]])
    velocities = np.array([[0.6, 0.0], [0.6, 0.0], [0.0, 0.0]])
    source.follow(JointPath(times, positions, velocities), None, limits, TOLERANCE)
    _, states = run(source, 100.0, lead + 0.9)
    bound = 1.01 * np.abs(states[:, 2]).max() * STEP
    assert np.abs(np.diff(states[:, 1], axis=0)).max() < bound
    assert np.abs(states[:, 2]).max() < 40.0
    np.testing.assert_allclose(states[-1, 0], positions[-1])


def test_short_path_that_would_be_too_fast_while_it_fades_is_refused(source, limits, sway):
    source.follow(sway, None, limits, TOLERANCE)
    run(source, 100.0, 0.25)
    assert source.reference.velocity[0] > 0.6
    # Within the limit alone, beyond it with what is left of the present velocity.
    duration = 0.007
    position = source.reference.position + [0.0, 0.1]
    path = JointPath(
        [0.0, duration],
        [position, position + [1.0 * duration, 0.0]],
        np.zeros((2, 2)),
        np.zeros((2, 2)),
    )
    with pytest.raises(TrajectoryError, match="joint j1 would move at"):
        source.follow(path, None, limits, TOLERANCE * 2)


def test_far_start_is_refused_and_leaves_the_reference(source, limits):
    with pytest.raises(
        TrajectoryError,
        match="starts with joint j2 at 0.300 rad, but it is held at 0.000 rad: "
        "expected at most 0.1 rad",
    ):
        source.follow(JointPath([0.0], [[0.0, 0.3]]), None, limits, TOLERANCE)
    assert not source.advance(100.5).position.any()


def test_past_path_is_refused(source, limits, sway):
    with pytest.raises(TrajectoryError, match="ended 3.000 s ago"):
        source.follow(sway, 96.0, limits, TOLERANCE)


def test_approach_beyond_the_velocity_limit_is_refused(source, limits):
    with pytest.raises(TrajectoryError, match="joint j1 would move at 5.000 rad/s"):
        source.follow(JointPath([0.3], [[1.5, 0.0]]), None, limits, TOLERANCE)


def test_brake_comes_smoothly_to_rest(source, limits, sway):
    source.follow(sway, None, limits, TOLERANCE)
    _, before = run(source, 100.0, 0.3)
    source.brake(5.0, limits)
    _, after = run(source, 100.3, 0.5)
    assert_continuous(np.concatenate((before[1:], after)), 500.0)
    assert not after[-1, 1:].any()
    assert source.finished(100.8)


@pytest.mark.parametrize("acceleration", [5.0, 10.0, 20.0])
def test_brake_of_a_joint_that_accelerates_keeps_to_the_velocity_limit(
    source, limits, acceleration
):
    duration = 1.9 / acceleration
    path = JointPath(
        [0.0, duration],
        [[0.0, 0.0], [1.9 * duration / 2.0, 0.0]],
        [[0.0, 0.0], [1.9, 0.0]],
        [[acceleration, 0.0]] * 2,
    )
    source.follow(path, None, limits, TOLERANCE)
    run(source, 100.0, duration - 2.0 * STEP)
    fastest = source.reference.velocity[0]
    assert source.reference.acceleration[0] > 0.7 * acceleration
    source.brake(5.0, limits)
    _, states = run(source, source._time, 1.0)
    assert fastest < states[:, 1, 0].max() <= 2.0
    assert (states[:, 1, 0] >= 0.0).all()
    assert not states[-1, 1:].any()


def test_brake_decelerates_as_asked(source, limits):
    source.follow(JointPath([0.0, 0.5], [[0.0, 0.0], [0.5, 0.0]]), None, limits, TOLERANCE)
    run(source, 100.0, 0.3)
    source.brake(5.0, limits)
    _, states = run(source, 100.3, 0.4)
    assert np.abs(states[:, 2, 0]).max() == pytest.approx(5.0, rel=1e-3)


def test_brake_ends_within_the_position_range(source, limits):
    source.follow(JointPath([0.0, 1.6], [[0.0, 0.0], [1.97, 0.0]]), None, limits, TOLERANCE)
    run(source, 100.0, 1.59)
    source.brake(5.0, limits)
    _, states = run(source, 101.59, 1.0)
    assert states[-1, 0, 0] == limits.position_upper[0]
    assert states[:, 0, 0].max() < limits.position_upper[0] + 0.01


def test_joint_without_limits_brakes_wherever_it_is(source, limits):
    free = replace(limits, position_lower=[-np.inf] * 2, position_upper=[np.inf] * 2)
    source.follow(JointPath([0.0, 1.6], [[0.0, 0.0], [1.97, 0.0]]), None, free, TOLERANCE)
    run(source, 100.0, 1.4)
    source.brake(5.0, free)
    _, states = run(source, 101.4, 2.0)
    assert np.isfinite(states).all() and (states[-1, 1] == 0.0).all()


def test_path_that_would_be_left_beyond_a_limit_while_it_is_joined_is_refused(source, limits):
    source.hold(np.array([1.99, 0.0]))
    leaving = JointPath([0.0, 1.0], [[1.95, 0.0], [1.5, 0.0]], [[0.9, 0.0], [0.0, 0.0]])
    with pytest.raises(TrajectoryError, match="joint j1 would be at 2.0"):
        source.follow(leaving, None, limits, TOLERANCE)


def test_arm_that_rests_beyond_a_limit_is_led_back_and_no_further(source, limits):
    source.hold(np.array([2.04, 0.0]))
    zero = np.zeros((1, 2))
    with pytest.raises(TrajectoryError, match="joint j1 would be at 2.040 rad"):
        source.follow(JointPath([1.0], [[2.04, 0.0]], zero, zero), None, limits, TOLERANCE)
    source.follow(JointPath([1.0], [[1.5, 0.0]], zero, zero), None, limits, TOLERANCE)
    _, states = run(source, 100.0, 1.2)
    assert states[:, 0, 0].max() < 2.04 + 1e-9
    np.testing.assert_allclose(states[-1, 0], [1.5, 0.0])


def test_paths_that_replace_each_other_every_50_ms_do_not_jump(source, limits, sway):
    states = []
    for k in range(19):
        source.follow(sway, 100.0, limits, TOLERANCE)
        states.append(run(source, 100.0 + 0.05 * k, 0.05)[1])
    states = np.concatenate(states)
    assert_continuous(states[1:], 700.0)
    np.testing.assert_allclose(states[-1, 0], sway.sample(0.95).position, atol=1e-6)


def test_paths_from_other_places_every_50_ms_do_not_jump_either(source, limits):
    states = []
    for k in range(20):
        target = 0.05 * (-1.0) ** k
        source.follow(JointPath([0.0], [[target, -target]]), None, limits, TOLERANCE)
        states.append(run(source, 100.0 + 0.05 * k, 0.05)[1])
    states = np.concatenate(states)
    assert_continuous(states[1:], 2000.0)
    assert np.abs(states[:, 0]).max() < 0.06
