# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Publishers of a topic: number, nodes and identities."""

from __future__ import annotations

import time
from collections.abc import Hashable

from rclpy.node import Node

__all__ = ["Publishers"]

_UNKNOWN = "_NODE_NAME_UNKNOWN_"
# Shortest time between two queries of the identities, s: a query takes 0.2 ms, for which joint
# states wait. There are none without contradictions.
_LOOK_PERIOD = 0.02


class Publishers:
    """
    Publishers of a topic by number, node and identity.

    Parameters
    ----------
    node : Node
        Node whose graph is queried.
    topic : str
        Name of the topic, with its namespace.
    """

    def __init__(self, node: Node, topic: str) -> None:
        self._node, self._topic = node, topic
        self._names: tuple[str, ...] = ()
        self._identities: list[bytes] = []
        self._looked = -_LOOK_PERIOD

    def named(self) -> tuple[int, tuple[str, ...]]:
        """
        Return the number of publishers, and the names of their nodes as far as known.

        A node with several publishers of the topic is named once, with their number.
        """
        count = self._node.count_publishers(self._topic)
        # Counting takes a third of the time. If there are several, the names are queried each
        # time, as they will be read and one may have replaced another.
        if count > 1 or count != len(self._names):
            self._names = tuple(
                f"{info.node_namespace.rstrip('/')}/{info.node_name}"
                for info in self._node.get_publishers_info_by_topic(self._topic)
                # The middleware discovers publishers before their nodes.
                if info.node_name != _UNKNOWN
            )
        return count, _counted(self._names)

    def is_present(self, identity: Hashable) -> bool:
        """Whether a publisher with this identity exists, by a query at most 20 ms ago."""
        now = time.monotonic()
        if now - self._looked >= _LOOK_PERIOD:
            self._looked = now
            infos = self._node.get_publishers_info_by_topic(self._topic)
            self._identities = [bytes(info.endpoint_gid) for info in infos]
        # In some releases of ROS the identities in the graph are padded.
        return isinstance(identity, bytes) and any(
            known.startswith(identity) for known in self._identities
        )


def _counted(names: tuple[str, ...]) -> tuple[str, ...]:
    counts = {name: names.count(name) for name in sorted(names)}
    return tuple(f"{name} x {n}" if n > 1 else name for name, n in counts.items())
