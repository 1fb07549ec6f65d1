# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Gears and differentials between motors and joints."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ilr_dynamics.arrays import FloatArray, read_only
from ilr_dynamics.exceptions import RobotDescriptionError

__all__ = ["Transmission"]


@dataclass(frozen=True, eq=False)
class Transmission:
    """
    Rigid coupling theta = G q of motor angles theta to joint angles q.

    Virtual work gives the joint torque G^T tau of motor torques tau.

    Parameters
    ----------
    joint_to_motor : array_like of shape (n_joints, n_joints)
        Matrix G, with as many motors as joints.
    rotor_inertia : array_like of shape (n_joints,)
        Inertia of each motor's rotor [kg m^2].

    Raises
    ------
    RobotDescriptionError
        If G is not square and invertible, or if the sizes differ.
    """

    joint_to_motor: FloatArray
    rotor_inertia: FloatArray

    def __post_init__(self) -> None:
        """Check and freeze the arrays."""
        gears = read_only(self.joint_to_motor)
        inertia = read_only(self.rotor_inertia)
        if gears.ndim != 2 or gears.shape[0] != gears.shape[1]:
            raise RobotDescriptionError(
                f"joint_to_motor has shape {gears.shape}, expected a square matrix"
            )
        if np.linalg.matrix_rank(gears) < len(gears):
            raise RobotDescriptionError(
                f"joint_to_motor {gears.tolist()} is singular, expected invertible"
            )
        if inertia.shape != gears.shape[:1]:
            raise RobotDescriptionError(
                f"rotor_inertia has shape {inertia.shape}, expected {gears.shape[:1]}"
            )
        object.__setattr__(self, "joint_to_motor", gears)
        object.__setattr__(self, "rotor_inertia", inertia)

    @property
    def n_joints(self) -> int:
        """Number of joints."""
        return len(self.rotor_inertia)

    @cached_property
    def motor_to_joint(self) -> FloatArray:
        """Inverse of joint_to_motor, shape (n_joints, n_joints)."""
        return read_only(np.linalg.inv(self.joint_to_motor))

    @cached_property
    def reflected_inertia(self) -> FloatArray:
        """
        Rotor inertia reflected to each joint [kg m^2], shape (n_joints,).

        The diagonal of G^T J G; the rest is zero where the two motors of a differential are equal.
        """
        return read_only(self.joint_to_motor.T**2 @ self.rotor_inertia)

    def motor_angle(self, position: FloatArray) -> FloatArray:
        """Motor angles [rad] for joint angles [rad], both of shape (n_joints,)."""
        return self.joint_to_motor @ position

    def joint_torque(self, motor_torque: FloatArray) -> FloatArray:
        """Joint torques [Nm] for motor torques [Nm], both of shape (n_joints,)."""
        return self.joint_to_motor.T @ motor_torque
