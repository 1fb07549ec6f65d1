# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Joint states as the node meets them, and what it says of them."""

import re
import time
from array import array

import numpy as np
import pytest
from controller_bench import CYCLE, RATE_LIMIT, stamp, trajectory
from diagnostic_msgs.msg import DiagnosticStatus
from rclpy.qos import qos_profile_sensor_data
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger

from ilr_dynamics.nodes.controller.diagnostic_groups import FIT, JOINT_STATES, LOOP, MODEL
from ilr_dynamics_msgs.msg import ControllerState


def test_each_state_is_answered_with_its_own_stamp_and_state(arm):
    torque = arm.cycle()
    assert list(torque.name) == arm.joints
    state = arm.state()
    assert list(state.joint_names) == arm.joints
    assert state.header.frame_id == "base"
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
    assert arm.is_unanswered(message)
    arm.run(0.02)


@pytest.mark.parametrize("velocity", [[], [np.nan] * 4])
def test_arm_is_held_without_measured_velocities(arm, velocity):
    arm.change_velocity = lambda measured: velocity
    arm.run(0.3)
    state = arm.state()
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


def test_controller_states_come_at_a_reduced_rate(arm):
    assert arm.set_parameters(controller_state__decimation=10).successful
    arm.run(0.02)
    arm.states.clear()
    arm.run(0.2)
    assert 9 <= len(arm.states) <= 11


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
    found = {status.name: status for status in arm.diagnostics[-1].status}
    groups = LOOP, JOINT_STATES, MODEL, FIT
    assert list(found) == [f"inverse_dynamics: {group}" for group in groups]
    assert found[f"inverse_dynamics: {MODEL}"].message == "no model is loaded"
    assert {item.key for item in found[f"inverse_dynamics: {MODEL}"].values} >= {"learner"}
    assert all(status.hardware_id == "wam4" for status in found.values())


@pytest.mark.parametrize("cycle", [CYCLE, 0.5 * CYCLE])
def test_feed_forward_of_a_motion_is_prepared_at_the_rate_of_the_driver(arm, cycle):
    arm.trajectories.publish(trajectory(arm.joints, arm.eight, approach=0.3))
    while arm.state().mode != ControllerState.TRACKING:
        pass
    # The round that has begun may still be of before.
    arm.diagnosis()
    waited, rate, prepared = None, 0.0, 0
    # The first period of the motion, and that in which the stamps' own is found, say otherwise;
    # on a busy machine a period has few cycles.
    for _ in range(20):
        if waited == "0" and rate == pytest.approx(1.0 / cycle, rel=1e-3) and prepared > 10:
            break
        arm.diagnostics.clear()
        while not arm.diagnostics:
            arm.cycle()
            arm.time += cycle - CYCLE
        statuses = arm.diagnostics[0].status
        assert statuses[0].message.startswith("tracking")
        values = {item.key: item.value for status in statuses for item in status.values}
        waited = values["cycles that waited for the feed-forward"]
        rate = float(values["rate by stamps [Hz]"])
        prepared = int(values["cycles with a prepared feed-forward"])
    assert waited == "0"
    assert rate == pytest.approx(1.0 / cycle, rel=1e-3)
    assert prepared > 10
    assert (
        float(values["look-ahead largest [ms]"]) >= float(values["look-ahead median [ms]"]) > 0.0
    )


def test_joint_states_that_are_wrong_are_told(arm):
    def told():
        arm.diagnosis()
        return arm.diagnostics[-1].status[0].message

    # The first may be of before any state, where the machine is at work.
    assert any("s behind the node's clock" in told() for _ in range(10))
    # The node's clock, but a second late and soon some more, as the arm waits for each torque.
    arm.time = time.time() - 1.0
    arm.run(0.02)
    assert arm.ask(Trigger, "hold").message == "holding"

    def told_late():
        arm.diagnostics.clear()
        while len(arm.diagnostics) < 2:
            # Cycles may be quicker than real time, and would overtake the node's clock.
            time.sleep(max(0.0, arm.time + 1.0 - time.time()))
            arm.cycle()
        return arm.diagnostics[-1].status[0].message

    # Diagnostics that were on their way may still be of the time before.
    said = (re.search(r"stamped (\d\.\d*) s behind", told_late()) for _ in range(10))
    late = next(filter(None, said), None)
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
