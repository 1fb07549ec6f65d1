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
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import numpy as np
import pytest
import rclpy
from marker_rendering import render
from matplotlib.image import imread
from nav_msgs.msg import Path
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from sensor_msgs.msg import JointState
from visualization_msgs.msg import Marker, MarkerArray

from ilr_dynamics.cli.ros_domain import OwnDomain
from ilr_dynamics.regression import ILR, Prior
from ilr_dynamics.robot.description import load_description
from ilr_dynamics.robot.rigid_body import RigidBodyModel
from ilr_dynamics_msgs.msg import ControllerState

JOINTS = ["j1", "j2", "j3", "j4"]
MODEL = RigidBodyModel(load_description("wam4"))
POSTURE = np.array([0.3, 0.7, 0.1, 1.8])
FEEDFORWARD, PD = np.array([10.0, -40.0, 5.0, 60.0]), np.array([-3.0, 4.0, 0.5, 0.0])


class Bench:
    """An arm that stands still while its desired position moves."""

    def __init__(self, node: Node, executor: SingleThreadedExecutor) -> None:
        self.node, self.executor = node, executor
        self.seen: dict[str, list] = {"markers": [], "desired_path": [], "measured_path": []}
        self.look()
        self.joint_states = node.create_publisher(JointState, "joint_states", 10)
        self.states = node.create_publisher(
            ControllerState, "inverse_dynamics/controller_state", 10
        )
        self.cycle = 0
        self.model = ""

    def look(self) -> None:
        for name, messages in self.seen.items():
            kind = MarkerArray if name == "markers" else Path
            self.node.create_subscription(kind, f"/visualizer/{name}", messages.append, 10)

    def newest(self, namespace: str) -> list[Marker]:
        """Markers of a kind in the newest picture."""
        pictures = self.seen["markers"]
        newest = pictures[-1].markers if pictures else []
        return [marker for marker in newest if marker.ns == namespace]

    def show(self) -> None:
        """Publish the arm and spin for a moment."""
        names = JOINTS[::-1]
        self.joint_states.publish(JointState(name=names, position=array("d", POSTURE[::-1])))
        state = ControllerState(mode=ControllerState.TRACKING, joint_names=JOINTS)
        state.header.stamp.sec, state.header.stamp.nanosec = divmod(self.cycle * 20_000_000, 10**9)
        state.desired_position = array("d", self.desired)
        state.desired_velocity = state.desired_acceleration = array("d", np.zeros(4))
        state.measured_position = array("d", POSTURE)
        state.feedforward_torque = array("d", FEEDFORWARD)
        state.pd_torque = array("d", PD)
        state.controller, state.model, state.gate = "ilr", self.model, 0.75
        self.states.publish(state)
        self.cycle += 1
        self.executor.spin_once(timeout_sec=0.02)

    @property
    def desired(self) -> np.ndarray:
        return POSTURE + [0.01 * self.cycle, 0.0, 0.0, 0.0]

    def show_until(self, condition) -> None:
        deadline = time.monotonic() + 120.0
        while not condition():
            assert time.monotonic() < deadline, "not seen within 120 s"
            self.show()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("models")


@pytest.fixture(scope="module")
def bench(folder):
    with running(f'files.directories:=["{folder}"]') as bench:
        yield bench


@contextmanager
def running(parameter: str) -> Iterator[Bench]:
    """Start a visualizer, which has to end well."""
    command = [sys.executable, "-m", "ilr_dynamics.nodes.visualizer", "--ros-args"]
    command += ["-p", parameter]
    with OwnDomain() as domain:
        environment = {**os.environ, **domain.environment()}
        with subprocess.Popen(command, env=environment) as process, ExitStack() as at_last:
            at_last.callback(process.kill)
            context = rclpy.Context()
            rclpy.init(context=context, domain_id=domain.number)
            node = Node("bench", context=context)
            executor = SingleThreadedExecutor(context=context)
            executor.add_node(node)
            yield Bench(node, executor)
            executor.shutdown()
            node.destroy_node()
            rclpy.shutdown(context=context)
            process.send_signal(signal.SIGINT)
            assert process.wait(timeout=60.0) == 0


def point(position):
    return np.array([position.x, position.y, position.z])


def test_tool_marker_stands_at_the_tool_point(bench):
    bench.show_until(lambda: bench.newest("arm"))
    tool = bench.newest("arm")[-1]
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
        # Every second state at most is kept; on a busy machine some of them are lost on the way.
        steps = np.diff(angles) / 0.01
        np.testing.assert_allclose(steps, np.rint(steps), atol=1e-9)
        assert (np.rint(steps) >= 2).all()


