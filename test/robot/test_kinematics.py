# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ilr_dynamics.exceptions import TrajectoryError
from ilr_dynamics.robot.description import load_description
from ilr_dynamics.robot.kinematics import inverse_kinematics
from ilr_dynamics.robot.rigid_body import RigidBodyModel

REST = np.array([0.0, 0.7, 0.0, 1.8])
MODEL = RigidBodyModel(load_description("wam4"))
near_rest = st.tuples(*[st.floats(-0.5, 0.5)] * 4).map(lambda offset: REST + offset)


def solve(target, start=REST):
    return inverse_kinematics(MODEL, target, start=start, resting_posture=REST)


@settings(max_examples=50, deadline=None)
@given(near_rest)
def test_reached_points_are_reached_again(position):
    target = MODEL.tool_position(position)
    np.testing.assert_allclose(MODEL.tool_position(solve(target)), target, atol=1e-8)


@settings(max_examples=30, deadline=None)
@given(near_rest, near_rest)
def test_solution_does_not_depend_on_the_start(position, start):
    target = MODEL.tool_position(position)
    np.testing.assert_allclose(solve(target, start), solve(target), atol=1e-7)


@settings(max_examples=30, deadline=None)
@given(near_rest)
def test_no_motion_in_the_null_space_brings_the_arm_nearer_to_rest(position):
    solution = solve(MODEL.tool_position(position))
    null_space = np.linalg.svd(MODEL.tool_jacobian(solution))[2][-1]
    assert null_space @ (solution - REST) == pytest.approx(0.0, abs=1e-7)


def test_resting_posture_is_its_own_solution():
    np.testing.assert_allclose(solve(MODEL.tool_position(REST), REST + 0.1), REST, atol=1e-8)


def test_point_out_of_reach_is_refused():
    with pytest.raises(TrajectoryError, match=r"\[2.0, 0.0, 0.0\] not reached"):
        solve([2.0, 0.0, 0.0])


def test_point_that_needs_more_than_the_joint_range_is_refused():
    behind = [3.0, 0.7, 0.0, 1.8]
    target = MODEL.tool_position(behind)
    with pytest.raises(TrajectoryError, match="needs j1 = 3.*expected -2.6 to 2.6"):
        inverse_kinematics(MODEL, target, start=behind, resting_posture=behind)
