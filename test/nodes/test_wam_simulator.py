# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""The simulator as a process, over DDS."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from array import array
from contextlib import contextmanager

import numpy as np
import pytest
import rclpy
from diagnostic_msgs.msg import DiagnosticArray
from rcl_interfaces.srv import SetParameters
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.parameter import Parameter
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger

from ilr_dynamics.nodes import qos
from ilr_dynamics.robot.description import load_description
from ilr_dynamics.robot.rigid_body import RigidBodyModel

DOMAIN = 10 + os.getpid() % 40
JOINTS = ["j1", "j2", "j3", "j4"]
START = np.array([0.0, 0.7, 0.0, 1.8])
HOLDING = RigidBodyModel(load_description("wam4")).gravity(START)
CYCLE = 0.002
COMMAND = [sys.executable, "-m", "ilr_dynamics.nodes.wam_simulator"]


def environment(domain):
    return {
        **os.environ,
        "ROS_DOMAIN_ID": str(domain),
        "ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST",
    }


class Bench:
    """A controller in the hands of the test."""

    def __init__(self, node: Node, executor: SingleThreadedExecutor) -> None:
        self.node, self.executor = node, executor
        self.states: list[JointState] = []
        self.diagnostics: list[DiagnosticArray] = []
        node.create_subscription(JointState, "joint_states", self.states.append, 1000)
        node.create_subscription(DiagnosticArray, "/diagnostics", self.diagnostics.append, 10)
        self.torques = node.create_publisher(JointState, "joint_torque_command", qos.COMMAND)

    def spin(self, seconds: float) -> list[JointState]:
        """Return the states that come within a time."""
        self.states.clear()
        deadline = time.monotonic() + seconds
        while (remaining := deadline - time.monotonic()) > 0:
            self.executor.spin_once(timeout_sec=remaining)
        return list(self.states)

    def next_state(self) -> JointState:
        """Return the newest state, which must not have been returned before."""
        self.states.clear()
        deadline = time.monotonic() + 10.0
        while not self.states:
            assert time.monotonic() < deadline, "no joint state within 10 s"
            self.executor.spin_once(timeout_sec=0.1)
        seen = 0
        while seen < len(self.states):
            seen = len(self.states)
            self.executor.spin_once(timeout_sec=0.0)
        return self.states[-1]

    def answer(self, state: JointState, torque, names=JOINTS) -> None:
        message = JointState(name=list(names), effort=array("d", torque))
        message.header.stamp = state.header.stamp
        self.torques.publish(message)

    def control(self, torque, cycles: int, delay=0.0, **options) -> list[JointState]:
        """Answer the next states with a torque and return them."""
        states = []
        for _ in range(cycles):
            states.append(self.next_state())
            time.sleep(delay)
            self.answer(states[-1], torque, **options)
        return states

    def ask(self, kind, name, **fields):
        client = self.node.create_client(kind, f"/wam_simulator/{name}")
        assert client.wait_for_service(timeout_sec=10.0), f"no service {name}"
        future = client.call_async(kind.Request(**fields))
        self.executor.spin_until_future_complete(future, timeout_sec=10.0)
        self.node.destroy_client(client)
        return future.result()

    def set_parameter(self, name, value):
        parameter = Parameter(name, value=value).to_parameter_msg()
        return self.ask(SetParameters, "set_parameters", parameters=[parameter]).results[0]


@contextmanager
def simulator(domain, *parameters):
    arguments = [argument for parameter in parameters for argument in ("-p", parameter)]
    command = [*COMMAND, "--ros-args", *arguments]
    with subprocess.Popen(command, env=environment(domain)) as process:
        context = rclpy.Context()
        rclpy.init(context=context, domain_id=domain)
        node = Node("bench", context=context)
        executor = SingleThreadedExecutor(context=context)
        executor.add_node(node)
        bench = Bench(node, executor)
        bench.next_state()
        yield bench
        executor.shutdown()
        node.destroy_node()
        rclpy.shutdown(context=context)
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=10.0) == 0


@pytest.fixture(scope="module", autouse=True)
def localhost():
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
        yield


@pytest.fixture(scope="module")
def lock_step_process():
    with simulator(DOMAIN, "lock_step:=true", "real_time_factor:=0.0") as bench:
        yield bench


@pytest.fixture
def lock_step(lock_step_process):
    """A simulator in lock-step, at its start and braked."""
    lock_step_process.spin(0.1)
    assert lock_step_process.ask(Trigger, "reset").success
    return lock_step_process


@pytest.fixture(scope="module")
def real_time():
    with simulator(DOMAIN + 40, "joints:=['a','b','c','d']") as bench:
        yield bench


def nanoseconds(state):
    return 10**9 * state.header.stamp.sec + state.header.stamp.nanosec


def test_braked_arm_sends_states_in_real_time(real_time):
    states = real_time.spin(1.0)
    assert 300 < len(states) < 510
    assert set(np.diff([nanoseconds(state) for state in states])) == {2_000_000}
    assert states[0].name == ["a", "b", "c", "d"]
    np.testing.assert_allclose(states[-1].position, START, atol=0.011)
    np.testing.assert_array_equal(states[-1].effort, np.zeros(4))


