# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Motions of the law keep their bounds, whatever these are, and begin and end at rest."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ilr_dynamics.exceptions import InvalidParameterError
from ilr_dynamics.planning.motion_law import (
    STEP,
    MotionBounds,
    draw_piece,
    motion_states,
    quintic_way,
)
from ilr_dynamics.robot.waypoints import Waypoints, smooth_motion


def bounds(n, width=1.0, velocity=1.2, acceleration=5.0):
    middle = np.linspace(-1.0, 1.0, n)
    return MotionBounds(
        middle - width, middle + width, np.full(n, velocity), np.full(n, acceleration)
    )


@given(
    n=st.integers(1, 7),
    width=st.floats(0.02, 2.0),
    velocity=st.floats(0.05, 3.0),
    acceleration=st.floats(0.5, 20.0),
    seed=st.integers(0, 2**32),
)
@settings(max_examples=20)
def test_pieces_one_after_the_other_keep_all_bounds(n, width, velocity, acceleration, seed):
    kept = bounds(n, width, velocity, acceleration)
    random = np.random.default_rng(seed)
    posture = random.uniform(kept.lower, kept.upper)
    for _ in range(3):
        piece = draw_piece(kept, posture, random)
        waypoints = np.concatenate([posture[None], piece])
        states = motion_states(waypoints, 10)
        position, speed, change = np.split(np.abs(states), 3, axis=1)
        # The spline may overshoot the law by what the planner then refuses: a twentieth.
        assert np.all(np.split(states, 3, axis=1)[0] >= kept.lower - 0.05 * width)
        assert np.all(np.split(states, 3, axis=1)[0] <= kept.upper + 0.05 * width)
        assert np.all(speed <= 1.05 * kept.velocity)
        assert np.all(change <= 1.3 * kept.acceleration)
        np.testing.assert_allclose(states[-1, n : 2 * n], 0.0, atol=1e-9)
        posture = piece[-1]


def test_most_pieces_are_within_the_bounds_to_the_last_digit():
    kept, random = bounds(4), np.random.default_rng(0)
    within = 0
    for _ in range(50):
        start = random.uniform(kept.lower, kept.upper)
        piece = np.concatenate([start[None], draw_piece(kept, start, random)])
        within += kept.hold(motion_states(piece, 5))
    assert within >= 40


def test_a_way_is_as_fast_as_its_pace():
    kept = bounds(2)
    start, end = np.array([-1.5, 0.5]), np.array([-0.5, 1.5])
    for pace in (0.2, 1.0):
        waypoints = np.concatenate([start[None], quintic_way(kept, start, end, pace)])
        speed = np.abs(motion_states(waypoints, 5)[:, 2:4]).max()
        assert 0.8 * pace * 1.2 <= speed <= pace * 1.2
        np.testing.assert_allclose(waypoints[-1], end)


def test_states_are_those_of_the_motion_that_is_played():
    kept, random = bounds(3), np.random.default_rng(1)
    start = np.array([-1.0, 0.0, 1.0])
    waypoints = np.concatenate([start[None], draw_piece(kept, start, random)])
    times = STEP * np.arange(len(waypoints))
    played = smooth_motion(Waypoints(("a", "b", "c"), times, waypoints), 1.0 / STEP)
    states = motion_states(waypoints)
    np.testing.assert_allclose(states, np.hstack(played[1:])[1:], atol=1e-9)
    # Between the knots the quintics that a controller makes of them are the same, nearly.
    from ilr_dynamics.control import JointPath

    path = JointPath(*played)
    fine = motion_states(waypoints, 4)
    sampled = [path.sample(STEP / 4 * (k + 1)) for k in range(len(fine))]
    np.testing.assert_allclose([each.velocity for each in sampled], fine[:, 3:6], atol=0.02)


def test_motions_differ_by_their_random_numbers_alone():
    kept, start = bounds(2), np.array([-1.0, 1.0])
    first, again, other = (draw_piece(kept, start, np.random.default_rng(s)) for s in (3, 3, 4))
    np.testing.assert_array_equal(first, again)
    assert first.shape != other.shape or not np.allclose(first, other)


@pytest.mark.parametrize(
    ("changed", "text"),
    [
        ({"lower": [0.0, 2.0]}, "expected every lower bound below the upper one"),
        ({"velocity": [1.0, 0.0]}, "the bound velocity of the motion is"),
        ({"acceleration": [np.inf, 1.0]}, "expected finite numbers"),
    ],
)
def test_impossible_bounds_are_refused(changed, text):
    values = {
        "lower": [-1.0, -1.0],
        "upper": [1.0, 1.0],
        "velocity": [1.0, 1.0],
        "acceleration": [1.0, 1.0],
    }
    with pytest.raises(InvalidParameterError, match=text):
        MotionBounds(**{**values, **changed})
