# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Who publishes a topic."""

from __future__ import annotations

import time
from collections.abc import Hashable

from rclpy.node import Node

__all__ = ["Publishers"]

_UNKNOWN = "_NODE_NAME_UNKNOWN_"
# Time from one look at the identities to the next, s: a look takes 0.2 ms, for which joint states
# wait. Without contradictions nobody looks.
_LOOK_PERIOD = 0.02


class Publishers:
    """
    Publishers of a topic by number, node and identity.

    Parameters
    ----------
    node : Node
        Who asks.
    topic : str
        With its namespace.
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
        # To count takes a third of the time. More than one is what somebody will look at: one may
        # have taken another's place.
        if count > 1 or count != len(self._names):
            self._names = tuple(
                f"{info.node_namespace.rstrip('/')}/{info.node_name}"
                for info in self._node.get_publishers_info_by_topic(self._topic)
                # The middleware tells of publishers before it tells of their nodes.
                if info.node_name != _UNKNOWN
            )
        return count, _counted(self._names)

    def is_present(self, identity: Hashable) -> bool:
        """Whether there is a publisher with an identity, by a look 20 ms ago at most."""
        now = time.monotonic()
        if now - self._looked >= _LOOK_PERIOD:
            self._looked = now
            infos = self._node.get_publishers_info_by_topic(self._topic)
            self._identities = [bytes(info.endpoint_gid) for info in infos]
        # In some releases of ROS the graph's identities are padded.
        return isinstance(identity, bytes) and any(
            known.startswith(identity) for known in self._identities
        )


def _counted(names: tuple[str, ...]) -> tuple[str, ...]:
    counts = {name: names.count(name) for name in sorted(names)}
    return tuple(f"{name} x {n}" if n > 1 else name for name, n in counts.items())
