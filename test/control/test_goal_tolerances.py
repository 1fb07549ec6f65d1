# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ilr_dynamics.control.goal_tolerances import (
    AskedTolerance,
    AskedTolerances,
    GoalTolerances,
    StateTolerance,
)
from ilr_dynamics.exceptions import TrajectoryError

JOINTS = ("a", "b", "c")
DEFAULT = GoalTolerances.of_all(3, path=0.5, goal=0.1, stopped_velocity=0.02, goal_time=2.0)

positive = st.floats(1e-6, 1e6)
asked = st.one_of(st.just(0.0), st.just(-1.0), positive)
errors = st.lists(st.floats(-10.0, 10.0), min_size=3, max_size=3).map(np.array)


def expected(value, default):
    return {0.0: default, -1.0: math.inf}.get(value, value)


def test_zero_among_the_defaults_is_no_tolerance():
    none = GoalTolerances.of_all(2, path=0.0, goal=0.0, stopped_velocity=0.0, goal_time=0.0)
    for state in (none.path, none.goal):
        assert np.isinf(state.position).all() and np.isinf(state.velocity).all()
    assert math.isinf(none.goal_time)
    assert DEFAULT.goal.velocity.tolist() == [0.02] * 3
    assert np.isinf(DEFAULT.path.velocity).all()


@given(asked, asked, st.sampled_from(JOINTS))
def test_goal_replaces_the_default_of_the_joints_it_names_and_no_other(position, velocity, joint):
    one = AskedTolerance(joint, position, velocity, 0.0)
    result = DEFAULT.asked(AskedTolerances(goal=(one,)), JOINTS)
    at = JOINTS.index(joint)
    for values, default, value in (
        (result.goal.position, 0.1, position),
        (result.goal.velocity, 0.02, velocity),
    ):
        assert values[at] == expected(value, default)
        assert np.delete(values, at).tolist() == [default] * 2
    assert result.path.position.tolist() == [0.5] * 3
    assert result.goal_time == 2.0
    assert DEFAULT.goal.position.tolist() == [0.1] * 3


@given(asked)
def test_goal_time_is_what_is_asked_for(value):
    result = DEFAULT.asked(AskedTolerances(goal_time=value), JOINTS)
    assert result.goal_time == expected(value, 2.0)


@given(
    st.floats(max_value=-1e-6).filter(lambda value: abs(value + 1.0) > 1e-6) | st.just(math.nan)
)
def test_what_is_neither_a_tolerance_nor_minus_one_is_refused(value):
    for one in (AskedTolerance("b", value, 0.0, 0.0), AskedTolerance("b", 0.0, value, 0.0)):
        with pytest.raises(TrajectoryError, match=r"path_tolerance of joint b, .*expected a pos"):
            DEFAULT.asked(AskedTolerances(path=(one,)), JOINTS)
    with pytest.raises(TrajectoryError, match=r"goal_time_tolerance is .*expected a positive"):
        DEFAULT.asked(AskedTolerances(goal_time=value), JOINTS)


def test_unknown_joint_is_refused():
    with pytest.raises(TrajectoryError, match="goal_tolerance names the joint 'd': expected one"):
        DEFAULT.asked(AskedTolerances(goal=(AskedTolerance("d", 0.1, 0.0, 0.0),)), JOINTS)


def test_tolerance_of_accelerations_is_refused_as_they_are_not_measured():
    asks = AskedTolerance("a", 0.1, 0.0, 0.3)
    with pytest.raises(TrajectoryError, match="acceleration, is 0.3: expected 0 or -1"):
        DEFAULT.asked(AskedTolerances(path=(asks,)), JOINTS)
    none = asks._replace(acceleration=-1.0)
    assert DEFAULT.asked(AskedTolerances(path=(none,)), JOINTS).path.position[0] == 0.1


@given(errors, errors, positive, positive)
def test_violation_names_a_joint_beyond_its_tolerance_exactly_if_there_is_one(
    position, velocity, largest_position, largest_velocity
):
    tolerance = StateTolerance.of_all(3, largest_position, largest_velocity)
    text = tolerance.violation(position, velocity, JOINTS)
    far = np.abs(position) > largest_position
    fast = np.abs(velocity) > largest_velocity
    assert (text is not None) == bool(far.any() or fast.any())
    if text is not None:
        kind, beyond = ("position", far) if far.any() else ("velocity", fast)
        assert text.startswith(f"{kind} error of joint {JOINTS[int(np.argmax(beyond))]} is ")


def test_state_that_is_not_a_number_is_beyond_any_tolerance():
    anything = StateTolerance.of_all(3, 0.0)
    zero = np.zeros(3)
    assert anything.violation(np.full(3, 1e9), zero, JOINTS) is None
    assert "joint b" in anything.violation(np.array([0.0, np.nan, 0.0]), zero, JOINTS)
