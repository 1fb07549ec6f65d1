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
from contextlib import ExitStack, contextmanager

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

from ilr_dynamics.cli.ros_domain import OwnDomain
from ilr_dynamics.nodes.shared import qos
from ilr_dynamics.robot.description import load_description
from ilr_dynamics.robot.rigid_body import RigidBodyModel

DOMAIN = OwnDomain()
SECOND_DOMAIN = OwnDomain()
JOINTS = ["j1", "j2", "j3", "j4"]
START = np.array([0.0, 0.7, 0.0, 1.8])
HOLDING = RigidBodyModel(load_description("wam4")).gravity(START)
CYCLE = 0.002
COMMAND = [sys.executable, "-m", "ilr_dynamics.nodes.wam_simulator"]


class Bench:
    """A controller in the hands of the test."""

    def __init__(self, node: Node, executor: SingleThreadedExecutor) -> None:
        self.node, self.executor = node, executor
        self.states: list[JointState] = []
        self.diagnostics: list[DiagnosticArray] = []
        self.newest = 0
        self.started = time.monotonic()
        node.create_subscription(JointState, "joint_states", self.states.append, qos.JOINT_STATES)
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
        """Return the next state that is newer than the one returned before."""
        self.states.clear()
        self.spin_until(lambda: self.states and nanoseconds(self.states[-1]) > self.newest)
        self.newest = nanoseconds(self.states[-1])
        return self.states[-1]

    def pace(self) -> float:
        """Return how much simulated time passes in a second."""
        self.spin(0.1)
        start, first = time.monotonic(), self.next_state()
        self.spin(1.0)
        end, last = time.monotonic(), self.next_state()
        return 1e-9 * (nanoseconds(last) - nanoseconds(first)) / (end - start)

    def pace_within(self, lower: float, upper: float) -> bool:
        """Whether it is so in any of some seconds, as in others the machine may be busy."""
        return any(lower < self.pace() < upper for _ in range(30))

    def spin_until(self, condition) -> None:
        deadline = time.monotonic() + 120.0
        while not condition():
            assert time.monotonic() < deadline, "not seen within 120 s"
            self.executor.spin_once(timeout_sec=0.1)

    def answer(self, state: JointState, torque, names=JOINTS) -> None:
        message = JointState(name=list(names), effort=array("d", torque))
        message.header.stamp = state.header.stamp
        self.torques.publish(message)

    def control(self, torque, cycles: int, names=JOINTS, delay=0.0) -> list[JointState]:
        """Release the brakes, then answer states; return these and the last, unanswered one."""
        by_name = dict(zip(names, torque, strict=True))
        acting = array("d", [by_name[joint] for joint in JOINTS])
        deadline = time.monotonic() + 120.0
        states = [self.next_state()]
        while states[0].effort != acting:
            assert time.monotonic() < deadline, "no torque acts after 120 s"
            time.sleep(delay)
            self.answer(states[0], torque, names)
            states = [self.next_state()]
        for _ in range(cycles):
            time.sleep(delay)
            self.answer(states[-1], torque, names)
            states.append(self.next_state())
        return states

    def ask(self, kind, name, **fields):
        client = self.node.create_client(kind, f"/wam_simulator/{name}")
        assert client.wait_for_service(timeout_sec=60.0), f"no service {name}"
        future = client.call_async(kind.Request(**fields))
        self.executor.spin_until_future_complete(future, timeout_sec=60.0)
        self.node.destroy_client(client)
        return future.result()

    def set_parameter(self, name, value):
        parameter = Parameter(name, value=value).to_parameter_msg()
        return self.ask(SetParameters, "set_parameters", parameters=[parameter]).results[0]


@contextmanager
def simulator(domain, *parameters, end):
    """Run a simulator and see it end cleanly with a signal."""
    arguments = [argument for parameter in parameters for argument in ("-p", parameter)]
    command = [*COMMAND, "--ros-args", *arguments]
    environment = os.environ | domain.environment()
    with subprocess.Popen(command, env=environment) as process, ExitStack() as at_last:
        at_last.callback(process.kill)
        context = rclpy.Context()
        rclpy.init(context=context, domain_id=domain.number)
        node = Node("bench", context=context)
        executor = SingleThreadedExecutor(context=context)
        executor.add_node(node)
        bench = Bench(node, executor)
        bench.next_state()
        yield bench
        executor.shutdown()
        node.destroy_node()
        rclpy.shutdown(context=context)
        process.send_signal(end)
        assert process.wait(timeout=60.0) == 0


@pytest.fixture(scope="module")
def lock_step_process():
    options = ["lock_step:=true", "real_time_factor:=0.0"]
    with simulator(DOMAIN, *options, end=signal.SIGINT) as bench:
        yield bench


@pytest.fixture
def lock_step(lock_step_process):
    """A simulator in lock-step, at its start and braked."""
    lock_step_process.spin(0.1)
    assert lock_step_process.ask(Trigger, "reset").success
    return lock_step_process


