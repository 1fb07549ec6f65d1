# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Quality of service of the topics."""

from __future__ import annotations

from rclpy.qos import DurabilityPolicy, HistoryPolicy, QoSProfile, ReliabilityPolicy

__all__ = ["COMMAND", "COMMAND_IN_TIME", "JOINT_STATES", "REQUEST", "STATUS"]

# Sensor data. Depth 1, because only the newest state deserves an answer: after a hiccup, torques
# for the past would only delay the one for the present.
JOINT_STATES = QoSProfile(
    history=HistoryPolicy.KEEP_LAST,
    depth=1,
    reliability=ReliabilityPolicy.BEST_EFFORT,
    durability=DurabilityPolicy.VOLATILE,
)

# Reliable, because ros2_control's forward_command_controller does not listen to less.
COMMAND = QoSProfile(
    history=HistoryPolicy.KEEP_LAST,
    depth=1,
    reliability=ReliabilityPolicy.RELIABLE,
    durability=DurabilityPolicy.VOLATILE,
)

# For a driver that has no time. A reliable subscription holds back newer torques until it has been
# told that a lost one will not come.
COMMAND_IN_TIME = QoSProfile(
    history=HistoryPolicy.KEEP_LAST,
    depth=1,
    reliability=ReliabilityPolicy.BEST_EFFORT,
    durability=DurabilityPolicy.VOLATILE,
)

REQUEST = QoSProfile(depth=10)
STATUS = QoSProfile(depth=10)
