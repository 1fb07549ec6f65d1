# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Reports of the control loop: controller states, statistics and log lines, after each torque."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from builtin_interfaces.msg import Time
from rclpy.lifecycle import LifecycleNode

from ilr_dynamics.arrays import FloatArray
from ilr_dynamics.control import Command, JointLimits, Mode
from ilr_dynamics.nodes import qos
from ilr_dynamics.nodes.event_log import EventLog
from ilr_dynamics.nodes.loop_events import LoopEvents
from ilr_dynamics.nodes.loop_statistics import LoopStatistics
from ilr_dynamics.nodes.state_message import StateMessage
from ilr_dynamics_msgs.msg import ControllerState

__all__ = ["LoopReport"]


class LoopReport:
    """
    Publisher of ``~/controller_state``, statistics for diagnostics, and log.

    Parameters
    ----------
    node : LifecycleNode
        Node of the topic.
    joints : sequence of str
        Joints in the order of the arrays.
    decimation : int
        Number of cycles from one controller state to the next.
    log : EventLog
        Log of the node.

    Attributes
    ----------
    controller, model, fallback : str
        Kind of controller, identity of the loaded model, and what replaces a torque that is not
        trusted.
    """

    def __init__(
        self, node: LifecycleNode, joints: Sequence[str], decimation: int, log: EventLog
    ) -> None:
        self.statistics = LoopStatistics()
        self.events = LoopEvents(log)
        self.decimation = decimation
        self.controller = self.model = self.fallback = ""
        self._cycles = 0
        self._message = StateMessage(joints)
        self._node = node
        self._publisher = node.create_lifecycle_publisher(
            ControllerState, "~/controller_state", qos.STATUS
        )

    @property
    def learned(self) -> bool:
        """Whether the feed-forward is that of a learned model."""
        return self.controller == "ilr" and bool(self.model)

    def answered(
        self,
        stamp: Time | None,
        command: Command,
        limits: JointLimits,
        fault: str,
        received: float,
        loop_time: float,
    ) -> None:
        """
        Report a torque that answers a joint state.

        Parameters
        ----------
        stamp : Time or None
            Stamp of the joint state.
        command : Command
            Command of the cycle.
        limits : JointLimits
            Limits of the torques.
        fault : str
            Reason of the controller's fault, if it is in one.
        received : float
            When the joint state was received, by `time.perf_counter`, s.
        loop_time : float
            Time from then to the publication of the torque, s.
        """
        self._cycles += 1
        learned = self.learned and command.mode is not Mode.FAULT
        saturated = command.limited and bool((np.abs(command.torque) >= limits.torque).any())
        self.statistics.add(command, received, loop_time, learned=learned, saturated=saturated)
        if self._cycles % self.decimation == 0:
            self._message.fill(stamp, command, self.controller, self.model, loop_time)
            self._publisher.publish(self._message.message)
        if saturated:
            self.events.saturated(command, limits)
        if learned:
            self.events.trust(command, self.fallback)
        self.events.mode(command.mode, fault)

    def let_down(self, stamp: Time | None, command: Command, torque: FloatArray) -> None:
        """Report a torque (n_joints,), Nm, that answers no joint state; `command` was the last."""
        self._message.fill(stamp, command, self.controller, self.model, loop_time=0.0)
        self._message.let_down(torque)
        self._publisher.publish(self._message.message)

    def refused(self, reason: str) -> None:
        """Report a joint state that was not answered."""
        self.statistics.unusable += 1
        self.events.refused(reason)

    def destroy(self) -> None:
        """Destroy the publisher."""
        self._node.destroy_lifecycle_publisher(self._publisher)
