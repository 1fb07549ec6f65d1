# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
r"""
A few samples that stand for all that were learned, and how many independent ones those are.

Samples at neighbouring states share their error, so that each says little that is new. Of c
samples whose errors have correlation s, the mean is as certain as one of c / (1 - s + s c)
independent samples, so each of them counts

.. math::
    w_i = \frac{1}{1 - s + s\, c_i}, \qquad c_i = \sum_k m_k\, \rho(x_i, x_k)

with the number c_i of samples near sample i: a sum over representatives k, each of which stands
for m_k samples. Differences between neighbours are left unused, though the same Gaussian process
would trust them: they depend on its exact smoothness, which a few lengths do not describe.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from ilr_dynamics.arrays import FloatArray, IndexArray
from ilr_dynamics.robot.residual_correlation import ResidualCorrelation

__all__ = ["N_CANDIDATES", "N_KEPT", "N_SEARCHED", "RepresentativeSamples"]

# Samples of a batch by which the density of the batch is measured.
N_CANDIDATES = 1000
# Samples kept for later. As many: of a recording that is repeated each then meets its own.
N_KEPT = 1000
# Samples of a search for lengths, which takes time with the third power; the lengths of 150 and
# of 500 differ by a third.
N_SEARCHED = 300


@dataclass(frozen=True, eq=False)
class RepresentativeSamples:
    """
    Samples in the order in which they were learned.

    Attributes
    ----------
    X : ndarray of shape (n, 3 d)
        Inputs [q, qd, qdd], rad, rad/s, rad/s^2.
    Y : ndarray of shape (n, d)
        Torques, Nm.
    mass : ndarray of shape (n,)
        Number of samples for which each one stands; less after they were discounted.
    worth : ndarray of shape (n,)
        Number w of independent samples that each of these counts as.
    """

    X: FloatArray
    Y: FloatArray
    mass: FloatArray
    worth: FloatArray

    @classmethod
    def none(cls, n_joints: int) -> Self:
        """Representatives of no samples."""
        nothing = np.zeros(0)
        return cls(np.zeros((0, 3 * n_joints)), np.zeros((0, n_joints)), nothing, nothing)

    @classmethod
    def of_batch(
        cls, X: FloatArray, Y: FloatArray, weights: FloatArray
    ) -> tuple[Self, IndexArray]:
        """Candidates from samples X (n, 3 d), Y (n, d), weights (n,), and that of each sample."""
        rows, owner = _evenly(weights, N_CANDIDATES)
        return cls(X[rows], Y[rows], _sums(owner, weights), np.ones(len(rows))), owner

    @property
    def states(self) -> FloatArray:
        """Positions and velocities [q, qd] (n, 2 d)."""
        return self.X[:, : 2 * self.Y.shape[1]]

    def with_others(self, others: Self) -> Self:
        """Return these and then others."""
        return type(self)(
            np.concatenate([self.X, others.X]),
            np.concatenate([self.Y, others.Y]),
            np.concatenate([self.mass, others.mass]),
            np.concatenate([self.worth, others.worth]),
        )

    def discounted(self, factor: float) -> Self:
        """Return what is left if samples weigh `factor` as much."""
        if factor == 0.0:
            return self.none(self.Y.shape[1])
        return replace(self, mass=factor * self.mass)

    def weighed(self, correlation: ResidualCorrelation) -> Self:
        """Return these with the worth that their density leaves them."""
        return replace(self, worth=1.0 / self._counts(correlation))

    def reweighed(
        self, batch: Self, before: ResidualCorrelation, now: ResidualCorrelation
    ) -> Self:
        """
        Return these and then a batch, with the worth that the density of both leaves them.

        The worth of these changes by the ratio of the densities before and now. That of the
        density now would be less although nothing repeats them: each stands for samples along
        some way, which would seem to be at one place.

        Parameters
        ----------
        batch : RepresentativeSamples
        before, now : ResidualCorrelation
            With which these were weighed, and with which all are.
        """
        both = self.with_others(batch).weighed(now)
        known = len(self.mass)
        of_known = self.worth * self._counts(before) * both.worth[:known]
        worth = np.concatenate([np.minimum(of_known, 1.0), both.worth[known:]])
        return replace(both, worth=worth)

    def _counts(self, correlation: ResidualCorrelation) -> FloatArray:
        """Number 1 - s + s c of samples that count as one, near each of these (n,)."""
        near = correlation.between(self.states, self.states) @ self.mass
        share = correlation.share
        return 1.0 - share + share * np.maximum(near, 1.0)

    def thinned(self, n: int) -> Self:
        """Return n of them at most, evenly by what they are worth; those stand for all."""
        if len(self.mass) <= n:
            return self
        rows, owner = _evenly(self.mass * self.worth, n)
        return self._stand_for(rows, owner)

    def distinct(self) -> Self:
        """
        Return these with one in place of several that have the same inputs to the last digit.

        Of a recording that is learned twice, samples share their noise too, which is no
        correlation between states.
        """
        _, first, owner = np.unique(self.X, axis=0, return_index=True, return_inverse=True)
        order = np.argsort(first)
        return self._stand_for(first[order], np.argsort(order)[owner.ravel()])

    def _stand_for(self, rows: IndexArray, owner: IndexArray) -> Self:
        """Return some rows that stand for all; `owner` is the place of that of each (n,)."""
        mass = _sums(owner, self.mass)
        total = _sums(owner, self.mass * self.worth)
        return type(self)(self.X[rows], self.Y[rows], mass, total / mass)


def _sums(owner: IndexArray, values: FloatArray) -> FloatArray:
    """Sum (m,) of the values (n,) that each of m owners has."""
    return np.bincount(owner, values).astype(float)


def _evenly(weights: FloatArray, n: int) -> tuple[IndexArray, IndexArray]:
    """
    Choose at most n rows, evenly in the sum of positive weights (m,), without chance.

    Returns the rows, and for each of the m rows the place in them of the one that stands for it.
    """
    if len(weights) <= n:
        rows = np.arange(len(weights))
        return rows, rows
    # The middle of each row's share of the sum, so that equal weights give equal intervals.
    sums = np.cumsum(weights)
    part = ((sums - 0.5 * weights) / sums[-1] * n).astype(np.intp)
    _, first, owner, counts = np.unique(
        np.minimum(part, n - 1), return_index=True, return_inverse=True, return_counts=True
    )
    return first + counts // 2, owner
