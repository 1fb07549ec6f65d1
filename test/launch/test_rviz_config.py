# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""RViz's configuration against what the visualizer really publishes."""

from __future__ import annotations

from pathlib import Path

import pytest
import rclpy
import yaml
from rclpy.executors import SingleThreadedExecutor

from ilr_dynamics.nodes.markers.panel_place import VIEW_PITCH, VIEW_YAW
from ilr_dynamics.nodes.shared.robot_model import DESCRIPTION_TOPIC
from ilr_dynamics.nodes.visualizer import Visualizer

CONFIG = Path(__file__).parents[2] / "config"
MESSAGES = {"rviz_default_plugins/MarkerArray": "visualization_msgs/msg/MarkerArray"}


@pytest.fixture(scope="module")
def manager() -> dict:
    return yaml.safe_load((CONFIG / "wam_tracking.rviz").read_text())["Visualization Manager"]


@pytest.fixture
def published():
    rclpy.init(args=["--ros-args", "--params-file", str(CONFIG / "wam4.yaml")])
    node, executor = Visualizer(), SingleThreadedExecutor()
    executor.add_node(node)
    topics = node.get_publisher_names_and_types_by_node("visualizer", "/")
    yield {
        (topic, kind)
        for topic, kinds in topics
        for kind in kinds
        if topic.startswith("/visualizer/")
    }
    executor.shutdown()
    rclpy.shutdown()


def test_displays_show_what_the_visualizer_publishes_and_nothing_twice(manager, published):
    shown = [
        (display["Topic"]["Value"], MESSAGES[display["Class"]])
        for display in manager["Displays"]
        if "Topic" in display
    ]
    assert shown == [("/visualizer/markers", "visualization_msgs/msg/MarkerArray")]
    # The paths are for other programs: they are among the markers.
    assert set(shown) < published


def test_what_is_looked_at_at_times_can_be_switched_on(manager):
    (namespaces,) = (
        display["Namespaces"] for display in manager["Displays"] if "Namespaces" in display
    )
    assert {name for name, shown in namespaces.items() if not shown} == {
        "local models (number)",
        "local models (reach)",
        "uncertainty along path",
    }


def test_the_default_view_is_the_one_that_the_panel_faces(manager):
    view = manager["Views"]["Current"]
    assert (view["Yaw"], view["Pitch"]) == (VIEW_YAW, VIEW_PITCH)
    assert view["Target Frame"] == "<Fixed Frame>"


def test_robot_model_is_taken_from_its_own_topic(manager):
    topics = [
        display["Description Topic"]
        for display in manager["Displays"]
        if display["Class"] == "rviz_default_plugins/RobotModel"
    ]
    assert topics == [{"Durability Policy": "Transient Local", "Value": f"/{DESCRIPTION_TOPIC}"}]


def test_fixed_frame_is_the_one_of_the_parameter_file(manager):
    parameters = yaml.safe_load((CONFIG / "wam4.yaml").read_text())["/**/visualizer"]
    assert manager["Global Options"]["Fixed Frame"] == parameters["ros__parameters"]["frame"]
