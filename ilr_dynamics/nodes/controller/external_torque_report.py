# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Topics ~/external_torque and ~/external_wrench: what acts on the arm beside its drives."""

from __future__ import annotations

from array import array
from collections.abc import Sequence

from builtin_interfaces.msg import Time
from geometry_msgs.msg import WrenchStamped
from rclpy.lifecycle import LifecycleNode

from ilr_dynamics.arrays import FloatArray
from ilr_dynamics.control import Command, FeedForward
from ilr_dynamics.control.external_torque import ExternalTorque, ExternalTorqueObserver
from ilr_dynamics.nodes.shared import qos
from ilr_dynamics.nodes.shared.event_log import EventLog
from ilr_dynamics.robot.rigid_body import RigidBodyModel
from ilr_dynamics.robot.tool_wrench import ToolWrench, WrenchPrior, tool_wrench
from ilr_dynamics_msgs.msg import ExternalTorque as ExternalTorqueMessage

__all__ = ["ExternalTorqueReport"]

NANOSECONDS = 1_000_000_000
# Cycles from one look for subscribers to the next.
LOOK_FOR_SUBSCRIBERS = 100
NOTHING_LEARNED = "no learned model is loaded, and the description knows no friction"


class ExternalTorqueReport:
    """
    Publishers of the external torque; nothing is done while nobody listens.

    Parameters
    ----------
    node : LifecycleNode
        Node of the topics.
    joints : sequence of str
        Joints in the order of the arrays.
    model : RigidBodyModel
        Kinematics of the arm.
    log : EventLog
        Log of the node.

    Attributes
    ----------
    observer : ExternalTorqueObserver or None
        What finds it; None: nothing does.
    expected : FeedForward or None
        Learned model of the arm with what it carries; None without one.
    """

    def __init__(
        self, node: LifecycleNode, joints: Sequence[str], model: RigidBodyModel, log: EventLog
    ) -> None:
        self.observer: ExternalTorqueObserver | None = None
        self.expected: FeedForward | None = None
        self._node, self._model, self._log = node, model, log
        self._prior = WrenchPrior.of_arm(model)
        self._cycles, self._listened_to = 0, False
        self._message = ExternalTorqueMessage(joint_names=list(joints))
        self._wrench = WrenchStamped()
        frame = model.description.tool_frame
        self._message.header.frame_id = self._wrench.header.frame_id = frame
        self._publisher, self._wrench_publisher = (
            node.create_lifecycle_publisher(kind, topic, qos.STATUS)
            for kind, topic in (
                (ExternalTorqueMessage, "~/external_torque"),
                (WrenchStamped, "~/external_wrench"),
            )
        )

    def restart(self) -> None:
        """Forget all that was seen."""
        self._cycles = 0
        if self.observer is not None:
            self.observer.restart()

    def observe(self, stamp: Time, command: Command, effort: FloatArray | None) -> None:
        """
        Observe a cycle, after its torque was sent; publish what there is to say.

        Parameters
        ----------
        stamp : Time
            Stamp of the joint state.
        command : Command
            Of the cycle.
        effort : ndarray of shape (n_joints,) or None
            Torques in the joint state, Nm.
        """
        observer = self.observer
        if observer is None or not self._is_listened_to():
            return
        if self.expected is None:
            self._object(NOTHING_LEARNED)
            return
        found = observer.add(command, effort, self.expected)
        if found is not None:
            self._publish(stamp, observer, found)
        elif observer.objection:
            self._object(observer.objection)

    def destroy(self) -> None:
        """Destroy the publishers."""
        self._node.destroy_lifecycle_publisher(self._publisher)
        self._node.destroy_lifecycle_publisher(self._wrench_publisher)

    def _is_listened_to(self) -> bool:
        if self._cycles % LOOK_FOR_SUBSCRIBERS == 0:
            both = (self._publisher, self._wrench_publisher)
            listened_to = any(publisher.get_subscription_count() for publisher in both)
            if listened_to and not self._listened_to and self.observer is not None:
                # What was seen before somebody listened does not go on.
                self.observer.restart()
            self._listened_to = listened_to
        self._cycles += 1
        return self._listened_to

    def _object(self, reason: str) -> None:
        text = f"nothing is published on ~/external_torque: {reason}"
        self._log.recurring("external torque", text)

    def _publish(
        self, stamp: Time, observer: ExternalTorqueObserver, found: ExternalTorque
    ) -> None:
        jacobian = self._model.tool_twist_jacobian(found.position)
        wrench = tool_wrench(jacobian, found.torque, found.std, self._prior)
        message, at = self._message, _earlier(stamp, observer.delay)
        message.header.stamp = self._wrench.header.stamp = at
        message.measured, message.contact = observer.measured, found.contact
        message.delay = observer.delay
        message.torque = array("d", found.torque)
        message.std = array("d", found.std)
        message.threshold = array("d", found.threshold)
        message.wrench, message.wrench_std = wrench.mean, wrench.std
        message.wrench_known = wrench.known
        self._publisher.publish(message)
        self._fill(wrench)
        self._wrench_publisher.publish(self._wrench)

    def _fill(self, wrench: ToolWrench) -> None:
        force, torque = self._wrench.wrench.force, self._wrench.wrench.torque
        force.x, force.y, force.z, torque.x, torque.y, torque.z = wrench.mean.tolist()


def _earlier(stamp: Time, delay: float) -> Time:
    at = stamp.sec * NANOSECONDS + stamp.nanosec - round(delay * NANOSECONDS)
    return Time(sec=at // NANOSECONDS, nanosec=at % NANOSECONDS)