@pytest.fixture(scope="module")
def real_time():
    with simulator(SECOND_DOMAIN, "joints:=['a','b','c','d']", end=signal.SIGTERM) as bench:
        yield bench


def nanoseconds(state):
    return 10**9 * state.header.stamp.sec + state.header.stamp.nanosec


def test_braked_arm_sends_states_in_real_time(real_time):
    assert real_time.pace_within(0.5, 1.2)
    states = real_time.spin(0.2)
    assert not any(np.diff([nanoseconds(state) for state in states]) % 2_000_000)
    assert states[0].name == ["a", "b", "c", "d"]
    np.testing.assert_allclose(states[-1].position, START, atol=0.011)
    np.testing.assert_array_equal(states[-1].effort, np.zeros(4))


def test_real_time_factor_changes_the_pace_at_run_time(real_time):
    assert real_time.set_parameter("real_time_factor", 0.2).successful
    assert real_time.pace_within(0.1, 0.3)
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
    states = lock_step.control(HOLDING, 100)
    assert set(np.diff([nanoseconds(state) for state in states])) == {2_000_000}
    np.testing.assert_array_equal([state.effort for state in states], np.tile(HOLDING, (101, 1)))


def test_time_stands_still_until_the_torque_comes(lock_step):
    waiting = lock_step.control(HOLDING, 5)[-1]
    repeated = lock_step.spin(0.5)
    assert repeated, "a state without an answer may have been lost: it has to be repeated"
    assert all(state == waiting for state in repeated)
    lock_step.answer(waiting, HOLDING)
    assert nanoseconds(lock_step.next_state()) - nanoseconds(waiting) == 2_000_000


def test_controller_slower_than_real_time_is_waited_for_from_its_first_torque_on(lock_step):
    states = lock_step.control(HOLDING, 20, delay=0.03)
    assert set(np.diff([nanoseconds(state) for state in states])) == {2_000_000}
    np.testing.assert_array_equal([state.effort for state in states], np.tile(HOLDING, (21, 1)))


def test_torque_moves_the_arm(lock_step):
    states = lock_step.control(HOLDING + [20.0, 0.0, 0.0, 0.0], 200)
    assert states[-1].position[0] > 0.1


def test_joints_go_by_name(lock_step):
    states = lock_step.control(HOLDING[::-1], 1, names=JOINTS[::-1])
    np.testing.assert_array_equal(states[-1].effort, HOLDING)


def test_silence_puts_the_brakes_on(lock_step):
    lock_step.control(HOLDING + [20.0, 0.0, 0.0, 0.0], 100)
    lock_step.spin_until(lambda: not any(lock_step.states[-1].effort))
    states = lock_step.spin(0.5)
    np.testing.assert_allclose(states[-1].velocity, 0.0, atol=1e-3)
    np.testing.assert_allclose(states[-1].position, states[0].position, atol=1e-3)


def test_bad_torque_is_refused_and_counted(lock_step):
    state = lock_step.control(HOLDING, 1)[-1]
    for bad in ([np.nan] * 4, [1000.0, 0.0, 0.0, 0.0], [0.0]):
        lock_step.answer(state, bad)
        state = lock_step.next_state()
        np.testing.assert_array_equal(state.effort, HOLDING)
        lock_step.answer(state, HOLDING)
        state = lock_step.next_state()
    lock_step.diagnostics.clear()
    lock_step.spin_until(lambda: lock_step.diagnostics)
    counts = {value.key: int(value.value) for value in lock_step.diagnostics[-1].status[0].values}
    assert counts["not finite"] == counts["beyond limits"] == counts["wrong size"] == 1


def test_reset_returns_the_arm_to_its_start_with_the_brakes_on(lock_step):
    before = lock_step.control(HOLDING + [20.0, 0.0, 0.0, 0.0], 200)[-1]
    assert lock_step.ask(Trigger, "reset").success
    after = lock_step.next_state()
    np.testing.assert_allclose(after.position, START, atol=0.011)
    np.testing.assert_array_equal(after.velocity, np.zeros(4))
    np.testing.assert_array_equal(after.effort, np.zeros(4))
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
        env=os.environ | DOMAIN.environment(),
        capture_output=True,
        text=True,
        timeout=120.0,
    )
    assert done.returncode == 1
    assert words in done.stderr
    assert "Traceback" not in done.stderr


def test_a_second_arm_on_the_topics_is_refused(lock_step):
    # Younger than that the first may give way itself, in whichever order tests run.
    time.sleep(max(0.0, lock_step.started + 8.0 - time.monotonic()))
    # However seldom it publishes diagnostics.
    done = subprocess.run(
        [*COMMAND, "--ros-args", "-r", "__node:=second", "-p", "diagnostics.period:=10.0"],
        env=os.environ | DOMAIN.environment(),
        capture_output=True,
        text=True,
        timeout=120.0,
    )
    assert done.returncode == 1
    text = "/wam_simulator is another arm on /joint_states and /joint_torque_command: expected one"
    assert text in done.stderr
    assert lock_step.next_state().name == JOINTS
