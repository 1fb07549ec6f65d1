# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Result of a control cycle: the torque command and the terms it is made of."""

from __future__ import annotations

from typing import NamedTuple

from ilr_dynamics.arrays import FloatArray
from ilr_dynamics.control.feedforward import FeedForwardTorque
from ilr_dynamics.control.joint_path import Reference
from ilr_dynamics.control.modes import Mode

__all__ = ["Command"]


# A named tuple, because one is made in every cycle: a frozen dataclass takes three times as long.
class Command(NamedTuple):
    """
    Torque command for one joint state.

    Attributes
    ----------
    time : float
        Stamp of the joint state, s.
    mode : Mode
        Mode of the controller in this cycle.
    torque : ndarray of shape (n_joints,)
        Torque to send, within all limits, Nm.
    feedforward : FeedForwardTorque
        Feed-forward as used: after the confidence gate and the cross-fade.
    pd : ndarray of shape (n_joints,)
        Feedback torque, Nm.
    reference : Reference
        Desired state.
    position, velocity : ndarray of shape (n_joints,)
        Measured position and velocity, rad and rad/s.
    limited : bool
        Whether a torque or rate limit changed the torque.
    prepared : bool
        Whether the feed-forward had been computed before the joint state came.
    """

    time: float
    mode: Mode
    torque: FloatArray
    feedforward: FeedForwardTorque
    pd: FloatArray
    reference: Reference
    position: FloatArray
    velocity: FloatArray
    limited: bool
    prepared: bool
