# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
r"""
Noise of torques about what identified dynamics expect, over joints that slip and that stick.

The torque of a joint that sticks may be anything up to its static friction, so its noise is many
times that of a joint that slips. With the share a of slipping (`slipping_share`), the variance is

.. math::
    \sigma^2(a) = a\,\sigma^2_\mathrm{slip} + (1 - a)\,\sigma^2_\mathrm{stick}

where either is the mean of the squared residuals weighted with a and with 1 - a.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np

from ilr_dynamics.arrays import FloatArray
from ilr_dynamics.robot.dynamics_terms import SLOWEST

__all__ = ["N_SUMS", "TorqueNoise", "slipping_share"]

# Least share of slipping: a joint that sticks shows the load only up to static friction.
STUCK_SHARE = 0.01
# Bounds of the Student-t's degrees of freedom: finite kurtosis, and nearly a normal distribution.
LOWEST_DOF, HIGHEST_DOF = 4.5, 200.0
SMALLEST_VARIANCE = 1e-6
# Rows of `TorqueNoise.sums`.
N_SUMS = 5


def slipping_share(velocity: FloatArray) -> FloatArray:
    """Share of slipping of each joint (n_samples, n): small below the slowest friction speed."""
    squared = velocity**2
    return STUCK_SHARE + (1.0 - STUCK_SHARE) * squared / (squared + SLOWEST**2)


@dataclass(frozen=True, eq=False)
class TorqueNoise:
    """
    Sums over the samples' residuals, from which the noise follows.

    Attributes
    ----------
    sums : ndarray of shape (5, n)
        Over all samples, weighted: a and 1 - a; the squared residuals times a and times 1 - a;
        the fourth powers of the residuals in units of their deviation.
    """

    sums: FloatArray

    @classmethod
    def none(cls, n_joints: int) -> Self:
        """Noise before any sample."""
        return cls(np.zeros((N_SUMS, n_joints)))

    def updated(self, residual: FloatArray, velocity: FloatArray, weights: FloatArray) -> Self:
        """
        Return the noise after further samples.

        Parameters
        ----------
        residual, velocity : ndarray of shape (n_samples, n)
            Residual torques, Nm, and joint velocities, rad/s.
        weights : ndarray of shape (n_samples,)
            Sample weights.
        """
        a, squares = slipping_share(velocity), residual**2
        first = [a, 1.0 - a, a * squares, (1.0 - a) * squares]
        sums = self.sums.copy()
        sums[:-1] += [weights @ term for term in first]
        with_squares = type(self)(sums)
        scaled = squares / with_squares.variance(velocity)
        sums[-1] += weights @ scaled**2
        return replace(with_squares, sums=sums)

    def discounted(self, factor: float) -> Self:
        """Return the noise with the weights of all samples multiplied by `factor`."""
        return replace(self, sums=factor * self.sums)

    def variance(self, velocity: FloatArray) -> FloatArray:
        """Variance of each joint's torque (n_samples, n) at joint velocities, Nm^2."""
        return self.of_slipping + self.of_sticking(velocity)

    @cached_property
    def of_slipping(self) -> FloatArray:
        """Variance (n,) of the torque of a joint that slips, Nm^2; 1 before any sample."""
        return _mean(self.sums[2], self.sums[0])

    def of_sticking(self, velocity: FloatArray) -> FloatArray:
        """Variance (n_samples, n) beyond that of slipping, at joint velocities, Nm^2."""
        return (1.0 - slipping_share(velocity)) * self._beyond_slipping

    @cached_property
    def _beyond_slipping(self) -> FloatArray:
        stuck = _mean(self.sums[3], self.sums[1])
        return np.asarray(np.maximum(stuck - self.of_slipping, 0.0))

    @cached_property
    def dof(self) -> float:
        """Degrees of freedom of the Student-t, from the kurtosis of the residuals."""
        weight = self.sums[0] + self.sums[1]
        if not np.all(weight > 0.0):
            return HIGHEST_DOF
        excess = float(np.mean(self.sums[4] / weight)) - 3.0
        return float(np.clip(4.0 + 6.0 / max(excess, 1e-6), LOWEST_DOF, HIGHEST_DOF))


def _mean(total: FloatArray, weight: FloatArray) -> FloatArray:
    mean = np.divide(total, weight, out=np.ones_like(weight), where=weight > 0.0)
    return np.asarray(np.maximum(mean, SMALLEST_VARIANCE))
