# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""
Node and simulator as processes in lock-step; the test only watches and asks.

With the parameters of each driver: joints, topics, messages, gravity handling, gains and limits.
"""

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
from rclpy.qos import QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from trajectory_msgs.msg import JointTrajectory

from ilr_dynamics.cli.ros_domain import OwnDomain
from ilr_dynamics.nodes.parameter_file import read_parameter_file
from ilr_dynamics.nodes.shared.messages import trajectory_message
from ilr_dynamics.robot.description import load_description
from ilr_dynamics.robot.joint_motion import JointMotion
from ilr_dynamics.robot.rigid_body import RigidBodyModel
from ilr_dynamics.robot.tool_paths import figure_eight, joint_path
from ilr_dynamics_msgs.msg import ControllerState

CONFIG = Path(__file__).parents[3] / "config"
DRIVERS = {
    "none": ("wam4", [CONFIG / "wam4.yaml"]),
    "ros2_control": ("wam7", [CONFIG / "wam7.yaml", CONFIG / "drivers" / "ros2_control.yaml"]),
    "barrett_ros1": ("wam7", [CONFIG / "wam7.yaml", CONFIG / "drivers" / "barrett_ros1.yaml"]),
}
OWN_DOMAIN = OwnDomain()
DOMAIN = OWN_DOMAIN.number
NODE = "/inverse_dynamics"
SIMULATOR = "/wam_simulator"


class Driver:
    """What the parameter files of a driver say."""

    def __init__(self, name: str) -> None:
        self.robot, self.files = DRIVERS[name]
        self.of_node, self.of_simulator, self.of_recorder, self.of_controller = (
            read_parameter_file(self.files[-1], node)
            for node in (NODE, SIMULATOR, "/recorder", "/forward_effort_controller")
        )
        self.joints = self.of_node["joints"]
        self.stamped = self.of_node["command.interface"] == "joint_state"


class Observer:
    def __init__(self, node: Node, executor: SingleThreadedExecutor, driver: Driver) -> None:
        self.node, self.executor, self.driver = node, executor, driver
        self.states: list[ControllerState] = []
        self.torques: list[JointState | Float64MultiArray] = []
        self.diagnostics: dict[str, str] = {}
        node.create_subscription(
            ControllerState, f"{NODE}/controller_state", self.states.append, 1000
        )
        node.create_subscription(
            JointState if driver.stamped else Float64MultiArray,
            driver.of_node["command.topic"],
            self.torques.append,
            # As many as there are: a machine at work must not lose those that are compared.
            QoSProfile(depth=5000, reliability=ReliabilityPolicy.BEST_EFFORT),
        )
        node.create_subscription(DiagnosticArray, "/diagnostics", self.note_diagnostics, 10)
        self.trajectories = node.create_publisher(JointTrajectory, f"{NODE}/joint_trajectory", 1)

    def note_diagnostics(self, message: DiagnosticArray) -> None:
        status = message.status[0]
        self.diagnostics[status.name] = status.message

    def spin(self, until, timeout=120.0) -> None:
        deadline = time.monotonic() + timeout
        while not until():
            assert time.monotonic() < deadline, "waited in vain"
            self.executor.spin_once(timeout_sec=0.1)

    def change_state(self, transition: int) -> None:
        client = self.node.create_client(ChangeState, f"{NODE}/change_state")
        assert client.wait_for_service(timeout_sec=60.0)
        future = client.call_async(ChangeState.Request(transition=Transition(id=transition)))
        self.spin(future.done)
        assert future.result().success

    def mode(self) -> int | None:
        return self.states[-1].mode if self.states else None

    def newest_torque(self) -> list[float]:
        newest = self.torques[-1]
        return list(newest.effort if self.driver.stamped else newest.data)


def exit_status(process: subprocess.Popen) -> int:
    """Exit status of a process, which says where it is if it does not end."""
    try:
        return process.wait(timeout=60.0)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGABRT)
        raise


@pytest.fixture(scope="module", params=DRIVERS)
def driver(request):
    return Driver(request.param)


@pytest.fixture(scope="module")
def processes(driver):
    environment = os.environ | OWN_DOMAIN.environment() | {"PYTHONFAULTHANDLER": "1"}
    files = [word for file in driver.files for word in ("--params-file", str(file))]
    options = {
        "inverse_dynamics_node": files,
        "wam_simulator": [*files, "-p", "lock_step:=true", "-p", "real_time_factor:=0.0"],
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
def observer(processes, driver):
    context = rclpy.Context()
    rclpy.init(context=context, domain_id=DOMAIN)
    node = Node("observer", context=context)
    executor = SingleThreadedExecutor(context=context)
    executor.add_node(node)
    observer = Observer(node, executor, driver)
    observer.change_state(Transition.TRANSITION_CONFIGURE)
    yield observer
    executor.shutdown()
    node.destroy_node()
    rclpy.shutdown(context=context)


def test_files_of_the_driver_agree(driver):
    shared = ("state.topic", "command.topic", "command.interface", "joints")
    for name in (*shared, "driver_compensates_gravity"):
        assert driver.of_node[name] == driver.of_simulator[name]
    assert not driver.of_node.get("learning.state_topic")  # So it is state.topic.
    learned_from = [driver.of_node["state.topic"]]
    if driver.of_node.get("learning.torque", "commanded") == "commanded":
        learned_from.append(driver.of_node["learning.command_topic"])
    assert driver.of_recorder["topics"] == learned_from
    gravity = str(driver.of_node["driver_compensates_gravity"]).lower()
    assert driver.of_recorder["driver_compensates_gravity"] == gravity
    if not driver.stamped:
        assert driver.of_controller["joints"] == driver.joints
        assert driver.of_controller["interface_name"] == "effort"
        assert driver.of_node["command.topic"] == "/forward_effort_controller/commands"


def test_arm_tracks_an_eight_brakes_without_torques_and_its_processes_end_on_a_signal(
    observer, driver, processes
):
    observer.change_state(Transition.TRANSITION_ACTIVATE)
    observer.spin(lambda: observer.mode() == ControllerState.HOLDING)
    model = RigidBodyModel(load_description(driver.robot))
    motion = JointMotion(*(a[:60] for a in joint_path(figure_eight(3.4), model, rate=25.0)))
    message = trajectory_message(driver.joints, motion)
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
    if driver.stamped:
        stamps = np.array(
            [t.header.stamp.sec + 1e-9 * t.header.stamp.nanosec for t in observer.torques]
        )
        assert np.median(np.diff(stamps)) == pytest.approx(0.002, abs=1e-6)
        assert list(observer.torques[-1].name) == driver.joints
    else:
        # Bare values: as many as joints, in their order.
        assert {len(torque.data) for torque in observer.torques} == {len(driver.joints)}
        assert list(observer.states[-1].joint_names) == driver.joints
        sent = {tuple(torque.data) for torque in observer.torques}
        said = {tuple(state.commanded_torque) for state in observer.states}
        assert len(said & sent) > 0.5 * len(said)
    assert np.ptp(observer.newest_torque()) > 0.0

    observer.change_state(Transition.TRANSITION_DEACTIVATE)
    observer.spin(lambda: not any(observer.newest_torque()))
    observer.spin(lambda: observer.diagnostics.get("wam_simulator: driver") == "brakes on")
    observer.spin(
        lambda: observer.diagnostics.get("inverse_dynamics: control loop") == "not active"
    )

    # Last, as nothing is left: while torques go out the processes end on a signal.
    observer.change_state(Transition.TRANSITION_ACTIVATE)
    for process in processes.values():
        process.send_signal(signal.SIGINT)
    assert [exit_status(process) for process in processes.values()] == [0, 0]
