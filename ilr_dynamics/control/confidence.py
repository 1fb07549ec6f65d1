# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Confidence gate: the share of a learned torque to use, from its predictive uncertainty."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ilr_dynamics.arrays import FloatArray
from ilr_dynamics.control._comparisons import within
from ilr_dynamics.control._validation import finite, freeze, non_negative
from ilr_dynamics.exceptions import InvalidParameterError

__all__ = ["ConfidenceGate"]


@dataclass(frozen=True, slots=True, eq=False)
class ConfidenceGate:
    """
    Share in [0, 1] of a learned torque to use, from the uncertainty of its prediction.

    Where the error a_j of the fallback is known, from the recordings that the model learned, that
    of joint j is

    .. math:: g_j = a_j^2 / (a_j^2 + d_j^2)

    with the doubt d_j of the model about what it expects: of two estimates whose errors are
    independent the one with these weights errs least. It is at most each of two ramps, which
    bound what all joints use. One falls with the weight of the unseen component, which has no
    data; the other with the predictive standard deviation of the joint that comes closest to its
    bound. Each ramp is 1 up to its ``trusted`` bound, 0 from its ``refused`` bound on, and linear
    in between.

    Parameters
    ----------
    unseen_trusted, unseen_refused : float
        Bounds on the unseen component's weight, 0 <= trusted < refused <= 1.
    std_trusted, std_refused : ndarray of shape (n_joints,)
        Bounds on the predictive standard deviation, Nm, 0 <= trusted < refused.

    Raises
    ------
    InvalidParameterError
        If a pair of bounds violates these inequalities.
    """

    unseen_trusted: float
    unseen_refused: float
    std_trusted: FloatArray
    std_refused: FloatArray

    def __post_init__(self) -> None:
        n_joints = np.size(self.std_trusted)
        freeze(self, "std_trusted", non_negative("std_trusted", self.std_trusted, n_joints))
        freeze(self, "std_refused", finite("std_refused", self.std_refused, n_joints))
        if not (self.std_trusted < self.std_refused).all():
            raise InvalidParameterError(
                "std_trusted must be below std_refused, got "
                f"{self.std_trusted.tolist()} and {self.std_refused.tolist()} Nm"
            )
        if not 0.0 <= self.unseen_trusted < self.unseen_refused <= 1.0:
            raise InvalidParameterError(
                "expected 0 <= unseen_trusted < unseen_refused <= 1, got "
                f"{self.unseen_trusted:g} and {self.unseen_refused:g}"
            )

    def bound(self, unseen_weight: float, std: FloatArray) -> float:
        """
        Return the largest share of the torque that all joints may use, in [0, 1].

        Parameters
        ----------
        unseen_weight : float
            Predictive weight of the component without data.
        std : ndarray of shape (n_joints,)
            Predictive standard deviation of the torque, Nm.
        """
        # Both ramps are 1, as in nearly every cycle: no need to compute them.
        if unseen_weight <= self.unseen_trusted and within(std, self.std_trusted):
            return 1.0
        by_weight = (self.unseen_refused - unseen_weight) / (
            self.unseen_refused - self.unseen_trusted
        )
        by_spread = ((self.std_refused - std) / (self.std_refused - self.std_trusted)).min()
        # NumPy's minimum is NaN if one of both is, and nothing but 0 is left of that by these:
        # what is not known is not trusted.
        return max(0.0, min(float(np.minimum(by_weight, by_spread)), 1.0))

    def shares(
        self,
        unseen_weight: float,
        std: FloatArray,
        doubt: FloatArray,
        fallback_error: FloatArray | None,
    ) -> FloatArray:
        """
        Return the share of each joint's torque to use (n_joints,), in [0, 1].

        Parameters
        ----------
        unseen_weight, std
            As those of `bound`.
        doubt : ndarray of shape (n_joints,)
            Standard deviation of the expected torque, Nm.
        fallback_error : ndarray of shape (n_joints,) or None
            Root mean square error of the fallback, Nm; None where it is not known.
        """
        bound = self.bound(unseen_weight, std)
        if fallback_error is None:
            return np.full(std.shape, bound)
        known = fallback_error * fallback_error
        # Of NaN and 0, fmax takes 0.
        return np.asarray(np.fmax(np.minimum(known / (known + doubt * doubt), bound), 0.0))
