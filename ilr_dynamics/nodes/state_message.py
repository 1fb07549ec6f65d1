# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""The message that says what the controller does."""

from __future__ import annotations

from array import array
from collections.abc import Sequence

import numpy as np
from builtin_interfaces.msg import Time
from numpy.typing import NDArray

from ilr_dynamics.control import Command, Mode
from ilr_dynamics_msgs.msg import ControllerState

__all__ = ["StateMessage"]


class StateMessage:
    """A ControllerState that is filled again and again.

    Parameters
    ----------
    joints : sequence of str
        Names in the order of the arrays.
    """

    def __init__(self, joints: Sequence[str]) -> None:
        self.message = ControllerState(joint_names=list(joints))

    def fill(
        self, stamp: Time, command: Command, controller: str, model: str, loop_time: float
    ) -> None:
        """Describe one cycle.

        Parameters
        ----------
        stamp : Time
            Of the joint state.
        command : Command
            Answer to it.
        controller, model : str
            Kind of controller and identity of the loaded model.
        loop_time : float
            From receipt of the joint state to publication of the torque, s.
        """
        message = self.message
        message.header.stamp = stamp
        message.mode = int(command.mode)
        message.controller = controller
        message.model = model
        message.desired_position = array("d", command.reference.position)
        message.desired_velocity = array("d", command.reference.velocity)
        message.desired_acceleration = array("d", command.reference.acceleration)
        message.measured_position = array("d", command.position)
        message.measured_velocity = array("d", command.velocity)
        message.position_error = array("d", command.reference.position - command.position)
        message.feedforward_torque = array("d", command.feedforward.torque)
        message.pd_torque = array("d", command.pd)
        message.commanded_torque = array("d", command.torque)
        message.predicted_std = array("d", command.feedforward.std)
        message.gate = float(command.feedforward.gate)
        message.active_component = int(command.feedforward.component)
        message.loop_time = loop_time

    def let_down(self, torque: NDArray[np.float64]) -> None:
        """Describe a torque (n_joints,), Nm, that answers no joint state: the last stays.

        It is what the rigid-body model carries of the arm's weight.
        """
        message = self.message
        message.mode = int(Mode.FAULT)
        message.feedforward_torque = message.commanded_torque = array("d", torque)
        message.pd_torque = message.predicted_std = array("d", bytes(8 * len(torque)))
        message.gate = 0.0
        message.active_component = -1
        message.loop_time = 0.0
