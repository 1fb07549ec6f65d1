# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""The arm that a node's parameters name, and what robot_state_publisher needs to show it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ilr_dynamics.nodes.parameter_file import read_complete_parameters
from ilr_dynamics.nodes.parameters import VISUALIZER, joints_in_messages
from ilr_dynamics.nodes.shared.robot_description import FROM_ROS
from ilr_dynamics.robot.description import STANDING, RobotDescription, load_description
from ilr_dynamics.robot.urdf_text import root_link, urdf_text

__all__ = ["DESCRIPTION_TOPIC", "RobotModel", "load_arm", "read_robot_model"]

# Not /robot_description: ros2_control reads its hardware from there, and RViz would find the
# description of a driver, whose frames may not be connected to those of the markers.
DESCRIPTION_TOPIC = "visualizer/robot_description"


def load_arm(values: Mapping[str, Any], warn: Callable[[str], object]) -> RobotDescription:
    """Load the arm that a node's parameters name.

    Parameters
    ----------
    values : mapping
        Values of the parameters ``robot``, as `PublishedArm.with_file` returns it, ``tool_frame``
        and, if the node has it, ``gravity``.
    warn : callable
        Takes each text that says what was put up with.

    Raises
    ------
    RobotDescriptionError
        If it cannot be loaded (`load_description`).
    """
    description = load_description(
        values["robot"], values["tool_frame"], values.get("gravity", STANDING)
    )
    for text in description.warnings:
        warn(text)
    return description


@dataclass(frozen=True)
class RobotModel:
    """
    Arm for robot_state_publisher.

    Attributes
    ----------
    urdf : str
        URDF of the arm, with the joint names in messages.
    state_topic : str
        Topic of the joint states.
    """

    urdf: str
    state_topic: str


def read_robot_model(
    parameter_files: Sequence[Path], namespace: str = "/", prefix: str = ""
) -> RobotModel | None:
    """
    Return the arm that the visualizer shows when it is started with these files.

    Parameters
    ----------
    parameter_files : sequence of Path
        ROS parameter files; later ones take precedence.
    namespace : str
        That of the visualizer.
    prefix : str
        What the names of the arm's joints and links begin with; empty: as the files say.

    Returns
    -------
    RobotModel or None
        None if the visualizer's frame is not the arm's first link: RViz would not know the
        transform between them. None too if another robot_state_publisher has the arm.

    Raises
    ------
    InvalidParameterError
        If a parameter has the wrong type.
    RobotDescriptionError
        If a file cannot be read, or the number of names is not that of the joints.
    """
    node = f"{namespace.rstrip('/')}/visualizer"
    values = read_complete_parameters(parameter_files, node, VISUALIZER)
    if values["robot"] == FROM_ROS:
        return None
    if prefix:
        values["prefix"] = prefix
    description = load_description(values["robot"], values["tool_frame"])
    if root_link(description) != values["frame"]:
        return None
    urdf = urdf_text(description, joints_in_messages(values), values["prefix"])
    return RobotModel(urdf, values["state.topic"])
