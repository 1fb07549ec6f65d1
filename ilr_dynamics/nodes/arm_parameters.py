# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Parameters that several nodes have to be given alike: the arm, and how to reach its driver."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ilr_dynamics.nodes.parameter_table import ParameterRow as Row
from ilr_dynamics.robot.description import RobotDescription, load_description

__all__ = ["ARM", "INTERFACE", "STATE_TOPIC", "load_arm"]

ARM = (
    Row("robot", "wam4", "arm of the package or path of a URDF file", read_only=True),
    Row(
        "joints",
        ["j1", "j2", "j3", "j4"],
        "names of the joints in messages, from base to tool",
        read_only=True,
    ),
    Row(
        "tool_frame",
        "",
        "link whose origin is the tool point; empty: the arm's end, of several the only one with "
        "mass, or tool0, flange, the first by name",
        read_only=True,
    ),
)

STATE_TOPIC = Row(
    "state.topic", "joint_states", "topic of the measured joint states", read_only=True
)

INTERFACE = (
    STATE_TOPIC,
    Row("command.topic", "joint_torque_command", "topic of the torque command", read_only=True),
    Row(
        "command.interface",
        "joint_state",
        "message of the torque command",
        choices=("joint_state", "float64_multi_array"),
        read_only=True,
    ),
)


def load_arm(values: Mapping[str, Any], warn: Callable[[str], object]) -> RobotDescription:
    """Load the arm that a node's parameters name.

    Parameters
    ----------
    values : mapping
        Values of `ARM`.
    warn : callable
        Takes each text that says what was put up with.

    Raises
    ------
    RobotDescriptionError
        If it cannot be loaded (`load_description`).
    """
    description = load_description(values["robot"], values["tool_frame"])
    for text in description.warnings:
        warn(text)
    return description
