# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Velocity of joints whose driver measures positions alone."""

from __future__ import annotations

import math

import numpy as np

from ilr_dynamics.arrays import FloatArray
from ilr_dynamics.exceptions import InvalidParameterError

__all__ = ["VelocityEstimate"]


class VelocityEstimate:
    """
    Differences of positions over time, smoothed by a first-order low-pass.

    Parameters
    ----------
    n_joints : int
    cutoff : float
        Of the low-pass, Hz. High: the steps of the encoders come through the damping gain; low:
        damping comes late.
    longest_step : float
        Time between two positions from which on the motion in between is unknown, s.

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
        """Begin anew: the next position is the first."""
        self._time = -math.inf
        self._position = self._velocity = self._nothing

    def __call__(self, time: float, position: FloatArray) -> FloatArray:
        """
        Return the velocity (n_joints,), rad/s.

        Parameters
        ----------
        time : float
            Of the position, s. A time that is no newer than the last leaves the estimate as it
            is; one far from it, either way, begins anew at rest.
        position : ndarray of shape (n_joints,)
            Measured, rad. One that is not finite leaves the estimate as it is.
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
