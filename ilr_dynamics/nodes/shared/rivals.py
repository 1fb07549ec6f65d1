# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Other nodes on the topics of an arm that do what only one node may do."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rclpy.node import Node
from rclpy.topic_endpoint_info import TopicEndpointInfo

from ilr_dynamics.nodes.shared.endpoint_nodes import node_names

__all__ = ["LOOK_PERIOD", "RivalWatch", "other_arms", "other_controllers"]

# Time between two looks, s.
LOOK_PERIOD = 1.0
# Number of looks after which nodes that were there before have been discovered: on a busy machine
# a lost announcement, and then a lost endpoint, is repeated after three seconds each. Looks are
# counted and not seconds, as a machine that is too busy for one is so for the other.
_LOOKS = 7


class RivalWatch:
    """
    Watch that lets a node give way to what was there before, as far as that is discovered soon.

    Parameters
    ----------
    find : callable
        Returns an objection to rivals that are known now; or "".
    """

    def __init__(self, find: Callable[[], str]) -> None:
        self._find = find
        self._looks_left = 0
        self._before = False

    def begin(self) -> str:
        """Return an objection to the beginning of the node's work; or ""."""
        self._looks_left, self._before = _LOOKS, False
        return self._find()

    def again(self) -> str:
        """
        Return an objection to going on, to be asked for every `LOOK_PERIOD`; or "".

        One that is gone by the next time has given way itself.
        """
        if self._looks_left == 0:
            return ""
        self._looks_left -= 1
        objection = self._find()
        before, self._before = self._before, bool(objection)
        return objection if before else ""


def other_controllers(node: Node, command_topic: str) -> list[str]:
    """
    Return the full names of other nodes that send torques to the arm of a node.

    A bridge, which subscribes to the torques as well, is none; another node of the same name is
    one.
    """
    publishers = _others(node, node.get_publishers_info_by_topic(command_topic))
    subscribers = _others(node, node.get_subscriptions_info_by_topic(command_topic))
    return sorted(set(publishers) - set(subscribers))


def other_arms(node: Node, state_topic: str, command_topic: str) -> list[str]:
    """
    Return the full names of other nodes that answer the torques for the arm of a node.

    Whoever publishes joint states alone may do so of other joints.
    """
    publishers = _others(node, node.get_publishers_info_by_topic(state_topic))
    subscribers = _others(node, node.get_subscriptions_info_by_topic(command_topic))
    return sorted(set(publishers) & set(subscribers))


def _others(node: Node, endpoints: Sequence[TopicEndpointInfo]) -> list[str]:
    """Return the names of the nodes of endpoints, less one that has the name of this node."""
    names = node_names(endpoints)
    if node.get_fully_qualified_name() in names:
        names.remove(node.get_fully_qualified_name())
    return names
