# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""
Configuration of Fast DDS that avoids blocking in shared memory.

When Fast DDS first sends to a port of its shared memory, as to each process that joins, and the
last owner of the port was killed, ``publish`` blocks for 0.33 s, up to three times, to check
whether the port is alive. With UDP it does not block.
"""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["avoid_shared_memory", "shared_memory_warning"]

OF_SHARED_MEMORY = "/dev/shm/fastdds"


def avoid_shared_memory() -> None:
    """
    Restrict Fast DDS to UDP, unless the environment selects transports; before `rclpy.init`.

    Other middlewares do not read the variable. With ``ROS_AUTOMATIC_DISCOVERY_RANGE=LOCALHOST``
    ROS 2 adds shared memory nevertheless.
    """
    os.environ.setdefault("FASTDDS_BUILTIN_TRANSPORTS", "UDPv4")


def shared_memory_warning() -> str:
    """Return a warning if this process, which has a node, uses Fast DDS's shared memory, or ""."""
    if OF_SHARED_MEMORY not in Path("/proc/self/maps").read_text():
        return ""
    return (
        "Fast DDS sends through shared memory, where a process that was killed can hold up "
        "torques for 0.33 s and more: expected FASTDDS_BUILTIN_TRANSPORTS to be UDPv4 and "
        "ROS_AUTOMATIC_DISCOVERY_RANGE not to be LOCALHOST; config/fastdds_this_machine.xml "
        "says how to stay on this machine without it"
    )
