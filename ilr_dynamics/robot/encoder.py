# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Encoders on the motors of the simulated arm, and the joint velocity derived from them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ilr_dynamics.arrays import FloatArray, read_only
from ilr_dynamics.exceptions import RobotDescriptionError
from ilr_dynamics.robot.transmission import Transmission

__all__ = ["Encoder", "JointSensor"]


@dataclass(frozen=True)
class Encoder:
    """
    Incremental encoder on a motor, and the low-pass filter of its differenced velocity.

    Parameters
    ----------
    counts_per_turn : int
        Counts per turn of the motor.
    velocity_cutoff : float
        Cutoff frequency of the first-order low-pass [rad/s].

    Raises
    ------
    RobotDescriptionError
        If a number is not positive.
    """

    counts_per_turn: int
    velocity_cutoff: float

    def __post_init__(self) -> None:
        """Check the numbers."""
        if self.counts_per_turn <= 0 or self.velocity_cutoff <= 0:
            raise RobotDescriptionError(f"expected positive numbers, got {self}")


class JointSensor:
    """
    Joint position and velocity as a driver reads them once per cycle.

    Parameters
    ----------
    encoder : Encoder
        Encoder on every motor.
    transmission : Transmission
        Coupling of motors and joints.
    cycle : float
        Time between readings [s].
    phase : array_like of shape (n_joints,)
        Position of zero between two counts of each encoder, 0 to 1 [counts].
    """

    def __init__(
        self, encoder: Encoder, transmission: Transmission, cycle: float, phase: ArrayLike
    ) -> None:
        counts_per_rad = encoder.counts_per_turn / (2 * np.pi)
        self._joint_to_counts = transmission.joint_to_motor * counts_per_rad
        self._counts_to_joint = transmission.motor_to_joint / counts_per_rad
        self._phase = read_only(phase)
        self._cycle = cycle
        self._gain = -np.expm1(-encoder.velocity_cutoff * cycle)
        self._position = np.zeros(transmission.n_joints)
        self._velocity = np.zeros(transmission.n_joints)

    def reset(self, position: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Start at rest; parameters and results are those of `read`."""
        self._position = self._quantised(position)
        self._velocity = np.zeros_like(self._position)
        return self._position, self._velocity

    def read(self, position: FloatArray) -> tuple[FloatArray, FloatArray]:
        """
        Read the joints, one cycle after the previous reading.

        Parameters
        ----------
        position : ndarray of shape (n_joints,)
            True joint angles [rad].

        Returns
        -------
        position, velocity : ndarray of shape (n_joints,)
            Measured joint angles [rad] and velocities [rad/s].
        """
        measured = self._quantised(position)
        difference = (measured - self._position) / self._cycle
        self._velocity = self._velocity + self._gain * (difference - self._velocity)
        self._position = measured
        return measured, self._velocity

    def _quantised(self, position: FloatArray) -> FloatArray:
        counts = np.rint(self._joint_to_counts @ position - self._phase)
        return self._counts_to_joint @ (counts + self._phase)
