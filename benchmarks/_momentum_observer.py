# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""
The momentum observer of Haddadin, De Luca and Albu-Schaeffer (IEEE T-RO 33, 2017), section IV-D.

r = K (p - integral of (tau + C' qd - g - friction + r)), with the momentum p = M qd, follows the
external torque as a first-order filter of bandwidth K, and needs no acceleration. All of the model
comes from its inverse dynamics f, the same that is compared with: M e_j = f(q, qd, e_j) -
f(q, qd, 0), and C' qd = dM/dt qd - C qd.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ilr_dynamics.arrays import FloatArray

__all__ = ["MomentumObserver"]

InverseDynamics = Callable[[FloatArray, FloatArray, FloatArray], FloatArray]


class MomentumObserver:
    """
    Residuals that follow the external torque, one for each bandwidth.

    Parameters
    ----------
    inverse_dynamics
        Torques (n,), Nm, for position, velocity and acceleration (n,).
    gains : (m,)
        Bandwidths K, 1/s.
    period : float
        Time between cycles, s.
    every : int
        Cycles for which what the model says is kept: it takes n + 1 queries.
    """

    def __init__(
        self, inverse_dynamics: InverseDynamics, gains: Sequence[float], period: float, every: int
    ) -> None:
        self._model = inverse_dynamics
        self._gains = np.array(gains)[:, np.newaxis]
        self._period, self._every = period, every
        self._cycles = 0
        self.residual: FloatArray | None = None

    def add(self, position: FloatArray, velocity: FloatArray, torque: FloatArray) -> FloatArray:
        """
        Add a cycle.

        Parameters
        ----------
        position, velocity : (n,)
            Measured, rad and rad/s.
        torque : (n,)
            At work since the cycle before, Nm.

        Returns
        -------
        (m, n)
            The residuals: torque from outside, positive in the direction of the joint, Nm.
        """
        if self.residual is None:
            self._ask(position, velocity)
            self._first = self._mass @ velocity
            self._integral = np.zeros((len(self._gains), len(torque)))
            self.residual = np.zeros_like(self._integral)
        else:
            # dM/dt qd, which is part of C' qd, adds up to what M changes by.
            before = self._mass
            if self._cycles % self._every == 0:
                self._ask(position, velocity)
            self._integral += (self._mass - before) @ velocity
        self._cycles += 1
        self._integral += (torque - self._bias + self.residual) * self._period
        self.residual = self._gains * (self._mass @ velocity - self._first - self._integral)
        return self.residual

    def _ask(self, position: FloatArray, velocity: FloatArray) -> None:
        self._bias = self._model(position, velocity, np.zeros_like(position))
        columns = [
            self._model(position, velocity, unit) - self._bias for unit in np.eye(len(position))
        ]
        self._mass = np.array(columns).T
