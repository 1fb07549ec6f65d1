# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""ControllerState message of a control cycle."""

from __future__ import annotations

from array import array
from collections.abc import Sequence

import numpy as np
from builtin_interfaces.msg import Time

from ilr_dynamics.arrays import FloatArray
from ilr_dynamics.control import Command, Mode
from ilr_dynamics_msgs.msg import ControllerState

__all__ = ["StateMessage"]

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


class StateMessage:
    """
    ControllerState message that is reused in all cycles.

    Parameters
    ----------
    joints : sequence of str
        Names in the order of the arrays.
    """

    def __init__(self, joints: Sequence[str]) -> None:
        zeros = array("d", bytes(8 * len(joints)))
        self.message = ControllerState(
            joint_names=list(joints), **dict.fromkeys(_PER_JOINT, zeros)
        )
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
