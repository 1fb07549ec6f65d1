# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""A ROS domain that nobody else on this machine is in."""

from __future__ import annotations

import os
import re
import socket
from pathlib import Path
from types import TracebackType
from typing import Self

__all__ = ["OwnDomain"]

# Where ROS 2's own test tools (domain_coordinator) bind the port that stands for a domain.
PORT_OF_DOMAIN_0 = 22119
DOMAINS = range(1, 101)
# Where Fast DDS keeps a file for each port; those of a domain follow one another.
SHARED_MEMORY = Path("/dev/shm")
FIRST_PORT, PORTS_OF_DOMAIN = 7400, 250
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
        # Stable: those without remains first, each kind in the order it has.
        fresh.sort(key=_domains_with_remains().__contains__)
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
        """Variables that put a process into the domain, on this machine only."""
        return {
            "ROS_DOMAIN_ID": str(self.number),
            "ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST",
            "ROS_STATIC_PEERS": "",
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


def _domains_with_remains() -> set[int]:
    """
    Domains in which a process was killed, or runs.

    A process that sends to a port for the first time holds on for a third of a second, in the
    middle of its control loop, if whoever had that port before it was killed.
    """
    names = (path.name for path in SHARED_MEMORY.glob("fastdds_port*"))
    ports = (int(found[1]) for name in names if (found := re.fullmatch(r"\D+(\d+)", name)))
    return {(port - FIRST_PORT) // PORTS_OF_DOMAIN for port in ports}
