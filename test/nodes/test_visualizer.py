# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""The visualizer as a process, over DDS."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from array import array
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path as FilePath

import numpy as np
import pytest
import rclpy
from _marker_view import draw, read_view
from nav_msgs.msg import Path
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from sensor_msgs.msg import JointState
from visualization_msgs.msg import Marker, MarkerArray

from ilr_dynamics.cli.ros_domain import OwnDomain
from ilr_dynamics.nodes.markers import palette
from ilr_dynamics.nodes.shared import qos
from ilr_dynamics.regression import ILR, Prior
from ilr_dynamics.robot.description import load_description
from ilr_dynamics.robot.rigid_body import RigidBodyModel
from ilr_dynamics_msgs.msg import ControllerState, PayloadEstimate

CONFIG = FilePath(__file__).parents[2] / "config"
JOINTS = ["j1", "j2", "j3", "j4"]
MODEL = RigidBodyModel(load_description("wam4"))
POSTURE = np.array([0.3, 0.7, 0.1, 1.8])
# Of the first joint's desired position, rad a state.
SPEED = 0.01
# Messages that may wait here.
QUEUE = 10
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
        self.speed = SPEED
        self.model = ""
        self.starts = 0

    def look(self) -> None:
        for name, messages in self.seen.items():
            kind = MarkerArray if name == "markers" else Path
            self.node.create_subscription(kind, f"/visualizer/{name}", messages.append, QUEUE)

    def newest(self, namespace: str) -> list[Marker]:
        """Markers of a kind as RViz would have them."""
        found: dict[int, Marker] = {}
        for picture in list(self.seen["markers"])[-60:]:
            for marker in picture.markers:
                if marker.ns == namespace and marker.action == Marker.ADD:
                    found[marker.id] = marker
        return [found[number] for number in sorted(found)]

    def start_anew(self) -> None:
        """Begin the motion again, until pictures show it; forget all that was seen before."""
        self.starts += 1
        self.cycle, self.speed, self.model = 0, SPEED, f"start {self.starts}"
        self.show_until(lambda: self.model in self.texts("status"))
        self.forget()

    def forget(self) -> None:
        """Forget what was seen."""
        for messages in self.seen.values():
            messages.clear()

    def texts(self, namespace: str) -> list[str]:
        """What is written in a namespace."""
        return [marker.text for marker in self.newest(namespace)]

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
        state.commanded_torque = array("d", FEEDFORWARD + PD)
        state.predicted_std = array("d", [0.1, 0.2, 0.3, 0.4])
        state.controller, state.model, state.gate = "ilr", self.model, 0.75
        state.loop_time = 0.00043
        self.states.publish(state)
        self.cycle += 1
        self.executor.spin_once(timeout_sec=0.02)

    @property
    def desired(self) -> np.ndarray:
        return POSTURE + [self.speed * self.cycle, 0.0, 0.0, 0.0]

    def show_until(self, condition) -> None:
        deadline = time.monotonic() + 120.0
        while not condition():
            assert time.monotonic() < deadline, "not seen within 120 s"
            self.show()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("models")


@pytest.fixture(scope="module")
def shared_bench(folder):
    with running(f'files.directories:=["{folder}"]') as bench:
        yield bench


@pytest.fixture(scope="module")
def bench_without_arm():
    """Pictures without the arm, by another visualizer."""
    with running("arm_markers:=false") as bench:
        yield bench


@pytest.fixture
def bench(shared_bench):
    """Motion that starts anew, and pictures of it alone."""
    shared_bench.start_anew()
    return shared_bench


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
    # More than the queue may have held of another motion.
    bench.show_until(lambda: len(paths) > QUEUE and len(paths[-1].poses) >= 5)
    points = np.array([point(stamped.pose.position) for stamped in paths[-1].poses])
    expected = MODEL.tool_position(POSTURE)
    np.testing.assert_allclose(points[:, 2], expected[2], atol=1e-9)
    if name == "measured":
        np.testing.assert_allclose(points, np.tile(expected, (len(points), 1)), atol=1e-9)
    else:
        angles = np.unwrap(np.arctan2(points[:, 1], points[:, 0]))
        # Every second state at most is kept; on a busy machine some of them are lost on the way.
        steps = np.diff(angles) / SPEED
        np.testing.assert_allclose(steps, np.rint(steps), atol=1e-9)
        assert (np.rint(steps) >= 2).all()


def test_trails_are_among_the_markers(bench):
    bench.show_until(
        lambda: all(
            marker.points
            for name in ("desired", "measured")
            for marker in bench.newest(f"{name} path") or [Marker()]
        )
    )


def test_state_and_torques_are_shown_as_the_controller_tells(bench):
    bench.model = "elsewhere"
    bench.show_until(lambda: "elsewhere" in bench.texts("status"))
    mode, controller, model, error, gate, loop = bench.texts("status")
    assert (mode, controller, model) == ("TRACKING", "learned + PD", "elsewhere")
    assert re.fullmatch(r"error \d+(\.\d)? mm", error)
    assert (gate, loop) == ("gate 75 %", "loop 0.43 ms")
    numbers = np.array(bench.texts("torque numbers"), dtype=float).reshape(4, 3)
    np.testing.assert_allclose(numbers.T, [FEEDFORWARD + PD, FEEDFORWARD, PD], atol=0.05)
    ends = [[point(end) for end in bar.points] for bar in bench.newest("torque bars")]
    lengths = np.linalg.norm(np.diff(ends, axis=1)[:, ::2], axis=2)
    # On the scale of a square root, and never longer than at the limit.
    share = np.abs([FEEDFORWARD + PD, FEEDFORWARD, PD]) / load_description("wam4").torque_limit
    expected = np.sqrt(np.minimum(share, 1.0))
    full = lengths[0, 3]
    assert expected[0, 3] == 1.0
    np.testing.assert_allclose(lengths, full * expected, atol=0.003)


