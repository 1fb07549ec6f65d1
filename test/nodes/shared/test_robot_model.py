# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""The arm as robot_state_publisher gets it, and what that makes of it where it is installed."""

from __future__ import annotations

import os
import subprocess
import time
import xml.etree.ElementTree as ElementTree
from array import array
from pathlib import Path

import numpy as np
import pytest
import rclpy
import yaml
from ament_index_python.packages import PackageNotFoundError, get_package_prefix
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile
from scipy.spatial.transform import Rotation
from sensor_msgs.msg import JointState

from ilr_dynamics.cli.ros_domain import OwnDomain
from ilr_dynamics.exceptions import RobotDescriptionError
from ilr_dynamics.nodes.shared.robot_model import RobotModel, read_robot_model
from ilr_dynamics.robot.description import load_description
from ilr_dynamics.robot.rigid_body import RigidBodyModel

CONFIG = Path(__file__).parents[3] / "config"
DRIVERS = sorted((CONFIG / "drivers").glob("*.yaml"))
POSITION = np.array([0.3, 0.7, 0.1, 1.8, -0.4, 0.5, 0.6])


def moving_joints(model: RobotModel) -> list[str]:
    root = ElementTree.fromstring(model.urdf)
    return [joint.get("name") for joint in root.findall("joint[@type='revolute']")]


@pytest.mark.parametrize("robot", ["wam4", "wam7"])
def test_the_arm_is_that_of_the_parameter_file(robot):
    model = read_robot_model([CONFIG / f"{robot}.yaml"])
    assert moving_joints(model) == list(load_description(robot).joint_names)
    assert model.state_topic == "joint_states"


@pytest.mark.parametrize("driver", DRIVERS, ids=lambda path: path.stem)
def test_joints_and_topic_are_the_drivers(driver):
    model = read_robot_model([CONFIG / "wam7.yaml", driver])
    parameters = yaml.safe_load(driver.read_text())["/**/visualizer"]["ros__parameters"]
    assert moving_joints(model) == parameters["joints"]
    assert model.state_topic == parameters["state"]["topic"]


def test_joints_and_links_have_the_prefix():
    plain = read_robot_model([CONFIG / "wam7.yaml"])
    model = read_robot_model([CONFIG / "wam7.yaml"], "/left", "left_")
    assert moving_joints(model) == ["left_" + joint for joint in moving_joints(plain)]
    assert links(model) == ["left_" + link for link in links(plain)]
    joined = ElementTree.fromstring(model.urdf).findall("joint/parent")
    assert {parent.get("link") for parent in joined} < set(links(model))


def links(model: RobotModel) -> list[str]:
    return [link.get("name") for link in ElementTree.fromstring(model.urdf).findall("link")]


def changed(tmp_path, **parameters) -> Path:
    path = tmp_path / "changed.yaml"
    path.write_text(yaml.safe_dump({"/**/visualizer": {"ros__parameters": parameters}}))
    return path


def test_an_arm_whose_root_is_not_the_frame_is_left_to_markers(tmp_path):
    assert read_robot_model([CONFIG / "wam4.yaml", changed(tmp_path, frame="world")]) is None


def test_joints_of_another_arm_are_refused(tmp_path):
    with pytest.raises(RobotDescriptionError, match=r"1 joint names .*, expected 4"):
        read_robot_model([CONFIG / "wam4.yaml", changed(tmp_path, joints=["j1"])])


def test_a_tool_frame_that_the_arm_has_not_is_refused(tmp_path):
    with pytest.raises(RobotDescriptionError, match="'hand' for the parameter tool_frame"):
        read_robot_model([CONFIG / "wam4.yaml", changed(tmp_path, tool_frame="hand")])


def executable() -> str | None:
    """Return that of robot_state_publisher, which wheels do not bring."""
    name = "robot_state_publisher"
    try:
        return str(Path(get_package_prefix(name), "lib", name, name))
    except PackageNotFoundError:
        return None


@pytest.mark.skipif(executable() is None, reason="robot_state_publisher is not installed")
def test_links_are_where_the_model_of_the_arm_has_them(tmp_path):
    from tf2_msgs.msg import TFMessage

    driver = CONFIG / "drivers" / "barrett_ros1.yaml"
    model = read_robot_model([CONFIG / "wam7.yaml", driver])
    parameters = {"robot_state_publisher": {"ros__parameters": {"robot_description": model.urdf}}}
    file = tmp_path / "parameters.yaml"
    file.write_text(yaml.safe_dump(parameters))
    command = [executable(), "--ros-args", "--params-file", str(file)]
    command += ["-r", f"joint_states:={model.state_topic}"]
    context = rclpy.Context()
    with (
        OwnDomain() as domain,
        subprocess.Popen(command, env=os.environ | domain.environment()) as process,
    ):
        try:
            rclpy.init(context=context, domain_id=domain.number)
            frames = seen_frames(Node("bench", context=context), model, TFMessage)
        finally:
            process.kill()
            rclpy.try_shutdown(context=context)
    arm = load_description("wam7")
    expected = RigidBodyModel(arm).link_pose(POSITION, arm.tool_frame)
    np.testing.assert_allclose(pose_of(arm.tool_frame, frames), expected, atol=1e-9)


def seen_frames(node: Node, model: RobotModel, kind: type) -> dict[str, tuple[str, np.ndarray]]:
    """Return each link's parent and its pose there, while the arm stands still."""
    frames: dict[str, tuple[str, np.ndarray]] = {}

    def on_transforms(message) -> None:
        for stamped in message.transforms:
            frames[stamped.child_frame_id] = (stamped.header.frame_id, matrix(stamped.transform))

    latched = QoSProfile(depth=10, durability=DurabilityPolicy.TRANSIENT_LOCAL)
    node.create_subscription(kind, "/tf_static", on_transforms, latched)
    node.create_subscription(kind, "/tf", on_transforms, 10)
    states = node.create_publisher(JointState, model.state_topic, 10)
    names = moving_joints(model)
    n_links = len(ElementTree.fromstring(model.urdf).findall("joint"))
    executor = SingleThreadedExecutor(context=node.context)
    executor.add_node(node)
    deadline = time.monotonic() + 120.0
    while len(frames) < n_links:
        assert time.monotonic() < deadline, f"within 120 s only of {sorted(frames)}"
        state = JointState(name=names[::-1], position=array("d", POSITION[::-1]))
        state.header.stamp = node.get_clock().now().to_msg()
        states.publish(state)
        executor.spin_once(timeout_sec=0.02)
    executor.shutdown()
    node.destroy_node()
    return frames


def matrix(transform) -> np.ndarray:
    pose = np.eye(4)
    position, turn = transform.translation, transform.rotation
    pose[:3, :3] = Rotation.from_quat([turn.x, turn.y, turn.z, turn.w]).as_matrix()
    pose[:3, 3] = position.x, position.y, position.z
    return pose


def pose_of(link: str, frames: dict[str, tuple[str, np.ndarray]]) -> np.ndarray:
    """Pose of a link in the root."""
    pose = np.eye(4)
    while link in frames:
        link, above = frames[link]
        pose = above @ pose
    assert link == "base"
    return pose
