# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Torque ripple of the motors."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ilr_dynamics.robot.arrays import FloatArray

__all__ = ["TorqueRipple"]


@dataclass(frozen=True)
class TorqueRipple:
    """Torque that varies with the angle of the motor, as from slots and magnets.

    Parameters
    ----------
    amplitude : float
        Amplitude at the motor [Nm].
    periods_per_turn : int
        Periods a motor turn.
    """

    amplitude: float
    periods_per_turn: int

    def motor_torque(self, motor_angle: FloatArray, phase: FloatArray) -> FloatArray:
        """Ripple torque [Nm] at motor angles and with phases [rad], all of shape (n_joints,)."""
        return self.amplitude * np.sin(self.periods_per_turn * motor_angle + phase)
