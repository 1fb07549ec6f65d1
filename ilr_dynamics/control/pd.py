# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Proportional-derivative feedback."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ilr_dynamics.arrays import FloatArray
from ilr_dynamics.control._validation import freeze, non_negative
from ilr_dynamics.control.joint_path import Reference

__all__ = ["Gains", "pd_torque"]


@dataclass(frozen=True, slots=True, eq=False)
class Gains:
    """
    PD gains per joint, each of shape (n_joints,).

    Parameters
    ----------
    kp : ndarray
        Stiffness, Nm/rad.
    kd : ndarray
        Damping, Nms/rad.

    Raises
    ------
    InvalidParameterError
        If a gain is negative or not finite, or the two differ in length.
    """

    kp: FloatArray
    kd: FloatArray

    def __post_init__(self) -> None:
        n_joints = np.size(self.kp)
        for name in ("kp", "kd"):
            freeze(self, name, non_negative(name, getattr(self, name), n_joints))


def pd_torque(
    gains: Gains, reference: Reference, position: FloatArray, velocity: FloatArray
) -> FloatArray:
    """
    Return kp (q_d - q) + kd (qd_d - qd), (n_joints,), Nm.

    Parameters
    ----------
    gains : Gains
        Stiffness kp and damping kd.
    reference : Reference
        Desired state q_d, qd_d.
    position, velocity : ndarray of shape (n_joints,)
        Measured q and qd, rad and rad/s.
    """
    return gains.kp * (reference.position - position) + gains.kd * (reference.velocity - velocity)
