# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""A ROS domain that nobody else on this machine is in."""

from __future__ import annotations

import os
import socket
from pathlib import Path
from types import TracebackType
from typing import Self

from ament_index_python.packages import get_package_share_directory

__all__ = ["OwnDomain"]

# Where ROS 2's own test tools (domain_coordinator) bind the port that stands for a domain.
PORT_OF_DOMAIN_0 = 22119
DOMAINS = range(1, 101)
FAST_DDS = "rmw_fastrtps"
# They read another variable.
BEFORE_FAST_DDS_3 = ("humble", "iron", "jazzy")
PROFILE = Path("config") / "fastdds_this_machine.xml"
# Of this process, the latest last. Nodes that Python has not collected yet live on in a domain
# that was given back: their services are found there, and never answer.
_had: list[int] = []


class OwnDomain:
    """
    A domain that is taken as long as this object is open.

    Whoever takes domains in this way, or with ROS 2's domain_coordinator, gets another one.

    Attributes
    ----------
    number : int
        The domain.

    Raises
    ------
    RuntimeError
        If all domains are in use.
    """

    def __init__(self) -> None:
        start = os.getpid() % len(DOMAINS)
        fresh = [domain for domain in (*DOMAINS[start:], *DOMAINS[:start]) if domain not in _had]
        for domain in (*fresh, *_had):
            claim = socket.socket()
            try:
                claim.bind(("127.0.0.1", PORT_OF_DOMAIN_0 + domain))
            except OSError:
                claim.close()
                continue
            self.number, self._claim = domain, claim
            if domain in _had:
                _had.remove(domain)
            _had.append(domain)
            return
        raise RuntimeError(f"all ROS domains from {DOMAINS[0]} to {DOMAINS[-1]} are in use")

    def environment(self) -> dict[str, str]:
        """
        Variables that put a process into the domain, on this machine only.

        Where that can be had, Fast DDS is kept off its shared memory, for the sake of control
        loops (see `ilr_dynamics.nodes.middleware`) and as a killed node would leave its part
        behind.
        """
        domain = {"ROS_DOMAIN_ID": str(self.number), "ROS_STATIC_PEERS": ""}
        profile = _fast_dds_profile()
        if profile is None:
            return domain | {"ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST"}
        return domain | {
            "ROS_AUTOMATIC_DISCOVERY_RANGE": "SYSTEM_DEFAULT",
            "FASTDDS_DEFAULT_PROFILES_FILE": str(profile),
        }

    def close(self) -> None:
        """Give the domain back."""
        self._claim.close()

    def __enter__(self) -> Self:
        """Take part in a ``with`` statement."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Give the domain back."""
        self.close()


def _fast_dds_profile() -> Path | None:
    """
    The file that keeps Fast DDS on this machine; None where it would not be read.

    That a file is not read has no other sign than torques in the whole network.
    """
    # Fast DDS is ROS 2's default.
    middleware = os.environ.get("RMW_IMPLEMENTATION") or FAST_DDS
    if not middleware.startswith(FAST_DDS) or os.environ.get("ROS_DISTRO") in BEFORE_FAST_DDS_3:
        return None
    try:
        profile = Path(get_package_share_directory("ilr_dynamics")) / PROFILE
    except (LookupError, OSError):
        # Nothing is built, or no ROS environment set up: no nodes either.
        return None
    return profile if profile.is_file() else None
