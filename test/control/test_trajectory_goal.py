# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ilr_dynamics.control import Command, JointPath, Mode, Reference
from ilr_dynamics.control.feedforward import FeedForwardTorque
from ilr_dynamics.control.goal_tolerances import AskedTolerances, GoalTolerances
from ilr_dynamics.control.trajectory_goal import (
    CANCELED,
    End,
    ErrorCode,
    TrajectoryGoal,
    aborted,
)

JOINTS = ("a", "b")
START = 100.0
PATH = JointPath([0.5, 1.0, 2.0], [[0.0, 0.0], [0.4, -0.2], [1.0, -0.5]], np.zeros((3, 2)))
TOLERANCES = GoalTolerances.of_all(2, path=0.3, goal=0.1, stopped_velocity=0.05, goal_time=1.0)
STEP = 0.01


def command(elapsed, error=0.0, velocity=0.0, mode=Mode.TRACKING):
    """A cycle at a time of the path, with a position error and a velocity of all joints."""
    reference = PATH.sample(elapsed)
    zero = np.zeros(2)
    return Command(
        START + elapsed,
        mode,
        zero,
        FeedForwardTorque(zero, zero),
        zero,
        reference,
        reference.position - error,
        reference.velocity + velocity,
        False,
        False,
    )


@pytest.fixture
def outcomes():
    return []


@pytest.fixture
def goal(outcomes):
    return TrajectoryGoal(PATH, START, TOLERANCES, JOINTS, outcomes.append)


def follow(goal, until, error=0.0, velocity=0.0, since=0.0):
    """Observe cycles until a time of the path; return when the arm is to brake."""
    brakes = []
    for elapsed in np.arange(since, until, STEP):
        mode = Mode.TRACKING if elapsed < PATH.end else Mode.HOLDING
        if goal.observe(command(elapsed, error, velocity, mode)):
            brakes.append(elapsed)
    return brakes


def test_arm_that_follows_reaches_the_goal_at_the_last_point(goal, outcomes):
    assert follow(goal, PATH.end - 0.5 * STEP) == []
    assert outcomes == [] and not goal.ended
    follow(goal, PATH.end + STEP, since=PATH.end)
    assert outcomes == [(End.SUCCEEDED, ErrorCode.SUCCESSFUL, "Goal successfully reached!")]
    assert goal.ended


def test_arm_that_leaves_the_path_is_to_brake_once_and_the_goal_ends_at_rest(goal, outcomes):
    assert follow(goal, 1.0) == []
    assert goal.observe(command(1.0, 0.35))
    for _ in range(10):
        assert not goal.observe(command(1.3, 0.35, mode=Mode.STOPPING))
    assert outcomes == []
    goal.observe(command(1.4, 0.35, mode=Mode.HOLDING))
    ((end, code, text),) = outcomes
    assert (end, code) == (End.ABORTED, ErrorCode.PATH_TOLERANCE_VIOLATED)
    assert text == (
        "Aborted due to path tolerance violation: position error of joint a is 0.350 rad, "
        "expected at most 0.3 rad"
    )


def test_goal_that_is_not_reached_in_time_is_missed(goal, outcomes):
    assert follow(goal, PATH.end + 1.0 - 0.5 * STEP, error=0.2) == []
    assert outcomes == []
    assert follow(goal, PATH.end + 1.1, error=0.2, since=PATH.end + 1.0 + STEP) == []
    ((end, code, text),) = outcomes
    assert (end, code) == (End.ABORTED, ErrorCode.GOAL_TOLERANCE_VIOLATED)
    assert text.startswith("Aborted due to goal_time_tolerance exceeding by 1.0")
    assert text.endswith(
        " seconds: position error of joint a is 0.200 rad, expected at most 0.1 rad"
    )


