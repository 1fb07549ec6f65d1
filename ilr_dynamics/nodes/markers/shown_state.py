# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""What the markers show of a report of the controller."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ilr_dynamics.arrays import FloatArray
from ilr_dynamics.control import joint_order
from ilr_dynamics_msgs.msg import ControllerState

__all__ = ["ShownState", "shown_state"]


@dataclass(frozen=True, eq=False)
class ShownState:
    """
    Report of the controller, in the order of the joints that are shown.

    Attributes
    ----------
    mode : int
        Constant of ilr_dynamics_msgs/ControllerState, not WAITING.
    controller : str
        ``pd``, ``analytic`` or ``ilr``.
    model : str
        Identity of the loaded model; empty without one.
    gate : float
        Share of the learned torque that is used, in [0, 1].
    loop_time : float
        Time from joint state to torque, s.
    desired, velocity, acceleration, measured : ndarray of shape (n_joints,)
        Desired motion and measured position, rad, rad/s and rad/s^2.
    total, feedforward, feedback, std : ndarray of shape (n_joints,)
        Torques as commanded, their parts, and the standard deviation of the prediction, Nm.
    """

    mode: int
    controller: str
    model: str
    gate: float
    loop_time: float
    desired: FloatArray
    velocity: FloatArray
    acceleration: FloatArray
    measured: FloatArray
    total: FloatArray
    feedforward: FloatArray
    feedback: FloatArray
    std: FloatArray

    @property
    def learned(self) -> bool:
        """Whether a learned model is asked."""
        return bool(self.model) and self.controller == "ilr"


def shown_state(message: ControllerState, joints: Sequence[str]) -> ShownState:
    """
    Return what is shown of a report.

    Parameters
    ----------
    message : ControllerState
        Report in another mode than WAITING.
    joints : sequence of str
        Names of the joints in the order that is shown.

    Raises
    ------
    InvalidDataError
        If joints are missing in the report.
    IndexError
        If the report has fewer values than joints.
    """
    order = joint_order(message.joint_names, joints, allow_extra=True)

    def ordered(values: Sequence[float]) -> FloatArray:
        return np.asarray(values, dtype=np.float64)[order]

    return ShownState(
        mode=message.mode,
        controller=message.controller,
        model=message.model,
        gate=message.gate,
        loop_time=message.loop_time,
        desired=ordered(message.desired_position),
        velocity=ordered(message.desired_velocity),
        acceleration=ordered(message.desired_acceleration),
        measured=ordered(message.measured_position),
        total=ordered(message.commanded_torque),
        feedforward=ordered(message.feedforward_torque),
        feedback=ordered(message.pd_torque),
        std=ordered(message.predicted_std),
    )
