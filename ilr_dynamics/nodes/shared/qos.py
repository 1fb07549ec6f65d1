# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""QoS profiles of the topics."""

from __future__ import annotations

from rclpy.qos import DurabilityPolicy, HistoryPolicy, QoSProfile, ReliabilityPolicy

__all__ = ["COMMAND", "COMMAND_IN_TIME", "JOINT_STATES", "LATCHED", "REQUEST", "STATUS"]

# Sensor data. Depth 1, because only the newest state needs an answer: after a delay, torques for
# older states would only delay the present one.
JOINT_STATES = QoSProfile(
    history=HistoryPolicy.KEEP_LAST,
    depth=1,
    reliability=ReliabilityPolicy.BEST_EFFORT,
    durability=DurabilityPolicy.VOLATILE,
)

# Reliable, because ros2_control's forward_command_controller requires it.
COMMAND = QoSProfile(
    history=HistoryPolicy.KEEP_LAST,
    depth=1,
    reliability=ReliabilityPolicy.RELIABLE,
    durability=DurabilityPolicy.VOLATILE,
)

# For a driver in real time. A reliable subscription would hold newer torques back until it learns
# that a lost one will not come.
COMMAND_IN_TIME = QoSProfile(
    history=HistoryPolicy.KEEP_LAST,
    depth=1,
    reliability=ReliabilityPolicy.BEST_EFFORT,
    durability=DurabilityPolicy.VOLATILE,
)

REQUEST = QoSProfile(depth=10)
STATUS = QoSProfile(depth=10)
# For a state that changes seldom: who subscribes later gets the last message, too.
LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
