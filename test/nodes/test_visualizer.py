# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""The visualizer as a process, over DDS."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from array import array
from contextlib import ExitStack

import numpy as np
import pytest
import rclpy
from nav_msgs.msg import Path
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from sensor_msgs.msg import JointState
from visualization_msgs.msg import MarkerArray

from ilr_dynamics.cli.ros_domain import OwnDomain
from ilr_dynamics.robot.description import load_description
from ilr_dynamics.robot.rigid_body import RigidBodyModel
from ilr_dynamics_msgs.msg import ControllerState

OWN_DOMAIN = OwnDomain()
DOMAIN = OWN_DOMAIN.number
JOINTS = ["j1", "j2", "j3", "j4"]
MODEL = RigidBodyModel(load_description("wam4"))
POSTURE = np.array([0.3, 0.7, 0.1, 1.8])
COMMAND = [sys.executable, "-m", "ilr_dynamics.nodes.visualizer"]


class Bench:
    """An arm that stands still while its desired position moves."""

    def __init__(self, node: Node, executor: SingleThreadedExecutor) -> None:
        self.executor = executor
        self.seen: dict[str, list] = {"markers": [], "desired_path": [], "measured_path": []}
        for name, messages in self.seen.items():
            kind = MarkerArray if name == "markers" else Path
            node.create_subscription(kind, f"/visualizer/{name}", messages.append, 10)
        self.joint_states = node.create_publisher(JointState, "joint_states", 10)
        self.states = node.create_publisher(
            ControllerState, "inverse_dynamics/controller_state", 10
        )
        self.cycle = 0

    def show(self) -> None:
        """Publish the arm and spin for a moment."""
        names = JOINTS[::-1]
        self.joint_states.publish(JointState(name=names, position=array("d", POSTURE[::-1])))
        state = ControllerState(mode=ControllerState.TRACKING, joint_names=JOINTS)
        state.header.stamp.sec, state.header.stamp.nanosec = divmod(self.cycle * 20_000_000, 10**9)
        state.desired_position = array("d", self.desired)
        state.measured_position = array("d", POSTURE)
        self.states.publish(state)
        self.cycle += 1
        self.executor.spin_once(timeout_sec=0.02)

    @property
    def desired(self) -> np.ndarray:
        return POSTURE + [0.01 * self.cycle, 0.0, 0.0, 0.0]

    def show_until(self, condition) -> None:
        deadline = time.monotonic() + 15.0
        while not condition():
            assert time.monotonic() < deadline, "not seen within 15 s"
            self.show()


@pytest.fixture(scope="module")
def bench():
    environment = {
        **os.environ,
        "ROS_DOMAIN_ID": str(DOMAIN),
        "ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST",
    }
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
        with subprocess.Popen(COMMAND, env=environment) as process, ExitStack() as at_last:
            at_last.callback(process.kill)
            context = rclpy.Context()
            rclpy.init(context=context, domain_id=DOMAIN)
            node = Node("bench", context=context)
            executor = SingleThreadedExecutor(context=context)
            executor.add_node(node)
            yield Bench(node, executor)
            executor.shutdown()
            node.destroy_node()
            rclpy.shutdown(context=context)
            process.send_signal(signal.SIGINT)
            assert process.wait(timeout=10.0) == 0


def point(position):
    return np.array([position.x, position.y, position.z])


def test_tool_marker_stands_at_the_tool_point(bench):
    def newest_arm():
        newest = bench.seen["markers"][-1].markers if bench.seen["markers"] else []
        return [marker for marker in newest if marker.ns == "arm"]

    bench.show_until(newest_arm)
    tool = newest_arm()[-1]
    np.testing.assert_allclose(point(tool.pose.position), MODEL.tool_position(POSTURE), atol=1e-9)
    assert tool.header.frame_id == "base"


@pytest.mark.parametrize("name", ["desired", "measured"])
def test_path_follows_the_tool_point(bench, name):
    paths = bench.seen[f"{name}_path"]
    bench.show_until(lambda: paths and len(paths[-1].poses) >= 5)
    points = np.array([point(stamped.pose.position) for stamped in paths[-1].poses])
    expected = MODEL.tool_position(POSTURE)
    np.testing.assert_allclose(points[:, 2], expected[2], atol=1e-9)
    if name == "measured":
        np.testing.assert_allclose(points, np.tile(expected, (len(points), 1)), atol=1e-9)
    else:
        angles = np.unwrap(np.arctan2(points[:, 1], points[:, 0]))
        steps = np.diff(angles) / 0.02
        np.testing.assert_allclose(steps, np.rint(steps), atol=1e-9)
        assert (np.rint(steps) >= 1).all()


def test_trails_are_among_the_markers(bench):
    def names():
        newest = bench.seen["markers"][-1].markers if bench.seen["markers"] else []
        return {marker.ns for marker in newest if marker.points or marker.ns == "arm"}

    bench.show_until(lambda: names() == {"arm", "desired", "measured"})


def test_pictures_come_no_faster_than_asked(bench):
    bench.show_until(lambda: bench.seen["markers"])
    bench.seen["markers"].clear()
    deadline = time.monotonic() + 2.0
    while time.monotonic() < deadline:
        bench.show()
    assert 10 <= len(bench.seen["markers"]) <= 33
