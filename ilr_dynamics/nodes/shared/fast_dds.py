# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Fast DDS, ROS 2's default middleware: profiles of this package, and which one is chosen."""

from __future__ import annotations

import os
from pathlib import Path

from ament_index_python.packages import get_package_share_directory

__all__ = ["THIS_MACHINE", "prepare_fast_dds", "profile_file", "shared_memory_warning"]

THIS_MACHINE = "fastdds_this_machine.xml"
"""Profile of processes that speak on this machine only."""
_ANYWHERE = "fastdds.xml"
_FAST_DDS = "rmw_fastrtps"
# Releases of ROS whose Fast DDS does not read the profiles.
_BEFORE_FAST_DDS_3 = ("humble", "iron", "jazzy")
_PROFILES_VARIABLE = "FASTDDS_DEFAULT_PROFILES_FILE"
# Fast DDS reads this file, too, where a process starts.
_PROFILES_OF_FOLDER = Path("DEFAULT_FASTDDS_PROFILES.xml")
_RANGE_VARIABLE = "ROS_AUTOMATIC_DISCOVERY_RANGE"
# The variable that came before, which still goes before.
_ONLY_VARIABLE = "ROS_LOCALHOST_ONLY"
_SHARED_MEMORY = "/dev/shm/fastdds"


def prepare_fast_dds() -> None:
    """
    Choose UDP and a profile of this package in the environment; before `rclpy.init`.

    When Fast DDS first sends to a port of its shared memory, as to each process that joins,
    ``publish`` can block for 0.33 s, up to three times, to check whether the port is alive: while
    its owner starts, or for good if that was killed. With UDP it does not block. For
    ``ROS_AUTOMATIC_DISCOVERY_RANGE=LOCALHOST`` ROS 2 would add shared memory; a profile
    (`THIS_MACHINE`) stays on this machine by UDP alone.

    Before Fast DDS shows a publisher or subscription of a type that this process does not have
    yet, it asks the first participant that has one for the type, once. Without an answer, as from
    a process that is killed meanwhile, no endpoint of the type is ever shown: there are no joint
    states, though their publisher runs. So the profiles switch that off; ROS matches types by
    their names.

    Transports and profiles that the user has chosen are kept, and with ``ROS_STATIC_PEERS`` the
    range. Other middlewares read none of this.
    """
    os.environ.setdefault("FASTDDS_BUILTIN_TRANSPORTS", "UDPv4")
    if os.environ.get(_PROFILES_VARIABLE) or _PROFILES_OF_FOLDER.exists():
        return
    here = _is_localhost() and not os.environ.get("ROS_STATIC_PEERS")
    profile = profile_file(THIS_MACHINE if here else _ANYWHERE)
    if profile is None:
        return
    os.environ[_PROFILES_VARIABLE] = str(profile)
    if here:
        os.environ[_RANGE_VARIABLE] = "SYSTEM_DEFAULT"
        os.environ.pop(_ONLY_VARIABLE, None)


def profile_file(name: str) -> Path | None:
    """
    Return the path of a profile of this package; None if it would not be read.

    If it were set but not read, nothing would show that torques are sent to the whole network.
    """
    middleware = os.environ.get("RMW_IMPLEMENTATION") or _FAST_DDS
    if not middleware.startswith(_FAST_DDS) or os.environ.get("ROS_DISTRO") in _BEFORE_FAST_DDS_3:
        return None
    try:
        profile = Path(get_package_share_directory("ilr_dynamics")) / "config" / name
    except (LookupError, OSError):
        # The package is not built, or no ROS environment is set up: nodes cannot run either.
        return None
    return profile if profile.is_file() else None


def shared_memory_warning() -> str:
    """Return a warning if this process, which has a node, uses Fast DDS's shared memory, or ""."""
    if _SHARED_MEMORY not in Path("/proc/self/maps").read_text():
        return ""
    return (
        "Fast DDS sends through shared memory, where a process that starts or was killed can hold "
        "up torques for 0.33 s and more: expected FASTDDS_BUILTIN_TRANSPORTS to be UDPv4, and "
        f"with {_RANGE_VARIABLE}=LOCALHOST neither ROS_STATIC_PEERS nor {_PROFILES_VARIABLE}"
    )


def _is_localhost() -> bool:
    return (
        os.environ.get(_RANGE_VARIABLE, "").upper() == "LOCALHOST"
        or os.environ.get(_ONLY_VARIABLE) == "1"
    )
