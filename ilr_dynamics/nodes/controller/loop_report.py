# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Reports of the control loop: controller states, statistics and log lines, after each torque."""

from __future__ import annotations

from array import array
from collections.abc import Sequence

import numpy as np
from builtin_interfaces.msg import Time
from rclpy.lifecycle import LifecycleNode
from rclpy.logging import LoggingSeverity

from ilr_dynamics.arrays import FloatArray
from ilr_dynamics.control import Command, JointLimits, Mode
from ilr_dynamics.nodes.controller.diagnostics import TRUSTED, LoopStatistics
from ilr_dynamics.nodes.shared import qos
from ilr_dynamics.nodes.shared.event_log import EventLog
from ilr_dynamics_msgs.msg import ControllerState

__all__ = ["FAULT", "LoopEvents", "LoopReport", "StateMessage"]

FAULT = " -> fault: "
"""Between the mode before and the reason, in the log line about a fault."""

_PER_JOINT = (
    "desired_position",
    "desired_velocity",
    "desired_acceleration",
    "measured_position",
    "measured_velocity",
    "position_error",
    "feedforward_torque",
    "pd_torque",
    "commanded_torque",
    "predicted_std",
)


class LoopReport:
    """
    Publisher of ``~/controller_state``, statistics for diagnostics, and log.

    Parameters
    ----------
    node : LifecycleNode
        Node of the topic.
    joints : sequence of str
        Joints in the order of the arrays.
    frame : str
        First link of the arm.
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
        self,
        node: LifecycleNode,
        joints: Sequence[str],
        frame: str,
        decimation: int,
        log: EventLog,
    ) -> None:
        self.statistics = LoopStatistics()
        self.events = LoopEvents(log)
        self.decimation = decimation
        self.controller = self.model = self.fallback = ""
        self._cycles = 0
        self._message = StateMessage(joints, frame)
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


class StateMessage:
    """
    ControllerState message that is reused in all cycles.

    Parameters
    ----------
    joints : sequence of str
        Names in the order of the arrays.
    frame : str
        First link of the arm, for the header.
    """

    def __init__(self, joints: Sequence[str], frame: str = "") -> None:
        zeros = array("d", bytes(8 * len(joints)))
        self.message = ControllerState(
            joint_names=list(joints), **dict.fromkeys(_PER_JOINT, zeros)
        )
        self.message.header.frame_id = frame
        # Views of the message's memory: writing to them allocates nothing.
        self._values = {name: np.frombuffer(getattr(self.message, name)) for name in _PER_JOINT}

    def fill(
        self, stamp: Time, command: Command, controller: str, model: str, loop_time: float
    ) -> None:
        """
        Fill the message for one cycle.

        Parameters
        ----------
        stamp : Time
            Stamp of the joint state.
        command : Command
            Command of the cycle.
        controller, model : str
            Kind of controller and identity of the loaded model.
        loop_time : float
            Time from receipt of the joint state to publication of the torque, s.
        """
        message = self.message
        message.header.stamp = stamp
        message.mode = int(command.mode)
        message.controller = controller
        message.model = model
        values = self._values
        values["desired_position"][:] = command.reference.position
        values["desired_velocity"][:] = command.reference.velocity
        values["desired_acceleration"][:] = command.reference.acceleration
        values["measured_position"][:] = command.position
        values["measured_velocity"][:] = command.velocity
        values["position_error"][:] = command.reference.position - command.position
        values["feedforward_torque"][:] = command.feedforward.torque
        values["pd_torque"][:] = command.pd
        values["commanded_torque"][:] = command.torque
        values["predicted_std"][:] = command.feedforward.std
        message.gate = float(command.feedforward.gate)
        message.active_component = int(command.feedforward.component)
        message.loop_time = loop_time

    def let_down(self, torque: FloatArray) -> None:
        """
        Set a torque (n_joints,), Nm, that answers no joint state; the state stays the last one.

        The torque is the rigid-body model's, which carries a share of the arm's weight.
        """
        message = self.message
        message.mode = int(Mode.FAULT)
        values = self._values
        values["feedforward_torque"][:] = values["commanded_torque"][:] = torque
        values["pd_torque"][:] = values["predicted_std"][:] = 0.0
        message.gate = 0.0
        message.active_component = -1
        message.loop_time = 0.0


class LoopEvents:
    """
    Writes one log line for each event of the control loop, with the values that explain it.

    Parameters
    ----------
    log : EventLog
        Log of the node.
    """

    def __init__(self, log: EventLog) -> None:
        self._log = log
        self._mode = Mode.WAITING
        self._fault = ""

    def refused(self, reason: str) -> None:
        """Log that a joint state was not answered."""
        # Of any number of reasons, what varies comes later than the second word.
        kind = " ".join(["joint state not answered:", *reason.split()[:2]])
        self._log.recurring(kind, f"joint state not answered: {reason}")

    def velocity_missing(self, cutoff: float) -> None:
        """Log that a joint state has no velocities."""
        self._log.recurring(
            "joint state without velocities",
            lambda: (
                "joint states have no velocities: positions are differentiated, with a low-pass "
                f"of {cutoff:g} Hz (velocity_filter.cutoff)"
            ),
            LoggingSeverity.INFO,
        )

    def velocity_wrong(self, verdict: str, cutoff: float) -> None:
        """Log that measured velocities do not match the change of the positions."""
        self._log.warning(
            "wrong velocity",
            f"{verdict}; positions are differentiated from now on, with a low-pass of "
            f"{cutoff:g} Hz (velocity_filter.cutoff)",
        )

    def saturated(self, command: Command, limits: JointLimits) -> None:
        """Log that a torque is at its limit."""
        self._log.recurring("torque at its limit", lambda: _saturation(command, limits))

    def trust(self, command: Command, fallback: str) -> None:
        """Log if the learned torque is too uncertain, so that the fallback is used."""
        if command.feedforward.gate < TRUSTED:
            self._log.recurring(
                "learned torque too uncertain", lambda: _distrust(command, fallback)
            )

    def mode(self, mode: Mode, fault: str) -> None:
        """
        Log a change of the mode, or of the fault.

        Between two calls a request can end a fault and another fault follow.
        """
        if mode is self._mode and fault == self._fault:
            return
        before, self._mode, self._fault = self._mode.name.lower(), mode, fault
        if mode is Mode.FAULT:
            self._log.error("fault", f"{before}{FAULT}{fault}")
        else:
            text = f"{before} -> {mode.name.lower()}"
            self._log.info(f"mode {text}", text)


def _saturation(command: Command, limits: JointLimits) -> str:
    at_limit = np.abs(command.torque) >= limits.torque
    names = ", ".join(np.array(limits.joints)[at_limit])
    wanted = command.feedforward.torque + command.pd
    return (
        f"torque at its limit in {names}: wanted {_text(wanted[at_limit])} Nm, limited to "
        f"{_text(limits.torque[at_limit])} Nm"
    )


def _distrust(command: Command, fallback: str) -> str:
    feedforward = command.feedforward
    return (
        f"the learned torque is too uncertain at {_text(command.reference.position)} rad: "
        f"share {feedforward.gate:.2f} of it used (weight of the unseen component "
        f"{feedforward.unseen_weight:.2f}, std {_text(feedforward.std)} Nm), fallback: {fallback}"
    )


def _text(values: np.ndarray) -> str:
    return "[" + ", ".join(f"{value:.3g}" for value in values) + "]"
