# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Joint states, trajectories, stop and hold, as the node meets them."""

import re
import time
from array import array

import numpy as np
import pytest
from builtin_interfaces.msg import Duration
from controller_bench import CYCLE, RATE_LIMIT, stamp, trajectory
from diagnostic_msgs.msg import DiagnosticStatus
from rclpy.qos import qos_profile_sensor_data
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
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


def test_each_state_is_answered_with_its_own_stamp_and_state(arm):
    torque = arm.cycle()
    assert list(torque.name) == arm.joints
    state = arm.state()
    assert list(state.joint_names) == arm.joints
    np.testing.assert_allclose(
        np.array(state.feedforward_torque) + state.pd_torque, state.commanded_torque
    )
    assert 0.0 < state.loop_time < 0.1


def test_joints_are_read_by_name(arm):
    message = arm.joint_state()
    straight = arm.answer_to(message).effort
    order = [3, 1, 0, 2]
    message.name = ["finger", *(arm.joints[i] for i in order)]
    for field in ("position", "velocity"):
        values = getattr(message, field)
        setattr(message, field, array("d", [9.9, *(values[i] for i in order)]))
    message.header.stamp = stamp(arm.time + 1e-5)
    np.testing.assert_allclose(arm.answer_to(message).effort, straight, atol=0.02)


@pytest.mark.parametrize(
    "fault",
    [
        "nan position",
        "nan velocity of one joint",
        "position that jumps",
        "missing joint",
        "joint named twice",
        "no positions",
        "short velocities",
        "nothing at all",
        "same stamp",
        "earlier stamp",
    ],
)
def test_unusable_state_is_not_answered_and_the_next_is(arm, fault):
    message = arm.joint_state()
    if fault == "nan position":
        message.position[1] = np.nan
    elif fault == "nan velocity of one joint":
        message.velocity[1] = np.nan
    elif fault == "position that jumps":
        message.position[1] += 2.0 * np.pi
    elif fault == "missing joint":
        message.name[0] = "elbow"
    elif fault == "joint named twice":
        message.name[0] = message.name[1]
    elif fault == "no positions":
        message.position = array("d")
    elif fault == "short velocities":
        message.velocity.pop()
    elif fault == "nothing at all":
        message.name, message.position, message.velocity = [], array("d"), array("d")
    elif fault == "same stamp":
        message.header.stamp = stamp(arm.time - CYCLE)
    else:
        message.header.stamp = stamp(arm.time - 5.0 * CYCLE)
    assert arm.answer_to(message, timeout=0.1) is None
    arm.run(0.02)


@pytest.mark.parametrize("velocity", [[], [np.nan] * 4])
def test_arm_is_held_without_measured_velocities(arm, velocity):
    arm.change_velocity = lambda measured: velocity
    arm.run(0.3)
    state = arm.state()
    arm.change_velocity = lambda measured: measured
    assert state.mode == ControllerState.HOLDING
    assert np.abs(state.measured_velocity).max() < 0.1
    assert np.abs(state.position_error).max() < 0.1


def test_dropout_and_burst_are_answered_within_the_rate_limit(arm):
    torques = [arm.run(0.1)[-1]]
    arm.time += 0.08
    torques.append(arm.cycle().effort)
    for _ in range(5):
        arm.time += 1e-4 - CYCLE
        torques.append(arm.cycle().effort)
    assert (np.abs(np.diff(torques, axis=0)) <= RATE_LIMIT * CYCLE + 1e-9).all()
    assert arm.state().mode == ControllerState.HOLDING


@pytest.mark.parametrize("jump", [-100.0, 100.0])
def test_clock_that_jumps_is_a_fault_and_hold_ends_it(arm, jump):
    arm.time += jump
    arm.run(0.02)
    assert arm.state().mode == ControllerState.FAULT
    assert arm.ask(Trigger, "hold").message == "holding"
    assert arm.state().mode == ControllerState.HOLDING


def test_silence_lets_the_arm_down(arm):
    quick = {"supervision__silence_timeout": 0.2, "fault__let_down_time": 0.3}
    assert arm.set_parameters(**quick).successful
    torques = [arm.run(0.1)[-1]]
    arm.torques.clear()
    arm.states.clear()
    arm.spin(2.0)
    torques += [torque.effort for torque in arm.torques]
    assert [state.mode for state in arm.states[-5:]] == [ControllerState.FAULT] * 5
    assert list(arm.states[-1].commanded_torque) == [0.0] * 4
    np.testing.assert_allclose(arm.states[-1].measured_position, arm.measured.position, atol=0.01)
    # Nothing can be held yet.
    assert not arm.ask(Trigger, "hold", moving=False).success
    assert np.abs(torques[0]).max() > 5.0
    assert list(torques[-1]) == [0.0] * 4
    assert (np.abs(np.diff(torques, axis=0)) <= RATE_LIMIT * CYCLE + 1e-9).all()
    usual = {"supervision__silence_timeout": 60.0, "fault__let_down_time": 3.0}
    assert arm.set_parameters(moving=False, **usual).successful
    # Time stood still, so the next state is not late, and yet the fault stays.
    assert arm.state().mode == ControllerState.FAULT
    assert "no joint state for " in arm.ask(Trigger, "stop").message
    assert arm.ask(Trigger, "hold").message == "holding"


