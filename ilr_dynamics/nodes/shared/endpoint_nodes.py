# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Names of the nodes that endpoints of a topic belong to."""

from __future__ import annotations

from collections.abc import Sequence

from rclpy.topic_endpoint_info import TopicEndpointInfo

__all__ = ["node_names"]

# The middleware discovers endpoints before their nodes.
_UNKNOWN = "_NODE_NAME_UNKNOWN_"


def node_names(endpoints: Sequence[TopicEndpointInfo]) -> list[str]:
    """Return the full name of the node of each endpoint, as far as it is known."""
    return [
        f"{endpoint.node_namespace.rstrip('/')}/{endpoint.node_name}"
        for endpoint in endpoints
        if endpoint.node_name != _UNKNOWN
    ]
