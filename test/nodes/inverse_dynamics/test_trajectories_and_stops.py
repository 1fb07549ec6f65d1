# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Trajectories, stop and hold, as the node meets them."""

from array import array

import numpy as np
import pytest
from builtin_interfaces.msg import Duration
from controller_bench import CYCLE, RATE_LIMIT, stamp, trajectory
from std_srvs.srv import Trigger

from ilr_dynamics.control import JointPath
from ilr_dynamics_msgs.msg import ControllerState


def test_analytic_feedforward_tracks_better_than_pd_alone(arm):
    assert arm.set_parameters(controller="pd").successful
    arm.run(0.3)
    pd = arm.follow_eight()
    assert arm.states[-1].controller == "pd"
    assert arm.set_parameters(controller="analytic").successful
    arm.run(0.3)
    analytic = arm.follow_eight()
    assert np.mean(pd**2) > 2.0 * np.mean(analytic**2)
    assert np.mean(analytic**2) < 5e-3
    assert arm.state().mode == ControllerState.HOLDING


def test_trajectory_of_too_many_points_is_refused(arm):
    assert arm.set_parameters(trajectory__max_points=100).successful
    message = trajectory(arm.joints, arm.eight)
    arm.publish(message)
    assert arm.state().mode == ControllerState.HOLDING
    assert arm.set_parameters(trajectory__max_points=101).successful
    arm.publish(message)
    assert arm.state().mode == ControllerState.TRACKING


def malformed(arm, fault):
    message = trajectory(list(arm.joints), arm.eight)
    if fault == "unknown joints":
        message.joint_names = ["j1", "j2", "j3", "wrist"]
    elif fault == "missing joint":
        message.joint_names = message.joint_names[:3]
    elif fault == "unordered times":
        message.points[5].time_from_start, message.points[9].time_from_start = (
            message.points[9].time_from_start,
            message.points[5].time_from_start,
        )
    elif fault == "nan":
        message.points[7].positions[2] = np.nan
    elif fault == "far start":
        message.points = message.points[60:]
        message.points[0].time_from_start = Duration()
    elif fault == "beyond limits":
        message.points[50].velocities[3] = 5.0
    elif fault == "positions alone":
        for point in message.points:
            point.velocities = point.accelerations = array("d")
    elif fault == "ragged":
        message.points[3].accelerations = array("d")
    else:
        message.points = []
    return message


@pytest.mark.parametrize(
    "fault",
    [
        "unknown joints",
        "missing joint",
        "unordered times",
        "nan",
        "far start",
        "beyond limits",
        "positions alone",
        "ragged",
        "empty",
    ],
)
def test_malformed_trajectory_is_refused_while_the_arm_is_held(arm, fault):
    before = arm.state()
    arm.publish(malformed(arm, fault))
    after = arm.state()
    assert after.mode == ControllerState.HOLDING
    assert after.desired_position == before.desired_position


@pytest.mark.parametrize("offset", [None, 0.3, -0.3])
def test_trajectory_starts_at_its_stamp(arm, offset):
    message = trajectory(list(arm.joints), arm.eight)
    message.joint_names.reverse()
    for point in message.points:
        for name in ("positions", "velocities", "accelerations"):
            setattr(point, name, array("d", reversed(getattr(point, name))))
    if offset is not None:
        message.header.stamp = stamp(arm.time + offset)
    start = arm.time + (offset or 0.0)
    arm.publish(message)
    arm.run(0.9)
    state = arm.state()
    assert state.mode == ControllerState.TRACKING
    now = state.header.stamp.sec + 1e-9 * state.header.stamp.nanosec
    # Without a stamp it starts when it arrives, within the 0.05 s that publish waits.
    tolerance = 0.05 if offset is None else 1e-6
    wanted = arm.eight.sample(now - start).position
    np.testing.assert_allclose(state.desired_position, wanted, atol=tolerance)


def test_single_point_is_approached(arm):
    target = arm.eight.positions[0] + 0.1
    message = trajectory(arm.joints, JointPath([1.0], [target], [np.zeros(4)]))
    arm.publish(message)
    arm.run(1.1)
    state = arm.state()
    assert state.mode == ControllerState.HOLDING
    np.testing.assert_allclose(state.desired_position, target)


def test_trajectory_that_is_replaced_every_50_ms_is_tracked(arm):
    message = trajectory(list(arm.joints), arm.eight)
    message.header.stamp = stamp(arm.time)
    torques = []
    for _ in range(12):
        arm.trajectories.publish(message)
        torques += list(arm.run(0.05))
    assert (np.abs(np.diff(torques, axis=0)) <= RATE_LIMIT * CYCLE + 1e-9).all()
    state = arm.state()
    assert state.mode == ControllerState.TRACKING
    assert np.abs(state.position_error).max() < 0.2


def test_trajectory_that_arrives_while_stopping_is_refused(arm):
    arm.publish(trajectory(arm.joints, arm.eight))
    arm.run(1.5)
    assert arm.ask(Trigger, "stop").message == "stopping"
    message = trajectory(arm.joints, arm.eight, approach=1.0)
    arm.trajectories.publish(message)
    modes = set()
    while ControllerState.HOLDING not in modes:
        modes.add(arm.state().mode)
    assert modes == {ControllerState.STOPPING, ControllerState.HOLDING}


def test_stop_brakes_and_holds(arm):
    arm.publish(trajectory(arm.joints, arm.eight))
    arm.run(1.5)
    assert arm.state().mode == ControllerState.TRACKING
    assert arm.ask(Trigger, "stop").message == "stopping"
    arm.run(0.5)
    state = arm.state()
    assert state.mode == ControllerState.HOLDING
    assert not any(state.desired_velocity)


def test_fault_is_kept_until_hold(arm):
    arm.time += 0.5
    assert arm.state().mode == ControllerState.FAULT
    arm.publish(trajectory(arm.joints, arm.eight))
    assert arm.state().mode == ControllerState.FAULT
    assert "joint states are 0.5" in arm.ask(Trigger, "stop").message
    assert arm.ask(Trigger, "hold").message == "holding"
    assert arm.state().mode == ControllerState.HOLDING