def test_silence_counts_unless_simulated_time_is_seen_to_stand_still(arm):
    quick = {"supervision__silence_timeout": 0.2, "fault__let_down_time": 0.3}
    assert arm.set_parameters(use_sim_time=True, **quick).successful
    clock = arm.node.create_publisher(Clock, "/clock", 10)
    for _ in range(100):
        clock.publish(Clock(clock=stamp(arm.time)))
        arm.cycle()
    arm.torques.clear()
    arm.spin(0.6)
    assert not arm.torques
    # Stamps by another clock: it says nothing about the arm.
    clock.publish(Clock(clock=stamp(arm.time + 50.0)))
    arm.spin(0.6)
    assert arm.states[-1].mode == ControllerState.FAULT
    arm.run(0.02)
    assert arm.ask(Trigger, "hold").message == "holding"
    arm.node.destroy_publisher(clock)
    arm.states.clear()
    arm.spin(0.6)
    assert arm.states[-1].mode == ControllerState.FAULT
    usual = {"supervision__silence_timeout": 60.0, "fault__let_down_time": 3.0}
    assert arm.set_parameters(moving=False, use_sim_time=False, **usual).successful
    arm.run(0.02)
    assert arm.ask(Trigger, "hold").message == "holding"


def test_hold_is_refused_while_nobody_knows_where_the_arm_is(arm):
    quick = {"supervision__silence_timeout": 0.2, "fault__let_down_time": 0.3}
    assert arm.set_parameters(**quick).successful
    arm.run(0.1)
    arm.spin(1.0)
    answer = arm.ask(Trigger, "hold", moving=False)
    assert not answer.success and "no joint state for" in answer.message
    arm.torques.clear()
    arm.spin(0.5)
    assert not arm.torques
    usual = {"supervision__silence_timeout": 60.0, "fault__let_down_time": 3.0}
    assert arm.set_parameters(moving=False, **usual).successful
    assert arm.state().mode == ControllerState.FAULT
    answer = arm.ask(Trigger, "hold")
    assert answer.success and answer.message == "holding"


@pytest.mark.parametrize(
    ("efforts", "text"), [([0.0] * 4, "does not follow: its torque in joint j2"), ([], "tell")]
)
def test_driver_that_does_not_do_what_it_is_told_is_a_fault(arm, efforts, text):
    assert np.abs(arm.run(0.2)[-1][1]) > 8.0
    arm.change_effort = lambda measured: efforts
    arm.run(0.08)
    assert arm.state().mode == ControllerState.HOLDING
    arm.run(0.1)
    arm.change_effort = lambda measured: measured
    assert arm.state().mode == ControllerState.FAULT
    assert text in arm.ask(Trigger, "stop").message
    assert arm.ask(Trigger, "hold").message == "holding"


def test_controller_states_come_at_a_reduced_rate(arm):
    assert arm.set_parameters(controller_state__decimation=10).successful
    arm.run(0.02)
    arm.states.clear()
    arm.run(0.2)
    assert 9 <= len(arm.states) <= 11
    assert arm.set_parameters(controller_state__decimation=1).successful


def test_diagnostics_say_how_the_loop_does(arm):
    level, text, values = arm.diagnosis()
    assert (level, text) == (DiagnosticStatus.OK, "holding")
    assert float(values["rate [Hz]"]) > 10.0
    assert float(values["largest gap [ms]"]) == pytest.approx(2.0)
    assert float(values["jitter of receipt 99 % [ms]"]) > 0.0
    assert float(values["last joint state answered [s ago]"]) < 1.0
    assert values["unusable joint states"] == values["cycles at a torque limit"] == "0"
    assert (values["controller"], values["model"], values["learner"]) == ("analytic", "", "idle")
    assert arm.set_parameters(controller="ilr").successful
    level, text, _ = arm.diagnosis()
    assert (level, text) == (DiagnosticStatus.WARN, "holding, no model is loaded")


def test_joint_states_that_are_wrong_are_told(arm):
    def told():
        arm.diagnosis()
        return arm.diagnostics[-1].status[0].message

    assert "s behind the node's clock" in told()
    # The node's clock, but a second late and soon some more, as the arm waits for each torque.
    arm.time = time.time() - 1.0
    arm.run(0.02)
    assert arm.ask(Trigger, "hold").message == "holding"
    late = re.search(r"stamped (\d\.\d*) s behind", told())
    assert late and 0.1 < float(late[1]) < 5.0
    second = arm.node.create_publisher(JointState, "joint_states", qos_profile_sensor_data)
    arm.spin(0.5)
    assert "2 publishers of joint states" in told()
    arm.node.destroy_publisher(second)
    while "publishers" in told():
        pass
    assert " Hz instead of" not in told()
    arm.diagnostics.clear()
    while not any(
        "joint states at 200 Hz instead of 500 Hz" in d.status[0].message for d in arm.diagnostics
    ):
        arm.cycle()
        arm.time += 1.5 * CYCLE
    arm.time = 1000.0
    arm.run(0.02)
    assert arm.ask(Trigger, "hold").message == "holding"


def test_trajectory_of_too_many_points_is_refused(arm):
    assert arm.set_parameters(trajectory__max_points=100).successful
    message = trajectory(arm.joints, arm.eight)
    arm.publish(message)
    assert arm.state().mode == ControllerState.HOLDING
    assert arm.set_parameters(trajectory__max_points=101).successful
    arm.publish(message)
    assert arm.state().mode == ControllerState.TRACKING
    assert arm.set_parameters(trajectory__max_points=2000).successful


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
