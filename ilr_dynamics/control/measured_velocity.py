# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Joint velocity: measured by the driver, or differentiated where that cannot be believed."""

from __future__ import annotations

from ilr_dynamics.arrays import FloatArray
from ilr_dynamics.control.velocity_check import VelocityCheck
from ilr_dynamics.control.velocity_estimate import VelocityEstimate

__all__ = ["MeasuredVelocity"]


class MeasuredVelocity:
    """
    Velocities of the driver, checked against the positions, or an estimate instead of them.

    Parameters
    ----------
    joints : sequence of str
        Names, for the verdict.
    cutoff : float
        Cutoff frequency of the estimate's low-pass, Hz.
    longest_step : float
        Longest time between two positions of an estimate, s.

    Attributes
    ----------
    cutoff : float
        As given, Hz.
    """

    def __init__(self, joints: tuple[str, ...], cutoff: float, longest_step: float) -> None:
        self.cutoff = cutoff
        self._estimate = VelocityEstimate(len(joints), cutoff, longest_step)
        self._check = VelocityCheck(joints)

    @property
    def verdict(self) -> str:
        """What is wrong with the measured velocities; empty if nothing is."""
        return self._check.verdict

    def reset(self) -> None:
        """Forget states and verdict."""
        self._estimate.reset()
        self._check.reset()

    def __call__(
        self, time: float, position: FloatArray, measured: FloatArray | None
    ) -> FloatArray:
        """
        Return the velocity (n_joints,) to use, rad/s.

        Parameters
        ----------
        time : float
            Stamp of the state, s.
        position, measured : ndarray of shape (n_joints,)
            rad and rad/s; None if the driver sends no velocities.
        """
        if measured is None or self._check.verdict:
            return self._estimate(time, position)
        return measured

    def check(self, time: float, position: FloatArray, measured: FloatArray) -> bool:
        """Add a state to the check; True if it makes the verdict, for the states that follow."""
        return not self._check.verdict and self._check.add(time, position, measured)
