# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""What robot_state_publisher needs to show the visualizer's arm as a robot model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ilr_dynamics.nodes.arm_parameters import ARM, STATE_TOPIC
from ilr_dynamics.nodes.parameter_file import read_complete_parameters
from ilr_dynamics.nodes.parameter_table import ParameterRow as Row
from ilr_dynamics.robot.description import load_description
from ilr_dynamics.robot.urdf_text import root_link, urdf_text

__all__ = ["DESCRIPTION_TOPIC", "SHOWN_ARM", "RobotModel", "read_robot_model"]

# Parameters of /visualizer that say which arm is shown.
SHOWN_ARM = (
    *ARM,
    STATE_TOPIC,
    Row("frame", "base", "frame that everything is given in", read_only=True),
)

# Not /robot_description: there ros2_control looks for its hardware, and RViz would find the
# description of a driver, whose frames need not hang together with those of the markers.
DESCRIPTION_TOPIC = "/visualizer/robot_description"


@dataclass(frozen=True)
class RobotModel:
    """
    An arm for robot_state_publisher.

    Attributes
    ----------
    urdf : str
        Its URDF, with the joint names of messages.
    state_topic : str
        Topic of its joint states.
    """

    urdf: str
    state_topic: str


def read_robot_model(parameter_files: Sequence[Path]) -> RobotModel | None:
    """
    Return the arm that the visualizer shows when it is started with these files.

    Parameters
    ----------
    parameter_files : sequence of Path
        ROS parameter files; what a later one says goes before.

    Returns
    -------
    RobotModel or None
        None if the visualizer's frame is not the arm's first link: nothing would tell RViz where
        one is in the other.

    Raises
    ------
    InvalidParameterError
        If a parameter has the wrong type.
    RobotDescriptionError
        If a file cannot be read, or there are not as many names as joints.
    """
    values = read_complete_parameters(parameter_files, "/visualizer", SHOWN_ARM)
    description = load_description(values["robot"], values["tool_frame"])
    if root_link(description) != values["frame"]:
        return None
    return RobotModel(urdf_text(description, values["joints"]), values["state.topic"])
