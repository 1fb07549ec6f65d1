# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Give this test run a ROS domain of its own and Hypothesis no deadline."""

from __future__ import annotations

import os
import socket

from hypothesis import settings

# Where ROS 2's own test tools (domain_coordinator) bind the port that stands for a domain.
PORT_OF_DOMAIN_0 = 22119
DOMAINS = range(1, 101)


def claim_domain() -> tuple[int, socket.socket]:
    """Claim a domain that no other test run on this machine has, until the socket is closed."""
    start = os.getpid() % len(DOMAINS)
    for domain in (*DOMAINS[start:], *DOMAINS[:start]):
        claim = socket.socket()
        try:
            claim.bind(("127.0.0.1", PORT_OF_DOMAIN_0 + domain))
        except OSError:
            claim.close()
        else:
            return domain, claim
    raise RuntimeError(f"all ROS domains from {DOMAINS[0]} to {DOMAINS[-1]} are in use by tests")


# Before any test imports rclpy, and inherited by the nodes that tests start.
_domain, _claim = claim_domain()
os.environ["ROS_DOMAIN_ID"] = str(_domain)
os.environ["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "LOCALHOST"
os.environ.pop("ROS_STATIC_PEERS", None)

# A busy machine is no failure.
settings.register_profile("no_deadline", settings(), deadline=None)
settings.load_profile("no_deadline")
