# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""A whole plan: it keeps what it has to, tells more than chance, and says when there is none."""

import numpy as np
import pytest
from known_arm import HOME, known_dynamics

from ilr_dynamics.control import JointPath
from ilr_dynamics.exceptions import TrajectoryError
from ilr_dynamics.planning import (
    STEP,
    Clearance,
    KeepOutBox,
    Knowledge,
    MotionBounds,
    PlanProblem,
    Region,
    TorqueMargin,
    plan_motion,
)
from ilr_dynamics.planning.motion_law import draw_piece, motion_states
from ilr_dynamics.planning.plan import drawn_states
from ilr_dynamics.robot.description import load_description
from ilr_dynamics.robot.waypoints import Waypoints, smooth_motion

WALL = KeepOutBox([0.2, 0.3, -1.0], [1.5, 1.5, 1.0])


@pytest.fixture(scope="module")
def dynamics():
    return known_dynamics()


@pytest.fixture(scope="module")
def problem(dynamics):
    arm = load_description("wam4")
    return PlanProblem(
        MotionBounds(HOME - 0.5, HOME + 0.5, np.full(4, 1.2), np.full(4, 5.0)),
        TorqueMargin(dynamics, arm),
        Clearance(arm, [WALL], 0.05, HOME[None]),
        HOME,
    )


@pytest.fixture(scope="module")
def plan(dynamics, problem):
    return plan_motion(dynamics, problem, 25.0, np.random.default_rng(0), n_candidates=6)


def test_the_motion_that_is_played_keeps_all_limits(plan, problem):
    times = STEP * np.arange(len(plan.waypoints))
    played = smooth_motion(Waypoints(("a", "b", "c", "d"), times, plan.waypoints), 1.0 / STEP)
    path = JointPath(*played)
    states = np.array(
        [np.concatenate(path.sample(time)) for time in np.arange(0.0, path.end, 0.01)]
    )
    q, qd, qdd = np.split(states, 3, axis=1)
    assert np.all(np.abs(q - HOME) <= 0.5 + 1e-3)
    assert np.all(np.abs(qd) <= 1.2 * 1.01)
    assert np.all(np.abs(qdd) <= 5.0 * 1.1)
    assert problem.torque.holds(states)
    assert problem.clearance.holds(q)
    for end in (0, -1):
        np.testing.assert_allclose(plan.waypoints[end], HOME, atol=1e-9)
    assert 15.0 < plan.duration <= 25.0
    assert len(plan.times) == len(plan.doubt) >= 3


def test_a_piece_is_checked_where_it_is_joined(problem):
    """The spline through two pieces accelerates a little more than those through each, or less."""
    random = np.random.default_rng(0)

    def peaks(before, piece):
        ways = before, np.concatenate([before[-1:], piece]), np.concatenate([before, piece])
        return [float(np.abs(motion_states(way, 5)[:, 8:]).max()) for way in ways]

    pairs = []
    for _ in range(60):
        before = np.concatenate([HOME[None], draw_piece(problem.bounds, HOME, random)])
        pairs.append((before, draw_piece(problem.bounds, before[-1], random)))
    before, piece = max(pairs, key=lambda pair: peaks(*pair)[2] / max(peaks(*pair)[:2]))
    *alone, joined = peaks(before, piece)
    between = np.full(4, 0.5 * (joined + max(alone)))
    assert joined > between[0] + 1e-4
    bounds = MotionBounds(HOME - 1.0, HOME + 1.0, np.full(4, 9.0), between)
    clearance = Clearance(problem.torque.description, [], 0.0, HOME[None])
    narrow = PlanProblem(bounds, problem.torque, clearance, HOME)
    assert not narrow.broken_by(before[:1], before[1:])
    assert not narrow.broken_by(before[-1:], piece)
    assert narrow.broken_by(before, piece) == "bounds"


def test_doubt_falls_with_each_piece(plan):
    assert np.all(np.diff(plan.doubt) < 0.0)
    assert plan.information > 0.0


def test_the_choice_tells_more_than_the_same_time_of_chance(dynamics, problem, plan):
    """Median of several motions that are drawn without a choice."""
    random = np.random.default_rng(1)
    region = Region.of_states(dynamics, drawn_states(problem.bounds, 100, random))
    before = Knowledge.of_model(dynamics, region)

    def left(waypoints):
        return before.after(motion_states(waypoints), 10.0).doubt()

    by_chance = []
    for _ in range(7):
        motion = HOME[None]
        while len(motion) < len(plan.waypoints):
            motion = np.concatenate([motion, draw_piece(problem.bounds, motion[-1], random)])
        by_chance.append(left(motion[: len(plan.waypoints)]))
    assert left(plan.waypoints) < np.median(by_chance)


def test_a_plan_is_that_of_its_seed(dynamics, problem):
    first, again = (
        plan_motion(dynamics, problem, 9.0, np.random.default_rng(7), n_candidates=1)
        for _ in range(2)
    )
    np.testing.assert_array_equal(first.waypoints, again.waypoints)


def test_torque_limits_count_the_models_doubt(dynamics, problem):
    margin, arm = problem.torque, problem.torque.description
    state = np.concatenate([HOME, np.zeros(8)])[None]
    expected, variance = dynamics.regressor.predict(
        state, dynamics.joint_parameters, dynamics.joint_covariances
    )
    needed = margin.needed(state)
    assert np.all(needed >= np.abs(expected) + 2.0 * np.sqrt(variance) - 1e-9)
    assert margin.holds(state)
    fast = np.concatenate([HOME, np.zeros(4), 100.0 * np.ones(4)])[None]
    assert np.any(margin.needed(fast) > arm.torque_limit) and not margin.holds(fast)


def test_no_time_for_a_motion_is_said(dynamics, problem):
    with pytest.raises(TrajectoryError, match="do not keep their duration; expected a longer one"):
        plan_motion(dynamics, problem, 0.8, np.random.default_rng(0), n_candidates=3)


def test_no_room_for_a_motion_is_said(dynamics, problem):
    arm = problem.torque.description
    # Touched in every posture but where the arm is said to have been.
    box = KeepOutBox([-0.15, -0.15, 0.2], [0.15, 0.15, 0.5])
    elsewhere = np.array([[0.0, 1.9, 0.0, 1.0]])
    closed = PlanProblem(
        problem.bounds, problem.torque, Clearance(arm, [box], 0.02, elsewhere), HOME
    )
    with pytest.raises(TrajectoryError, match="do not keep their clearance"):
        plan_motion(dynamics, closed, 20.0, np.random.default_rng(0), n_candidates=1)
