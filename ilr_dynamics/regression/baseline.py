# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""What is known of the outputs beside the local models, which learn what it leaves."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from ilr_dynamics.arrays import FloatArray
from ilr_dynamics.exceptions import InvalidDataError, InvalidParameterError
from ilr_dynamics.regression.fallback import Fallback, FallbackPrediction, check_fallback_fits
from ilr_dynamics.regression.prior_mean import PriorMean

__all__ = ["Baseline", "BaselinePrediction"]


@dataclass(frozen=True)
class BaselinePrediction:
    """
    What a baseline says about the outputs of n inputs, in physical units.

    Parameters
    ----------
    added : (n, d)
        What is added to the mixture's mean; None: nothing.
    unseen
        What the unseen component predicts; None: what the prior does.
    """

    added: FloatArray | None
    unseen: FallbackPrediction | None


@dataclass(frozen=True)
class Baseline:
    """
    A prior mean, or a fallback, or neither.

    Parameters
    ----------
    prior_mean
        What is added to the mixture's mean, if anything.
    fallback
        What the unseen component predicts, if not the prior.
    learn_residual
        Whether the fallback's mean is added to the mixture's too.

    Raises
    ------
    InvalidParameterError
        If a residual is to be learned that no fallback leaves, or not it alone.
    """

    prior_mean: PriorMean | None = None
    fallback: Fallback | None = None
    learn_residual: bool = False

    def __post_init__(self) -> None:
        """Check that one function is added to the mixture's mean at most."""
        if self.learn_residual and (self.fallback is None or self.prior_mean is not None):
            raise InvalidParameterError(
                "learn_residual is True: expected a fallback that leaves something, and no prior "
                f"mean, got {self.fallback!r} and {self.prior_mean!r}"
            )

    @property
    def is_added(self) -> bool:
        """Whether anything is added to the mixture's mean."""
        return self.learn_residual or self.prior_mean is not None

    def expected(self, X: FloatArray) -> FloatArray | None:
        """What is added to the mixture's mean at inputs (n, m), (n, d); None: nothing."""
        if self.learn_residual:
            assert self.fallback is not None
            return self.fallback.expected(X)
        return None if self.prior_mean is None else self.prior_mean(X)

    def predict(self, X: FloatArray) -> BaselinePrediction:
        """Predict at inputs X (n, m), in physical units."""
        unseen = None if self.fallback is None else self.fallback.predict(X)
        # The same mean serves both, as a fallback may take longer than the mixture.
        if self.learn_residual and unseen is not None:
            return BaselinePrediction(unseen.mean, unseen)
        return BaselinePrediction(self.expected(X), unseen)

    def residual(self, X: FloatArray, Y: FloatArray) -> FloatArray:
        """
        What of outputs Y (n, d) at inputs X (n, m) is left to be learned, in physical units.

        Raises
        ------
        InvalidDataError
            If what is expected there has another shape or is not finite.
        """
        expected = self.expected(X)
        if expected is None:
            return Y
        expected = np.asarray(expected, dtype=float)
        if expected.shape != Y.shape:
            raise InvalidDataError(
                f"the prior mean must have shape {Y.shape}, got {expected.shape}"
            )
        if not np.all(np.isfinite(expected)):
            raise InvalidDataError("the prior mean is not finite at some sample")
        if not self.learn_residual:
            return Y - expected
        assert self.fallback is not None
        # Where it says nothing the fallback stands, and components learn that nothing is left.
        return self.fallback.informative_share(X) * (Y - expected)

    def updated(self, X: FloatArray, Y: FloatArray, weights: FloatArray) -> Self:
        """Let the fallback, if any, learn further samples; InvalidDataError if it cannot."""
        if self.fallback is None:
            return self
        fallback = self.fallback.updated(X, Y, weights)
        check_fallback_fits(fallback, X, Y.shape[1])
        return replace(self, fallback=fallback)

    def discounted(self, factor: float) -> Self:
        """Return what is known if earlier samples weigh `factor` as much."""
        if self.fallback is None:
            return self
        return replace(self, fallback=self.fallback.discounted(factor))