def test_real_time_factor_changes_the_pace_at_run_time(real_time):
    assert real_time.set_parameter("real_time_factor", 0.2).successful
    assert 60 < len(real_time.spin(1.0)) < 120
    assert real_time.set_parameter("real_time_factor", 1.0).successful


@pytest.mark.parametrize("factor", [0.0, -1.0, 1e6, float("nan")])
def test_impossible_real_time_factor_is_refused(real_time, factor):
    answer = real_time.set_parameter("real_time_factor", factor)
    assert not answer.successful
    assert "real_time_factor" in answer.reason


def test_torque_for_other_joints_does_not_release_the_brakes(real_time):
    real_time.answer(real_time.next_state(), HOLDING, names=JOINTS)
    for state in real_time.spin(0.1):
        np.testing.assert_array_equal(state.effort, np.zeros(4))


def test_each_torque_brings_the_next_state(lock_step):
    states = lock_step.control(HOLDING, 200)
    # The first answers may come while braked states still go out by the clock.
    stamps = [nanoseconds(state) for state in states[50:]]
    assert set(np.diff(stamps)) == {2_000_000}
    np.testing.assert_allclose(states[-1].effort, HOLDING)


def test_time_stands_still_until_the_torque_comes(lock_step):
    state = lock_step.control(HOLDING, 100)[-1]
    waiting = lock_step.next_state()
    assert nanoseconds(waiting) - nanoseconds(state) == 2_000_000
    assert lock_step.spin(0.2) == []
    lock_step.answer(waiting, HOLDING)
    assert nanoseconds(lock_step.next_state()) - nanoseconds(waiting) == 2_000_000


def test_controller_slower_than_real_time_is_waited_for_from_its_first_torque_on(lock_step):
    states = lock_step.control(HOLDING, 30, delay=0.008)
    stamps = [nanoseconds(state) for state in states[10:]]
    assert set(np.diff(stamps)) == {2_000_000}
    np.testing.assert_allclose([state.effort for state in states[10:]], np.tile(HOLDING, (20, 1)))


def test_torque_moves_the_arm(lock_step):
    lock_step.control(HOLDING + [20.0, 0.0, 0.0, 0.0], 200)
    assert lock_step.next_state().position[0] > 0.1


def test_joints_go_by_name(lock_step):
    lock_step.control(HOLDING[::-1], 100, names=JOINTS[::-1])
    np.testing.assert_allclose(lock_step.next_state().effort, HOLDING)


def test_silence_puts_the_brakes_on(lock_step):
    lock_step.control(HOLDING + [20.0, 0.0, 0.0, 0.0], 100)
    states = lock_step.spin(1.5)
    np.testing.assert_array_equal(states[-1].effort, np.zeros(4))
    np.testing.assert_allclose(states[-1].velocity, 0.0, atol=1e-3)
    np.testing.assert_allclose(states[-1].position, states[-100].position, atol=1e-4)


def test_bad_torque_is_refused_and_counted(lock_step):
    lock_step.control(HOLDING, 100)
    for bad in ([np.nan] * 4, [1000.0, 0.0, 0.0, 0.0], [0.0]):
        lock_step.answer(lock_step.next_state(), bad)
        state = lock_step.next_state()
        np.testing.assert_allclose(state.effort, HOLDING)
        lock_step.answer(state, HOLDING)
    lock_step.diagnostics.clear()
    lock_step.spin(1.5)
    counts = {value.key: int(value.value) for value in lock_step.diagnostics[-1].status[0].values}
    assert counts["not finite"] == counts["beyond limits"] == counts["wrong size"] == 1
    assert counts["braked"] >= 1


def test_reset_returns_the_arm_to_its_start_with_the_brakes_on(lock_step):
    lock_step.control(HOLDING + [20.0, 0.0, 0.0, 0.0], 200)
    before = lock_step.next_state()
    assert lock_step.ask(Trigger, "reset").success
    after = lock_step.spin(0.2)[-1]
    np.testing.assert_allclose(after.position, START, atol=0.011)
    np.testing.assert_array_equal(after.velocity, np.zeros(4))
    assert nanoseconds(after) > nanoseconds(before)


@pytest.mark.parametrize(
    ("parameter", "words"),
    [
        ("robot:=puma", "unknown robot 'puma'"),
        ("joints:=['a','b']", "expected 4 different names"),
        ("real_time_factor:=0.0", "expected a positive number unless lock_step"),
    ],
)
def test_bad_parameters_end_the_process_with_a_message(parameter, words):
    done = subprocess.run(
        [*COMMAND, "--ros-args", "-p", parameter],
        env=environment(DOMAIN),
        capture_output=True,
        text=True,
        timeout=30.0,
    )
    assert done.returncode == 1
    assert words in done.stderr
    assert "Traceback" not in done.stderr


def test_sigterm_ends_the_process_cleanly():
    with subprocess.Popen(COMMAND, env=environment(DOMAIN), stderr=subprocess.PIPE) as process:
        time.sleep(3.0)
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate(timeout=10.0)
    assert process.returncode == 0
    assert b"Traceback" not in errors
