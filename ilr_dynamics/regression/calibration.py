# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""
How much wider or narrower intervals have to be to cover what they say, on samples not learned.

Components with few samples in many dimensions are unsure of much that never matters, and a global
model errs in its own way; what both get wrong is measured, apart, on the newest recording before
it is learned. The spread of all components is then scaled by one factor, that of the unseen
component by another. What components disagree about between each other is spread too, which no
factor makes smaller.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from .predictive import ComponentPredictions, PredictiveMixture

__all__ = ["SpreadFactors", "observed_ratios", "spread_factors"]

Array = NDArray[np.float64]

# Fewer samples do not tell a quantile far out; the factor then stays as it was.
MIN_SAMPLES = 50


@dataclass(frozen=True)
class SpreadFactors:
    """
    Factors on standard deviations.

    Parameters
    ----------
    components
        Of all components that hold samples.
    unseen
        Of the unseen component.
    """

    components: float = 1.0
    unseen: float = 1.0


def observed_ratios(
    mixture: PredictiveMixture, predictions: ComponentPredictions, Y: Array, coverage: float
) -> tuple[Array, NDArray[np.bool_]]:
    """
    Compare distances of outputs to half widths of intervals, by the most probable component.

    Parameters
    ----------
    mixture, predictions
        What is predicted at n inputs.
    Y : (n, d)
        Outputs, in the units of the mixture.
    coverage
        Of the intervals.

    Returns
    -------
    ratios : (n, d)
        Above 1 where the output lies outside its interval.
    is_unseen : (n,)
        Where the unseen component is the most probable one.
    """
    best = predictions.log_weights.argmax(axis=1)
    rows = np.arange(len(best))
    variances = np.diagonal(mixture.noise_shapes, axis1=1, axis2=2)[best]
    scales = np.sqrt(predictions.factors[rows, best][:, None] * variances)
    half_widths = scales * stdtrit(mixture.dofs[best], 0.5 + 0.5 * coverage)[:, None]
    ratios = np.abs(Y - predictions.means[rows, best]) / half_widths
    return ratios, best == predictions.log_weights.shape[1] - 1


def spread_factors(
    ratios: Array, is_unseen: NDArray[np.bool_], coverage: float, present: SpreadFactors
) -> SpreadFactors:
    """
    Scale factors so that the share `coverage` of the ratios would be at most one.

    Parameters
    ----------
    ratios, is_unseen
        From `observed_ratios`.
    coverage
        Share of outputs that intervals should cover.
    present
        Factors that the ratios were observed with.
    """

    def corrected(factor: float, chosen: NDArray[np.bool_]) -> float:
        if np.count_nonzero(chosen) < MIN_SAMPLES:
            return factor
        return factor * float(np.quantile(ratios[chosen], coverage))

    return SpreadFactors(
        corrected(present.components, ~is_unseen), corrected(present.unseen, is_unseen)
    )