def test_trails_are_among_the_markers(bench):
    bench.show_until(
        lambda: all(
            marker.points
            for name in ("desired", "measured")
            for marker in bench.newest(name) or [Marker()]
        )
    )


def test_torques_and_confidence_are_shown_as_the_controller_tells(bench):
    bench.model = "elsewhere"
    bench.show_until(
        lambda: bench.newest("confidence") and "75 %" in bench.newest("confidence")[1].text
    )
    limits = load_description("wam4").torque_limit
    for name, torque in (("torque feedforward", FEEDFORWARD), ("torque pd", PD)):
        heights = np.array([bar.scale.z for bar in bench.newest(name)])
        middles = np.array([bar.pose.position.z for bar in bench.newest(name)])
        full = bench.newest("torque limit")[0].scale.z / 2.0
        expected = full * np.clip(torque / limits, -1.0, 1.0)
        np.testing.assert_allclose(heights, np.maximum(np.abs(expected), 1e-4), atol=1e-9)
        np.testing.assert_allclose(middles, 0.5 * expected, atol=1e-9)
    assert [text.text for text in bench.newest("joint names")] == JOINTS


def test_local_models_near_the_state_are_shown(bench, folder):
    path = folder / "model.npz"
    known_model().save(path)
    bench.cycle, bench.model = 0, str(path)
    # The first one takes away what was shown before.
    bench.show_until(lambda: len(bench.newest("local models")) > 1)
    removal, *ellipsoids = bench.newest("local models")
    assert removal.action == Marker.DELETEALL
    tools = np.array([point(marker.pose.position) for marker in ellipsoids])
    distances = np.linalg.norm(tools - MODEL.tool_position(bench.desired), axis=1)
    assert distances.min() < 0.2
    assert all(0.0 < marker.scale.x < 1.0 for marker in ellipsoids)


def test_the_whole_picture(bench, folder, tmp_path):
    path = folder / "whole.npz"
    known_model().save(path)
    bench.model = str(path)
    bench.show_until(lambda: len(bench.newest("local models")) > 1)
    # Back to where the desired motion starts.
    bench.cycle = 0
    bench.show_until(lambda: bench.cycle > 30)
    picture = tmp_path / "markers.png"
    render(bench.seen["markers"][-1], picture)
    pixels = imread(picture)[..., :3]
    # The longest bar, over the dark background that shows through, and shaded; and an arm.
    bar = bench.newest("torque feedforward")[3].color
    is_bar = np.linalg.norm(pixels - [bar.r, bar.g, bar.b], axis=2) < 0.35
    assert is_bar.sum() > 50
    is_background = np.all(np.abs(pixels - pixels[0, 0]) < 0.02, axis=2)
    assert 0.02 < np.mean(~is_background) < 0.5


def known_model() -> ILR:
    """Return some local models along the motion that is shown."""
    generator = np.random.default_rng(0)
    X = np.zeros((400, 12))
    X[:, :4] = POSTURE + 0.3 * generator.normal(size=(400, 4))
    X[:, 4:] = 0.5 * generator.normal(size=(400, 8))
    Y = np.stack([MODEL.inverse_dynamics(x[:4], x[4:8], x[8:]) for x in X])
    return ILR(12, random_state=0, prior=Prior(input_spread=0.4)).fit(X, Y)


def test_pictures_come_no_faster_than_asked(bench):
    # First what has been waiting here.
    start = time.monotonic()
    bench.show_until(lambda: time.monotonic() > start + 1.0)
    bench.seen["markers"].clear()
    start = time.monotonic()
    bench.show_until(lambda: len(bench.seen["markers"]) >= 40)
    # At the rate by default, and ten that a queue may have held.
    assert len(bench.seen["markers"]) <= 15.0 * (time.monotonic() - start) + 11


def test_nothing_is_listened_to_while_nobody_looks(folder):
    with running(f'files.directories:=["{folder}"]') as bench:

        def listeners() -> int:
            topics = ("joint_states", "inverse_dynamics/controller_state")
            return sum(bench.node.count_subscribers(topic) for topic in topics)

        bench.show_until(lambda: bench.newest("torque pd") and bench.newest("arm"))
        assert listeners() == 2
        for subscription in list(bench.node.subscriptions):
            bench.node.destroy_subscription(subscription)
        bench.show_until(lambda: listeners() == 0)
        bench.look()
        bench.seen["markers"].clear()
        bench.show_until(lambda: bench.newest("torque pd") and bench.newest("arm"))


def test_the_arm_may_be_left_to_a_robot_model():
    with running("arm_markers:=false") as bench:
        bench.show_until(lambda: bench.newest("torque pd"))
        bench.seen["markers"].clear()
        bench.show_until(lambda: len(bench.seen["markers"]) >= 3)
        assert bench.newest("desired")
        assert not bench.newest("arm")
