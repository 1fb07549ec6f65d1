# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Estimate of joint velocities for drivers that measure positions only."""

from __future__ import annotations

import math

import numpy as np

from ilr_dynamics.arrays import FloatArray
from ilr_dynamics.exceptions import InvalidParameterError

__all__ = ["VelocityEstimate"]


class VelocityEstimate:
    """
    Finite differences of positions, smoothed by a first-order low-pass filter.

    Parameters
    ----------
    n_joints : int
        Number of joints.
    cutoff : float
        Cutoff frequency of the low-pass, Hz. If it is high, the damping gain amplifies the steps
        of the encoders; if it is low, damping is delayed.
    longest_step : float
        Longest time between two positions, s; beyond it the estimate starts anew.

    Raises
    ------
    InvalidParameterError
        If the cutoff is not positive and finite.
    """

    def __init__(self, n_joints: int, cutoff: float, longest_step: float) -> None:
        if not 0.0 < cutoff < math.inf:
            raise InvalidParameterError(f"cutoff is {cutoff:g} Hz: expected a positive number")
        self._rate = 2.0 * math.pi * cutoff
        self._longest_step = longest_step
        self._nothing = np.zeros(n_joints)
        self.reset()

    def reset(self) -> None:
        """Start anew: the next position is the first."""
        self._time = -math.inf
        self._position = self._velocity = self._nothing

    def __call__(self, time: float, position: FloatArray) -> FloatArray:
        """
        Return the velocity (n_joints,), rad/s.

        Parameters
        ----------
        time : float
            Stamp of the position, s. A stamp that is not newer than the last leaves the estimate
            unchanged; one far from it, earlier or later, starts anew at rest.
        position : ndarray of shape (n_joints,)
            Measured position, rad. If it is not finite the estimate is unchanged.
        """
        if not (math.isfinite(time) and np.isfinite(position).all()):
            return self._velocity
        step = time - self._time
        if abs(step) > self._longest_step:
            self._velocity = self._nothing
        elif step <= 0.0:
            return self._velocity
        else:
            share = 1.0 - math.exp(-step * self._rate)
            difference = (position - self._position) / step
            self._velocity = self._velocity + share * (difference - self._velocity)
        self._time, self._position = time, position
        return self._velocity
