# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Publisher of the torque commands, and who else sends torques to the arm."""

from __future__ import annotations

from collections.abc import Sequence

from builtin_interfaces.msg import Time
from rclpy.duration import Duration
from rclpy.lifecycle import LifecycleNode

from ilr_dynamics.arrays import FloatArray
from ilr_dynamics.nodes.shared import qos
from ilr_dynamics.nodes.shared.messages import torque_command
from ilr_dynamics.nodes.shared.rivals import other_controllers

__all__ = ["TorquePublisher"]

_ACKNOWLEDGEMENT_TIMEOUT = Duration(seconds=0.1)


class TorquePublisher:
    """
    Publisher of torque commands.

    Parameters
    ----------
    node : LifecycleNode
        Node of the topic.
    joints : sequence of str
        Names in the order of the arrays.
    interface : str
        Value of the parameter command.interface.
    topic : str
        Name of the topic.
    """

    def __init__(
        self, node: LifecycleNode, joints: Sequence[str], interface: str, topic: str
    ) -> None:
        self._node = node
        self._topic = node.resolve_topic_name(topic)
        self._command = torque_command(interface, joints)
        self._publisher = node.create_lifecycle_publisher(
            type(self._command.message), topic, qos.COMMAND
        )

    @property
    def n_subscribers(self) -> int:
        """Number of subscribers."""
        return int(self._publisher.get_subscription_count())

    def send(self, stamp: Time | None, torque: FloatArray) -> None:
        """
        Send a torque.

        Parameters
        ----------
        stamp : Time or None
            Stamp of the joint state that it answers.
        torque : ndarray of shape (n_joints,)
            Nm.
        """
        self._command.fill(stamp, torque)
        self._publisher.publish(self._command.message)

    def wait_until_delivered(self) -> None:
        """Wait a little for messages that would be lost if the process ended now."""
        self._publisher.wait_for_all_acked(_ACKNOWLEDGEMENT_TIMEOUT)

    def others(self) -> str:
        """Return an objection to other nodes that send torques to this arm; or ""."""
        others = other_controllers(self._node, self._topic)
        if not others:
            return ""
        return (
            f"{', '.join(others)} publishes {self._topic} too: expected one controller "
            "of an arm; end the other, or give one of them another namespace or ROS_DOMAIN_ID"
        )

    def destroy(self) -> None:
        """Destroy the publisher."""
        self._node.destroy_lifecycle_publisher(self._publisher)
