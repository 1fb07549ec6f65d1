# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Node and simulator as processes in lock-step; the test only watches and asks."""

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
from diagnostic_msgs.msg import DiagnosticArray
from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.qos import qos_profile_sensor_data
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory

from ilr_dynamics.cli.ros_domain import OwnDomain
from ilr_dynamics.nodes.trajectory_publisher import trajectory_message
from ilr_dynamics.robot.description import load_description
from ilr_dynamics.robot.joint_motion import JointMotion
from ilr_dynamics.robot.rigid_body import RigidBodyModel
from ilr_dynamics.robot.tool_paths import figure_eight, joint_path
from ilr_dynamics_msgs.msg import ControllerState

CONFIG = Path(__file__).parents[2] / "config" / "wam4.yaml"
OWN_DOMAIN = OwnDomain()
DOMAIN = OWN_DOMAIN.number
NODE = "/inverse_dynamics"
SIMULATOR = "/wam_simulator"


class Observer:
    def __init__(self, node: Node, executor: SingleThreadedExecutor) -> None:
        self.node, self.executor = node, executor
        self.states: list[ControllerState] = []
        self.torques: list[JointState] = []
        self.diagnostics: dict[str, str] = {}
        node.create_subscription(
            ControllerState, f"{NODE}/controller_state", self.states.append, 1000
        )
        node.create_subscription(
            JointState, "joint_torque_command", self.torques.append, qos_profile_sensor_data
        )
        node.create_subscription(DiagnosticArray, "/diagnostics", self.note_diagnostics, 10)
        self.trajectories = node.create_publisher(JointTrajectory, f"{NODE}/joint_trajectory", 1)

    def note_diagnostics(self, message: DiagnosticArray) -> None:
        (status,) = message.status
        self.diagnostics[status.name] = status.message

    def spin(self, until, timeout=30.0) -> None:
        deadline = time.monotonic() + timeout
        while not until():
            assert time.monotonic() < deadline, "waited in vain"
            self.executor.spin_once(timeout_sec=0.1)

    def change_state(self, transition: int) -> None:
        client = self.node.create_client(ChangeState, f"{NODE}/change_state")
        assert client.wait_for_service(timeout_sec=20.0)
        future = client.call_async(ChangeState.Request(transition=Transition(id=transition)))
        self.spin(future.done)
        assert future.result().success

    def mode(self) -> int | None:
        return self.states[-1].mode if self.states else None


@pytest.fixture(scope="module")
def processes():
    environment = {
        **os.environ,
        "ROS_DOMAIN_ID": str(DOMAIN),
        "ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST",
    }
    options = {
        "inverse_dynamics_node": ["--params-file", str(CONFIG)],
        "wam_simulator": ["-p", "lock_step:=true", "-p", "real_time_factor:=0.0"],
    }
    with ExitStack() as stack:
        started = {}
        for name, arguments in options.items():
            command = [sys.executable, "-m", f"ilr_dynamics.nodes.{name}", "--ros-args"]
            started[name] = stack.enter_context(
                subprocess.Popen(command + arguments, env=environment)
            )
            stack.callback(started[name].kill)
        yield started


@pytest.fixture(scope="module")
def observer(processes):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
        context = rclpy.Context()
        rclpy.init(context=context, domain_id=DOMAIN)
        node = Node("observer", context=context)
        executor = SingleThreadedExecutor(context=context)
        executor.add_node(node)
        observer = Observer(node, executor)
        observer.change_state(Transition.TRANSITION_CONFIGURE)
        yield observer
        executor.shutdown()
        node.destroy_node()
        rclpy.shutdown(context=context)


def test_arm_tracks_an_eight_and_brakes_when_the_node_is_deactivated(observer):
    observer.change_state(Transition.TRANSITION_ACTIVATE)
    observer.spin(lambda: observer.mode() == ControllerState.HOLDING)
    model = RigidBodyModel(load_description("wam4"))
    motion = JointMotion(*(a[:60] for a in joint_path(figure_eight(3.4), model, rate=25.0)))
    message = trajectory_message(("j1", "j2", "j3", "j4"), motion)
    for point in message.points:
        point.time_from_start.sec += 1
    observer.trajectories.publish(message)
    observer.spin(lambda: observer.mode() == ControllerState.TRACKING)
    observer.torques.clear()
    observer.states.clear()
    observer.spin(lambda: observer.mode() == ControllerState.HOLDING)

    errors = np.array([s.position_error for s in observer.states[50:]])
    desired = np.array([s.desired_position for s in observer.states[50:]])
    assert np.ptp(desired, axis=0).max() > 0.2
    assert np.mean(errors**2) < 5e-3
    stamps = np.array(
        [t.header.stamp.sec + 1e-9 * t.header.stamp.nanosec for t in observer.torques]
    )
    assert np.median(np.diff(stamps)) == pytest.approx(0.002, abs=1e-6)

    observer.change_state(Transition.TRANSITION_DEACTIVATE)
    observer.spin(lambda: observer.diagnostics.get(SIMULATOR) == "brakes on")
    observer.spin(lambda: observer.diagnostics.get(NODE) == "not active")


def test_processes_end_on_a_signal(observer, processes):
    """Last, as nothing is left for another test."""
    observer.change_state(Transition.TRANSITION_ACTIVATE)
    for process in processes.values():
        process.send_signal(signal.SIGINT)
    assert [process.wait(timeout=10.0) for process in processes.values()] == [0, 0]
