# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""
Keeps the middleware from holding up a control loop.

Where Fast DDS sends to a port of its shared memory for the first time, as to each process that
joins, and nobody seems to live there, as whoever had it before was killed, ``publish`` waits for a
sign of life: 0.33 s, up to three times. By UDP nobody waits.
"""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["avoid_shared_memory", "shared_memory_warning"]

OF_SHARED_MEMORY = "/dev/shm/fastdds"


def avoid_shared_memory() -> None:
    """
    Ask Fast DDS for UDP alone, unless the environment asks for something; before `rclpy.init`.

    Other middlewares do not read the variable. ROS 2 adds shared memory all the same where
    ``ROS_AUTOMATIC_DISCOVERY_RANGE`` is ``LOCALHOST``.
    """
    os.environ.setdefault("FASTDDS_BUILTIN_TRANSPORTS", "UDPv4")


def shared_memory_warning() -> str:
    """Say so if this process, which has a node, sends through Fast DDS's shared memory; or ""."""
    if OF_SHARED_MEMORY not in Path("/proc/self/maps").read_text():
        return ""
    return (
        "Fast DDS sends through shared memory, where a process that was killed can hold up "
        "torques for 0.33 s and more: expected FASTDDS_BUILTIN_TRANSPORTS to be UDPv4 and "
        "ROS_AUTOMATIC_DISCOVERY_RANGE not to be LOCALHOST; config/fastdds_this_machine.xml "
        "says how to stay on this machine without it"
    )