def test_what_does_not_change_comes_about_once_a_second(bench):
    bench.show_until(lambda: set(JOINTS) <= set(bench.texts("torque scale")))
    assert any(text.startswith("orange") for text in bench.texts("legend"))
    bench.show_until(lambda: len(bench.seen["markers"]) >= 30)
    recent = bench.seen["markers"][-30:]
    with_names = [p for p in recent if any(m.ns == "torque scale" for m in p.markers)]
    assert len(with_names) < 0.5 * len(recent)


def test_local_models_near_the_state_are_shown(bench, folder):
    path = folder / "model.npz"
    known_model().save(path)
    bench.model, bench.speed = str(path), 0.0
    # What is on its way may still be of another test's model or place.
    bench.show_until(lambda: path.name in bench.texts("status"))
    bench.forget()
    bench.show_until(
        lambda: len(bench.seen["markers"]) >= 20 and bench.newest("local models (reach)")
    )
    ellipsoids = bench.newest("local models (reach)")
    # At most eight of them; the same names come again, so that no others remain.
    assert [marker.id for marker in ellipsoids] == list(range(len(ellipsoids)))
    assert 1 <= len(ellipsoids) <= 8
    tools = np.array([point(marker.pose.position) for marker in ellipsoids])
    distances = np.linalg.norm(tools - MODEL.tool_position(bench.desired), axis=1)
    assert distances.min() < 0.2
    assert all(0.0 < marker.scale.x < 1.0 for marker in ellipsoids)
    (number,) = bench.texts("local models (number)")
    assert re.fullmatch(r"\d+ local models", number)


def test_the_whole_picture(bench, folder):
    path = folder / "whole.npz"
    known_model().save(path)
    bench.model = str(path)
    bench.show_until(lambda: bench.newest("local models (reach)"))
    # Back to where the desired motion starts, in view; what comes at first is of another place.
    bench.cycle = 0
    bench.forget()

    def way() -> float:
        balls = bench.newest("desired point and gate")
        places = [point(ball.pose.position) for ball in balls] or [np.full(3, np.inf)]
        return np.linalg.norm(places[0] - MODEL.tool_position(POSTURE))

    bench.show_until(lambda: bench.newest("legend") and 0.1 < way() < 0.35)
    view = read_view(CONFIG / "wam_tracking.rviz", (640, 400))
    published = {m.ns for p in bench.seen["markers"] for m in p.markers}
    assert published == view.shown | view.hidden
    markers = [marker for namespace in published for marker in bench.newest(namespace)]
    pixels = np.asarray(draw(markers, view)) / 255.0
    left, right = pixels[:, :360], pixels[:, 360:]

    def count(part, colour) -> int:
        return int((np.linalg.norm(part - np.array(colour), axis=2) < 0.2).sum())

    # Bars and texts on the left, over the dark background that shows through, and the arm and its
    # ball, a bit shaded, on the right.
    assert count(left, palette.FEEDFORWARD) > 100
    assert count(left, palette.GOOD) > 100
    assert count(right, palette.between(0.75)) > 20
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
    bench.forget()
    start = time.monotonic()
    bench.show_until(lambda: len(bench.seen["markers"]) >= 40)
    # At the rate by default, and ten that a queue may have held.
    assert len(bench.seen["markers"]) <= 15.0 * (time.monotonic() - start) + 11


def test_nothing_is_listened_to_while_nobody_looks(bench):
    def listeners() -> int:
        topics = ("joint_states", "inverse_dynamics/controller_state")
        return sum(bench.node.count_subscribers(topic) for topic in topics)

    bench.show_until(lambda: bench.newest("torque bars") and bench.newest("arm"))
    assert listeners() == 2
    for subscription in list(bench.node.subscriptions):
        bench.node.destroy_subscription(subscription)
    bench.show_until(lambda: listeners() == 0)
    # Said once, while nobody looked.
    topic = "inverse_dynamics/payload"
    payloads = bench.node.create_publisher(PayloadEstimate, topic, qos.LATCHED)
    payloads.publish(PayloadEstimate(used_mass=0.5))
    bench.look()
    bench.forget()
    bench.show_until(lambda: bench.newest("torque bars") and bench.newest("arm"))
    bench.show_until(lambda: "0.50 kg" in bench.texts("payload"))
    payloads.publish(PayloadEstimate())
    bench.show_until(lambda: all(m.ns != "payload" for m in bench.seen["markers"][-1].markers))
    bench.node.destroy_publisher(payloads)


def test_the_arm_may_be_left_to_a_robot_model(bench_without_arm):
    bench = bench_without_arm
    bench.show_until(lambda: bench.newest("torque bars"))
    bench.forget()
    bench.show_until(lambda: len(bench.seen["markers"]) >= 3 and bench.newest("desired path"))
    assert not bench.newest("arm")


def test_silence_of_the_controller_is_told(bench_without_arm):
    bench = bench_without_arm
    bench.show_until(lambda: "TRACKING" in bench.texts("status"))
    bench.forget()
    deadline = time.monotonic() + 60.0
    # Nothing is published meanwhile.
    while bench.texts("status")[:1] != ["NO REPORTS"]:
        assert time.monotonic() < deadline
        bench.executor.spin_once(timeout_sec=0.1)
    # RViz forgets the rest. On a busy machine reports may come late, and are shown once more.
    while True:
        bench.forget()
        while len(bench.seen["markers"]) < 20:
            assert time.monotonic() < deadline
            bench.executor.spin_once(timeout_sec=0.1)
        if not bench.newest("torque bars") and not bench.newest("desired point and gate"):
            break
