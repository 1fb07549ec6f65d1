# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Reservation of a ROS domain that no other program on this machine uses."""

from __future__ import annotations

import os
import socket
from types import TracebackType
from typing import Self

from ilr_dynamics.nodes.shared.fast_dds import THIS_MACHINE, profile_file

__all__ = ["OwnDomain"]

# Port that ROS 2's test tools (domain_coordinator) bind to reserve domain 0.
PORT_OF_DOMAIN_0 = 22119
DOMAINS = range(1, 101)
# Domains this process has used, the latest last. Nodes that Python has not collected yet still
# exist in a released domain: their services are found there but never respond.
_had: list[int] = []


class OwnDomain:
    """
    Domain that is reserved while this object is open.

    Other programs that reserve domains in this way, or by ROS 2's domain_coordinator, get another.

    Attributes
    ----------
    number : int
        Number of the domain.

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
        Environment variables that put a process into the domain, on this machine only.

        Where possible Fast DDS does not use shared memory, which can block control loops
        (`ilr_dynamics.nodes.shared.fast_dds`) and of which a killed node leaves files behind.
        """
        domain = {"ROS_DOMAIN_ID": str(self.number), "ROS_STATIC_PEERS": ""}
        profile = profile_file(THIS_MACHINE)
        if profile is None:
            return domain | {"ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST"}
        return domain | {
            "ROS_AUTOMATIC_DISCOVERY_RANGE": "SYSTEM_DEFAULT",
            "FASTDDS_DEFAULT_PROFILES_FILE": str(profile),
        }

    def close(self) -> None:
        """Release the domain."""
        self._claim.close()

    def __enter__(self) -> Self:
        """Return this object, for a ``with`` statement."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Release the domain."""
        self.close()
