# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""More than one publisher of joint states, and velocities that are none, over DDS."""

import os
import time
from array import array

import numpy as np
import pytest
from controller_bench import CYCLE, stamp, trajectory
from diagnostic_msgs.msg import DiagnosticStatus
from lifecycle_msgs.msg import Transition
from rclpy.node import Node
from rclpy.qos import qos_profile_sensor_data
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger

from ilr_dynamics_msgs.msg import ControllerState

OTHER_POSTURE = 0.3


@pytest.fixture
def intruder(bench):
    """A node that publishes joint states, and is known by now."""
    node = Node("joint_state_publisher", context=bench.node.context)
    publisher = node.create_publisher(JointState, "joint_states", qos_profile_sensor_data)
    deadline = time.monotonic() + 30.0
    while not publisher.get_subscription_count() and time.monotonic() < deadline:
        bench.spin(0.05)
    # The publisher knows the controller by now. That it is known to it cannot be asked for.
    bench.spin(1.0)
    yield publisher
    node.destroy_node()


def strange(bench, position=0.0):
    message = bench.joint_state()
    message.position = array("d", [position] * 4)
    message.velocity = message.effort = array("d")
    return message


def send_both(bench, intruder, cycles, first="intruder", position=0.0):
    """Let both publish at once, the arm where it is, with stamps that go on."""
    for _ in range(cycles):
        messages = [(intruder, strange(bench, position)), (bench.publisher, bench.joint_state())]
        for publisher, message in messages if first == "intruder" else messages[::-1]:
            publisher.publish(message)
        bench.time += CYCLE
        bench.executor.spin_once(timeout_sec=CYCLE)


def contradicts(bench):
    """Whether the node says so within some time, while both go on."""
    return "two senders of joint states contradict each other" in (
        bench.ask(Trigger, "stop", moving=False).message
    )


def send_until_fault(bench, intruder, **how):
    deadline = time.monotonic() + 30.0
    while not contradicts(bench):
        assert time.monotonic() < deadline, "no fault"
        send_both(bench, intruder, 20, **how)


def test_zeros_from_the_start_are_not_followed(bench, intruder):
    bench.measured = bench.plant.reset(bench.eight.positions[0])
    assert bench.change_state(Transition.TRANSITION_ACTIVATE)
    bench.torques.clear()
    bench.states.clear()
    send_until_fault(bench, intruder)
    send_both(bench, intruder, 100)
    assert not bench.torques and not bench.states
    assert not bench.ask(Trigger, "hold", moving=False).success
    level, text, values = bench.diagnosis(moving=False)
    assert level == DiagnosticStatus.ERROR
    assert "two senders of joint states contradict each other: joint j" in text
    names = "2 publishers of joint states (/bench, /joint_state_publisher)"
    assert names in text and values["publishers of joint states"] == names
    # Once the other is gone the driver is believed at once, and the arm held on request.
    intruder.destroy()
    deadline = time.monotonic() + 30.0
    while bench.node.count_publishers("joint_states") > 1 and time.monotonic() < deadline:
        bench.spin(0.05)
    bench.spin(0.2)
    bench.run(0.02)
    assert bench.state().mode == ControllerState.FAULT
    assert bench.ask(Trigger, "hold").message == "holding"
    state = bench.state()
    np.testing.assert_allclose(state.measured_position, bench.measured.position, atol=0.05)


@pytest.mark.parametrize("first", ["intruder", "driver"])
def test_second_publisher_that_starts_later_is_never_followed(arm, intruder, first):
    arm.run(0.2)
    arm.states.clear()
    send_until_fault(arm, intruder, first=first, position=OTHER_POSTURE)
    send_both(arm, intruder, 150, first=first, position=OTHER_POSTURE)
    assert list(arm.torques[-1].effort) == [0.0] * 4
    for state in arm.states:
        assert np.abs(np.array(state.measured_position) - OTHER_POSTURE).max() > 0.1
        np.testing.assert_allclose(state.measured_position, arm.measured.position, atol=0.1)


def test_publisher_of_other_joints_and_one_that_repeats_do_no_harm(arm, intruder):
    for _ in range(100):
        gripper = JointState(name=["finger"], position=array("d", [0.0]))
        gripper.header.stamp = stamp(arm.time)
        intruder.publish(gripper)
        message = arm.joint_state()
        arm.cycle()
        intruder.publish(message)
    assert arm.state().mode == ControllerState.HOLDING


def test_publishers_are_told_in_the_log(start_bench):
    reader, writer = os.pipe()
    os.set_blocking(reader, False)
    with start_bench(stderr=writer) as bench:
        os.close(writer)
        bench.measured = bench.plant.reset(bench.eight.positions[0])
        assert bench.change_state(Transition.TRANSITION_ACTIVATE)
        bench.run(0.1)
        bench.trajectories.publish(stopping(bench))
        wrong = trajectory(bench.joints, bench.eight)
        wrong.points = []
        bench.trajectories.publish(wrong)
        second = Node("second", context=bench.node.context)
        second.create_publisher(JointState, "joint_states", qos_profile_sensor_data)
        wanted = [
            "2 publishers of joint states (/bench, /second)",
            "the trajectory is empty: expected at least one point; to stop the arm call ~/stop",
            "the arm stops at each of the trajectory's 4 points",
        ]
        log, deadline = "", time.monotonic() + 60.0
        while not all(text in log for text in wanted):
            assert time.monotonic() < deadline, log
            bench.run(0.02)
            try:
                log += os.read(reader, 65536).decode()
            except BlockingIOError:
                time.sleep(0.02)
        second.destroy_node()
    os.close(reader)


def stopping(bench):
    message = trajectory(bench.joints, bench.eight, approach=1.0)
    message.points = message.points[:4]
    for point in message.points:
        point.velocities, point.accelerations = array("d", [0.0] * 4), array("d")
    return message


@pytest.mark.parametrize("scale", [0.0, -0.5])
def test_velocities_that_are_not_measured_are_replaced_within_a_second_of_motion(arm, scale):
    arm.change_velocity = lambda velocity: scale * np.array(velocity)
    # Too much damping is not what is looked at.
    assert arm.set_parameters(gains__kd=[0.5, 0.5, 0.2, 0.2]).successful
    arm.publish(trajectory(arm.joints, arm.eight, approach=0.6))
    # The eight sets off softly: no joint moves by 0.05 rad/s within its first 0.2 s.
    arm.run(1.8)
    arm.states.clear()
    arm.run(0.1)
    # The node takes the trajectory sooner or later.
    while np.abs(speed := arm.plant.velocity).max() < 0.1:
        arm.cycle()
    np.testing.assert_allclose(arm.states[-1].measured_velocity, speed, atol=0.1)
    _, text, _ = arm.diagnosis()
    assert "positions differentiated: the velocities of joint j" in text
