# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
r"""
What samples from before a change of the arm say of its parameters now.

Their likelihood is a normal density of the parameters chi as they were, with precision A and
pull b. If they have changed since by delta ~ N(0, F F'), they were chi - delta, and integrating
delta out leaves

.. math::
    A \leftarrow A - A F (I + F^\top A F)^{-1} F^\top A, \qquad
    b \leftarrow b - A F (I + F^\top A F)^{-1} F^\top b .

The covariance grows by F F' and nowhere else: of all other parameters as much is known as before.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from ilr_dynamics.arrays import FloatArray, IndexArray

__all__ = ["EarlierKnowledge"]


@dataclass(frozen=True, eq=False)
class EarlierKnowledge:
    """
    Likelihood of parameters, a normal density without its constant.

    Attributes
    ----------
    precision : ndarray of shape (P, P)
        Positive semidefinite; zero if nothing is known.
    pull : ndarray of shape (P,)
        Precision times most likely parameters.
    """

    precision: FloatArray
    pull: FloatArray

    @classmethod
    def none(cls, n_parameters: int) -> Self:
        """Nothing known."""
        return cls(np.zeros((n_parameters, n_parameters)), np.zeros(n_parameters))

    def of_first(self, n_parameters: int) -> Self:
        """Return the same of so many parameters: the first ones, or these and unknown ones."""
        more = max(n_parameters - self.pull.size, 0)
        return type(self)(
            np.pad(self.precision, (0, more))[:n_parameters, :n_parameters],
            np.pad(self.pull, (0, more))[:n_parameters],
        )

    def joined(self, indices: IndexArray, precision: FloatArray, pull: FloatArray) -> Self:
        """
        Return these and what each joint's torques say.

        Parameters
        ----------
        indices : ndarray of shape (n, C)
            Indices of the parameters of each joint's columns.
        precision, pull : ndarray of shape (n, C, C) and (n, C)
            Of these.
        """
        both = type(self)(self.precision.copy(), self.pull.copy())
        for own, of_joint, towards in zip(indices, precision, pull, strict=True):
            both.precision[np.ix_(own, own)] += of_joint
            both.pull[own] += towards
        return both

    def about(self, parameters: IndexArray, unit: FloatArray) -> float:
        """
        How much is known of some parameters: their precisions, summed up in units of others.

        Parameters
        ----------
        parameters : ndarray of shape (p,)
            Indices.
        unit : ndarray of shape (P,)
            Unit of the precision of each parameter.
        """
        return float(np.sum((np.diagonal(self.precision) / unit)[parameters]))

    def discounted(self, factor: float) -> Self:
        """Return what is left if it counts `factor` as much."""
        return type(self)(factor * self.precision, factor * self.pull)

    def after_change(self, factor: FloatArray) -> Self:
        """
        Return what is left once parameters have changed by some unknown amount.

        Parameters
        ----------
        factor : ndarray of shape (P, k)
            Root F of the covariance V = F F' of the change.
        """
        columns = self.precision @ factor
        inner = np.eye(factor.shape[1]) + factor.T @ columns
        towards = factor.T @ self.pull
        solved = cho_solve(cho_factor(inner), np.column_stack([columns.T, towards]))
        precision = self.precision - columns @ solved[:, :-1]
        return type(self)(0.5 * (precision + precision.T), self.pull - columns @ solved[:, -1])
