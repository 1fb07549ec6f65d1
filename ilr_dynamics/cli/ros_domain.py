# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""A ROS domain that nobody else on this machine is in."""

from __future__ import annotations

import os
import socket

__all__ = ["enter_own_domain"]

# Where ROS 2's own test tools (domain_coordinator) bind the port that stands for a domain.
PORT_OF_DOMAIN_0 = 22119
DOMAINS = range(1, 101)


def enter_own_domain() -> socket.socket:
    """
    Set the environment of this process and its children to a free domain, on this machine only.

    Call it before rclpy is initialised.

    Returns
    -------
    claim : socket
        The domain is taken until it is closed.

    Raises
    ------
    RuntimeError
        If all domains are in use.
    """
    start = os.getpid() % len(DOMAINS)
    for domain in (*DOMAINS[start:], *DOMAINS[:start]):
        claim = socket.socket()
        try:
            claim.bind(("127.0.0.1", PORT_OF_DOMAIN_0 + domain))
        except OSError:
            claim.close()
            continue
        os.environ["ROS_DOMAIN_ID"] = str(domain)
        os.environ["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "LOCALHOST"
        os.environ.pop("ROS_STATIC_PEERS", None)
        return claim
    raise RuntimeError(f"all ROS domains from {DOMAINS[0]} to {DOMAINS[-1]} are in use")
