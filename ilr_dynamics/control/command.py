# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""What a control cycle answers."""

from __future__ import annotations

from typing import NamedTuple

from ilr_dynamics.arrays import FloatArray
from ilr_dynamics.control.feedforward import FeedForwardTorque
from ilr_dynamics.control.joint_path import Reference
from ilr_dynamics.control.modes import Mode

__all__ = ["Command"]


# A tuple, as one is made in every cycle: a frozen dataclass takes three times as long to make.
class Command(NamedTuple):
    """
    Answer to one joint state.

    Attributes
    ----------
    time : float
        Of the joint state, s.
    mode : Mode
    torque : ndarray of shape (n_joints,)
        To be sent, within all limits, Nm.
    feedforward : FeedForwardTorque
        Its torque is the one used: after the gate and while fading in.
    pd : ndarray of shape (n_joints,)
        Feedback torque, Nm.
    reference : Reference
        Desired state.
    position, velocity : ndarray of shape (n_joints,)
        Measured, rad and rad/s.
    limited : bool
        Whether a torque or rate limit changed the torque.
    prepared : bool
        Whether the feed-forward was asked for before the joint state came.
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
