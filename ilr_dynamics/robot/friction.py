# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Friction in the joints of the simulated arm."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ilr_dynamics.arrays import FloatArray, read_only
from ilr_dynamics.exceptions import RobotDescriptionError

__all__ = ["JointFriction"]


@dataclass(frozen=True, eq=False)
class JointFriction:
    """
    Dry friction that depends on position, load and speed, and viscous friction.

    The dry friction level of a joint at angle q and speed v with load torque l is

        (F (1 + a sin(2 pi q / p)) + c |l|) (1 + s exp(-(v / v_s)^2)),

    Coulomb friction with a position-dependent part, the load dependence of Hamon, Gautier and
    Garrec (2010) and the Stribeck effect at low speed.

    Parameters
    ----------
    dry : array_like of shape (n_joints,)
        Coulomb friction F without load [Nm].
    viscous : array_like of shape (n_joints,)
        Viscous friction [Nms/rad].
    position_amplitude, position_period : float
        Amplitude a [-] and period p [rad].
    load_coefficient : float
        Friction c per load torque [-].
    stribeck_amplitude, stribeck_velocity : float
        Amplitude s [-] and velocity v_s [rad/s].

    Raises
    ------
    RobotDescriptionError
        If a coefficient is negative, a period or speed is not positive, or sizes differ.
    """

    dry: FloatArray
    viscous: FloatArray
    position_amplitude: float
    position_period: float
    load_coefficient: float
    stribeck_amplitude: float
    stribeck_velocity: float

    def __post_init__(self) -> None:
        """Check the numbers and freeze the arrays."""
        dry, viscous = read_only(self.dry), read_only(self.viscous)
        if dry.ndim != 1 or dry.shape != viscous.shape:
            raise RobotDescriptionError(
                f"dry and viscous friction have shapes {dry.shape} and {viscous.shape}, "
                "expected one value per joint"
            )
        if min(dry.min(), viscous.min(), self.load_coefficient, self.stribeck_amplitude) < 0:
            raise RobotDescriptionError(f"friction coefficients must not be negative: {self}")
        if not 0 <= self.position_amplitude <= 1:
            raise RobotDescriptionError(
                f"position_amplitude is {self.position_amplitude}, expected 0 to 1"
            )
        if min(self.position_period, self.stribeck_velocity) <= 0:
            raise RobotDescriptionError(
                f"position_period is {self.position_period} and stribeck_velocity "
                f"{self.stribeck_velocity}, expected positive values"
            )
        object.__setattr__(self, "dry", dry)
        object.__setattr__(self, "viscous", viscous)

    def dry_level(
        self, position: FloatArray, velocity: FloatArray, load: FloatArray
    ) -> FloatArray:
        """
        Return the torque below which a joint sticks, and which opposes it when it slips.

        Parameters
        ----------
        position, velocity, load : ndarray of shape (n_joints,)
            Joint angle [rad], speed [rad/s] and load torque [Nm].

        Returns
        -------
        ndarray of shape (n_joints,)
            Dry friction level [Nm].
        """
        wave = np.sin(position * (2 * np.pi / self.position_period))
        surface = self.dry * (1 + self.position_amplitude * wave)
        surface += self.load_coefficient * np.abs(load)
        bump = np.exp(-((velocity / self.stribeck_velocity) ** 2))
        return surface * (1 + self.stribeck_amplitude * bump)

    def smooth_torque(
        self, position: FloatArray, velocity: FloatArray, load: FloatArray, width: float
    ) -> FloatArray:
        """
        Return the friction torque of a moving joint, with tanh(v / width) for the sign of v.

        Parameters
        ----------
        position, velocity, load : ndarray of shape (n_joints,)
            Joint angle [rad], speed [rad/s] and load torque [Nm].
        width : float
            Speed over which the sign changes [rad/s].

        Returns
        -------
        ndarray of shape (n_joints,)
            Torque that overcomes dry and viscous friction [Nm].
        """
        level = self.dry_level(position, velocity, load)
        return level * np.tanh(velocity / width) + self.viscous * velocity
