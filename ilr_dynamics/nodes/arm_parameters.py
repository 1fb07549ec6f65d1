# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Parameters that several nodes have to be given alike: the arm, and how to reach its driver."""

from __future__ import annotations

from ilr_dynamics.nodes.parameter_table import ParameterRow as Row

__all__ = ["ARM", "INTERFACE", "STATE_TOPIC"]

ARM = (
    Row("robot", "wam4", "arm of the package or path of a URDF file", read_only=True),
    Row(
        "joints",
        ["j1", "j2", "j3", "j4"],
        "names of the joints in messages, from base to tool",
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