def test_goal_is_reached_late_within_its_time(goal, outcomes):
    follow(goal, PATH.end + 0.5, error=0.2)
    assert outcomes == []
    follow(goal, PATH.end + 0.6, error=0.05, velocity=0.2, since=PATH.end + 0.5)
    assert outcomes == [], "the arm still moves"
    follow(goal, PATH.end + 0.7, error=0.05, velocity=0.01, since=PATH.end + 0.6)
    assert [outcome.end for outcome in outcomes] == [End.SUCCEEDED]


def test_goal_time_of_minus_one_is_waited_for_without_end(outcomes):
    tolerances = TOLERANCES.asked(AskedTolerances(goal_time=-1.0), JOINTS)
    goal = TrajectoryGoal(PATH, START, tolerances, JOINTS, outcomes.append)
    goal.observe(command(1e6, error=0.2, mode=Mode.HOLDING))
    assert outcomes == []


def test_canceled_goal_ends_at_rest_as_canceled_whatever_happens_meanwhile(goal, outcomes):
    follow(goal, 1.0)
    assert goal.end_at_rest(CANCELED)
    assert not goal.end_at_rest(aborted("stopped"))
    assert not goal.observe(command(1.1, 5.0, mode=Mode.STOPPING))
    assert outcomes == []
    goal.end(aborted("a fault"))
    assert outcomes == [CANCELED]
    assert not goal.end_at_rest(CANCELED)


def test_next_point_is_that_of_the_trajectory_that_was_sent(goal):
    times = [-1.0, 0.0, 0.5, 0.9, 1.0, 1.9, 2.0, 9.0]
    assert [goal.next_point(START + time) for time in times] == [0, 0, 1, 1, 2, 2, 2, 2]
    assert goal.elapsed(START + 0.25) == 0.25


EVENTS = st.lists(
    st.one_of(
        st.tuples(st.just("cycle"), st.sampled_from(list(Mode)), st.floats(-1.0, 1.0)),
        st.just(("end",)),
        st.just(("rest",)),
    ),
    max_size=60,
)


@given(EVENTS, st.floats(0.001, 0.5))
def test_goal_ends_once_and_the_arm_brakes_at_most_once(events, step):
    outcomes = []
    goal = TrajectoryGoal(PATH, START, TOLERANCES, JOINTS, outcomes.append)
    elapsed, brakes, decided = 0.0, 0, None
    for event in events:
        elapsed += step
        if event[0] == "end":
            goal.end(aborted("replaced"))
        elif event[0] == "rest":
            if goal.end_at_rest(CANCELED):
                decided = CANCELED
        else:
            brakes += goal.observe(command(elapsed, event[2], mode=event[1]))
        assert goal.ended == bool(outcomes)
        assert len(outcomes) <= 1 and brakes <= 1
    if outcomes and brakes:
        assert outcomes[0].code is ErrorCode.PATH_TOLERANCE_VIOLATED
    if outcomes and decided:
        assert outcomes == [decided]
    if outcomes and outcomes[0].end is End.SUCCEEDED:
        assert elapsed >= PATH.end


@given(st.floats(-0.09, 0.09), st.floats(-0.04, 0.04), st.floats(0.01, 0.3))
def test_arm_within_all_tolerances_succeeds_at_the_first_cycle_after_the_end(
    error, velocity, step
):
    outcomes = []
    goal = TrajectoryGoal(PATH, START, TOLERANCES, JOINTS, outcomes.append)
    elapsed = 0.0
    while not goal.ended:
        elapsed += step
        assert not goal.observe(command(elapsed, error, velocity))
    assert PATH.end - 1e-9 <= elapsed <= PATH.end + step + 1e-9
    assert outcomes[0].end is End.SUCCEEDED


def test_reference_is_what_the_arm_is_judged_by_on_the_way(goal):
    # The controller's reference leads to the path, which may begin somewhere else.
    cycle = command(0.6)
    away = Reference(cycle.reference.position + 0.5, cycle.reference.velocity, np.zeros(2))
    assert not goal.observe(cycle._replace(reference=away, position=away.position))
    assert goal.observe(cycle._replace(reference=away))
