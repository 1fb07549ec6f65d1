# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Torque ripple of the motors of the simulated arm."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ilr_dynamics.arrays import FloatArray, read_only
from ilr_dynamics.exceptions import RobotDescriptionError

__all__ = ["TorqueRipple"]


@dataclass(frozen=True, eq=False)
class TorqueRipple:
    """
    Torque that varies with the angle of the motor, as from slots and magnets.

    Parameters
    ----------
    amplitude : float or array_like of shape (n_joints,)
        Amplitude at the motor [Nm], for all motors or for each.
    periods_per_turn : int
        Periods per turn of the motor.

    Raises
    ------
    RobotDescriptionError
        If an amplitude is negative.
    """

    amplitude: FloatArray
    periods_per_turn: int

    def __post_init__(self) -> None:
        """Check and freeze the amplitudes."""
        amplitude = read_only(self.amplitude)
        if not (amplitude >= 0).all():
            raise RobotDescriptionError(
                f"amplitude is {amplitude.tolist()} Nm, expected no negative number"
            )
        object.__setattr__(self, "amplitude", amplitude)

    def motor_torque(self, motor_angle: FloatArray, phase: FloatArray) -> FloatArray:
        """Ripple torque [Nm] at motor angles and with phases [rad], all of shape (n_joints,)."""
        return self.amplitude * np.sin(self.periods_per_turn * motor_angle + phase)
