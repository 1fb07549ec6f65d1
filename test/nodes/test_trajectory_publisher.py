# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""The trajectory publisher with the real controller and simulator, each a process, over DDS."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pytest
import rclpy
from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from std_srvs.srv import Trigger

from ilr_dynamics.cli.ros_domain import OwnDomain
from ilr_dynamics.nodes.shared.messages import trajectory_message
from ilr_dynamics.nodes.trajectory_publisher import with_lead_in
from ilr_dynamics.robot.joint_motion import JointMotion
from ilr_dynamics_msgs.msg import ControllerState

CONFIG = Path(__file__).parents[2] / "config" / "wam4.yaml"
OWN_DOMAIN = OwnDomain()
DOMAIN = OWN_DOMAIN.number
ENVIRONMENT = os.environ | OWN_DOMAIN.environment()
START = np.array([0.0, 0.7, 0.0, 1.8])
MOTION = JointMotion(
    times=np.array([0.0, 0.5]),
    positions=np.array([[0.1, 0.7], [0.2, 0.6]]),
    velocities=np.array([[0.3, 0.0], [0.1, 0.0]]),
    accelerations=np.array([[1.0, 0.0], [0.0, 2.0]]),
)


def command(module, *arguments):
    return [sys.executable, "-m", f"ilr_dynamics.nodes.{module}", "--ros-args", *arguments]


def parameters(**values):
    return [word for name, value in values.items() for word in ("-p", f"{name}:={value}")]


class Bench:
    """Controller and simulator, and what the controller says."""

    def __init__(self, node: Node, executor: SingleThreadedExecutor) -> None:
        self.node, self.executor = node, executor
        self.states: list[ControllerState] = []
        node.create_subscription(
            ControllerState, "/inverse_dynamics/controller_state", self.states.append, 100
        )

    def ask(self, kind, name, **fields):
        client = self.node.create_client(kind, name)
        assert client.wait_for_service(timeout_sec=60.0), f"no service {name}"
        future = client.call_async(kind.Request(**fields))
        self.executor.spin_until_future_complete(future, timeout_sec=60.0)
        self.node.destroy_client(client)
        return future.result()

    def publish(self, **values):
        """Start a publisher."""
        arguments = parameters(delay=0.1, lead_in=1.0, **values)
        return subprocess.Popen(
            command("trajectory_publisher", *arguments),
            env=ENVIRONMENT,
            stderr=subprocess.PIPE,
            text=True,
        )

    def finish(self, process) -> str:
        """Listen to the controller until the publisher has ended; return the latter's log."""
        deadline = time.monotonic() + 120.0
        while process.poll() is None:
            assert time.monotonic() < deadline, "the publisher did not end within 120 s"
            self.executor.spin_once(timeout_sec=0.05)
        return process.communicate()[1]

    def wait_for(self, mode: int) -> None:
        self.states.clear()
        deadline = time.monotonic() + 120.0
        while not (self.states and self.states[-1].mode == mode):
            assert time.monotonic() < deadline, f"mode {mode} not reached within 120 s"
            self.executor.spin_once(timeout_sec=0.05)


@pytest.fixture(scope="module")
def bench():
    nodes = [
        command("wam_simulator", *parameters(lock_step="true", real_time_factor="0.0")),
        command("inverse_dynamics_node", "--params-file", str(CONFIG)),
    ]
    with ExitStack() as stack:
        processes = [
            stack.enter_context(subprocess.Popen(line, env=ENVIRONMENT)) for line in nodes
        ]
        for process in processes:
            stack.callback(process.kill)
        context = rclpy.Context()
        rclpy.init(context=context, domain_id=DOMAIN)
        node = Node("bench", context=context)
        executor = SingleThreadedExecutor(context=context)
        executor.add_node(node)
        bench = Bench(node, executor)
        for transition in (Transition.TRANSITION_CONFIGURE, Transition.TRANSITION_ACTIVATE):
            request = {"transition": Transition(id=transition)}
            assert bench.ask(ChangeState, "/inverse_dynamics/change_state", **request).success
        yield bench
        executor.shutdown()
        node.destroy_node()
        rclpy.shutdown(context=context)
        for process in processes:
            process.send_signal(signal.SIGINT)


def waypoints(tmp_path, *rows):
    path = tmp_path / "waypoints.csv"
    lines = [",".join(str(value) for value in row) for row in rows]
    path.write_text("time,j1,j2,j3,j4\n" + "\n".join(lines))
    return path


def test_arm_is_led_to_the_waypoints_and_through_them_twice(bench, tmp_path):
    goal = START + [0.3, 0.1, 0.0, -0.2]
    path = waypoints(tmp_path, (0.0, *(START + 0.1)), (1.0, *goal))
    bench.states.clear()
    process = bench.publish(trajectory=path, repeat=2)
    log = bench.finish(process)
    assert process.returncode == 0, log
    assert log.count("followed to its end 2 times") == log.count("]: sent ") == 1
    np.testing.assert_allclose(bench.states[-1].desired_position, goal, atol=1e-6)
    np.testing.assert_allclose(bench.states[-1].measured_position, goal, atol=0.15)
    assert any(np.abs(state.desired_acceleration).max() > 0.1 for state in bench.states)


def test_trajectory_the_controller_refuses_ends_in_failure(bench, tmp_path):
    too_fast = waypoints(tmp_path, (0.0, *START), (0.05, *(START + 0.5)))
    process = bench.publish(trajectory=too_fast)
    log = bench.finish(process)
    assert process.returncode == 1
    assert "did not accept the trajectory" in log


def test_arm_that_was_stopped_does_not_set_off_again(bench):
    process = bench.publish(trajectory="T1", repeat=0)
    bench.wait_for(ControllerState.TRACKING)
    assert bench.ask(Trigger, "/inverse_dynamics/stop").success
    log = bench.finish(process)
    assert process.returncode == 0, log
    assert "stopped before its end" in log


def test_unknown_trajectory_ends_the_process_with_a_message():
    done = subprocess.run(
        command("trajectory_publisher", *parameters(trajectory="T9")),
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        timeout=120.0,
    )
    assert done.returncode == 1
    assert "unknown trajectory 'T9'" in done.stderr
    assert "Traceback" not in done.stderr


def test_lead_in_is_a_rest_before_the_motion():
    led = with_lead_in(MOTION, np.array([0.5, 0.5]), 2.0)
    np.testing.assert_array_equal(led.times, [0.0, 2.0, 2.5])
    np.testing.assert_array_equal(led.positions[0], [0.5, 0.5])
    np.testing.assert_array_equal(led.velocities[0], [0.0, 0.0])
    np.testing.assert_array_equal(led.accelerations[1:], MOTION.accelerations)


def test_message_holds_the_motion():
    message = trajectory_message(["a", "b"], MOTION)
    assert message.joint_names == ["a", "b"]
    last = message.points[-1]
    assert (last.time_from_start.sec, last.time_from_start.nanosec) == (0, 500_000_000)
    np.testing.assert_array_equal(last.positions, [0.2, 0.6])
    np.testing.assert_array_equal(last.velocities, [0.1, 0.0])
    np.testing.assert_array_equal(last.accelerations, [0.0, 2.0])
