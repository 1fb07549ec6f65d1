# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Cross-fade: bumpless transfer of the feed-forward torque from one source to the next."""

from __future__ import annotations

import numpy as np

from ilr_dynamics.arrays import FloatArray

__all__ = ["Crossfade"]


class Crossfade:
    """
    Bumpless transfer of a torque from one source to the next.

    At an exchange the difference between the last output and the new source is kept and fades
    out along a smoothstep, so the output is continuous and the old source need not be
    evaluated any more.

    Parameters
    ----------
    n_joints : int
        Number of joints.
    duration : float
        Time over which the difference fades out, s.
    """

    def __init__(self, n_joints: int, duration: float) -> None:
        self._duration = duration
        self._last: FloatArray = np.zeros(n_joints)
        self._difference: FloatArray | None = None
        self._start: float | None = None

    def begin(self) -> None:
        """Start a transfer: the next value is from a new source."""
        self._start = None
        self._difference = self._last

    def __call__(self, torque: FloatArray, time: float) -> FloatArray:
        """
        Return the faded torque (n_joints,), Nm.

        Parameters
        ----------
        torque : ndarray of shape (n_joints,)
            Torque of the present source, Nm.
        time : float
            Present time, s.
        """
        if self._difference is not None:
            torque = self._fade(self._difference, torque, time)
        self._last = torque
        return torque

    def _fade(self, difference: FloatArray, torque: FloatArray, time: float) -> FloatArray:
        if self._start is None:
            self._start = time
            self._difference = difference = difference - torque
        s = (time - self._start) / self._duration
        if s >= 1.0:
            self._difference = None
            return torque
        return torque + (1.0 - s * s * (3.0 - 2.0 * s)) * difference
