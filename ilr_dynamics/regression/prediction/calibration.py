# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""
Calibration of intervals: factors on standard deviations, found on samples not learned.

Components with few samples in many dimensions are unsure of much that never matters, and a global
model errs in its own way; what both get wrong is measured, apart, on the newest recording before
it is learned. The spread of all components is then scaled by one factor, that of the unseen
component by another. What components disagree about between each other is spread too, which no
factor makes smaller: so what is counted is what the intervals of the whole mixture cover.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

import numpy as np
from scipy.special import stdtr

from ilr_dynamics.arrays import BoolArray, FloatArray
from ilr_dynamics.regression.prediction.component_predictions import (
    ComponentPredictions,
    added_shapes,
    shapes,
)
from ilr_dynamics.regression.prediction.predictive_mixture import PredictiveMixture
from ilr_dynamics.regression.units.spread import SpreadFactors

__all__ = ["MIN_SAMPLES", "SMALLEST_WEIGHT", "Outcomes", "spread_factors"]

# Fewer samples do not determine a quantile far out; the factor then stays as it was.
MIN_SAMPLES = 50
# Components of smaller weight do not move the border of an interval; outcomes leave them out.
SMALLEST_WEIGHT = 1e-4
# Bounds of either factor.
SMALLEST_FACTOR, LARGEST_FACTOR = 0.05, 1e3
# Steps of the search for a factor: to a thousandth, finer than samples determine it.
BISECTIONS = 14
# The factors depend on each other where both kinds of component have weight.
ROUNDS = 2


@dataclass(frozen=True)
class Outcomes:
    """
    Outputs of n samples and what was predicted of them, the spread factors not yet counted.

    Attributes
    ----------
    weights : (n, k)
        Of the k components that matter most to any of them.
    residuals : (n, k, d)
        Of the outputs about the components' locations.
    shapes : (n, k, d)
        Squared scales of the components' Student-t, which a factor widens.
    added : (n, k, d)
        What is added to these, whatever the factor.
    dofs : (n, k)
        Degrees of freedom.
    is_unseen : (n, k)
        Which of the components is the unseen one.
    """

    weights: FloatArray
    residuals: FloatArray
    shapes: FloatArray
    added: FloatArray
    dofs: FloatArray
    is_unseen: BoolArray

    @classmethod
    def of(
        cls,
        mixture: PredictiveMixture,
        predictions: ComponentPredictions,
        Y: FloatArray,
        factors: SpreadFactors,
    ) -> Outcomes:
        """Of outputs Y (n, d) in the units of the mixture, whose spread has these factors."""
        is_unseen = predictions.numbers == mixture.dofs.size - 1
        present = np.where(is_unseen, factors.unseen, factors.components)
        added = added_shapes(mixture, predictions)
        # What is added to the unseen component is scaled with it.
        added[is_unseen] = 0.0
        return cls(
            predictions.weights,
            Y[:, None, :] - predictions.means,
            (shapes(mixture, predictions) - added) / present[:, :, None] ** 2,
            added,
            mixture.dofs[predictions.numbers],
            is_unseen,
        )

    @property
    def of_unseen(self) -> BoolArray:
        """Where (n,) the unseen component has more weight than any other."""
        return self.is_unseen[:, 0]

    def covered(self, factors: SpreadFactors, coverage: float) -> float:
        """Share of the outputs inside the mixture's central intervals of this coverage."""
        factor = np.where(self.is_unseen, factors.unseen, factors.components)
        scales = np.sqrt(factor[:, :, None] ** 2 * self.shapes + self.added)
        below = stdtr(self.dofs[:, :, None], self.residuals / scales)
        weights = self.weights / self.weights.sum(axis=1, keepdims=True)
        probability = np.einsum("nk,nkd->nd", weights, below)
        return float(np.mean(np.abs(2.0 * probability - 1.0) <= coverage))

    def chosen(self, rows: BoolArray) -> Outcomes:
        """Some of them."""
        return Outcomes(*(getattr(self, field.name)[rows] for field in fields(self)))


def spread_factors(
    outcomes: list[Outcomes], coverage: float, present: SpreadFactors
) -> SpreadFactors:
    """
    Factors with which intervals have their nominal coverage.

    Each is found on the samples at which its own kind of component has most weight, if there are
    at least 50.

    Parameters
    ----------
    outcomes
        Of samples that were not learned.
    coverage
        Share of outputs that intervals should cover.
    present
        What a factor stays at if too few samples tell.
    """
    n_unseen = sum(int(np.sum(part.of_unseen)) for part in outcomes)
    n_others = sum(len(part.weights) for part in outcomes) - n_unseen
    of_unseen = [part.chosen(part.of_unseen) for part in outcomes]
    of_others = [part.chosen(~part.of_unseen) for part in outcomes]
    factors = present
    for _ in range(ROUNDS):
        if n_others >= MIN_SAMPLES:
            factors = _with_factor_found(factors, "components", of_others, coverage)
        if n_unseen >= MIN_SAMPLES:
            factors = _with_factor_found(factors, "unseen", of_unseen, coverage)
    return factors


def _with_factor_found(
    factors: SpreadFactors, name: str, outcomes: list[Outcomes], coverage: float
) -> SpreadFactors:
    """Give one factor the smallest value that covers enough, by bisection of its logarithm."""
    outcomes = [part for part in outcomes if len(part.weights)]
    sizes = [len(part.weights) for part in outcomes]
    low, high = np.log(SMALLEST_FACTOR), np.log(LARGEST_FACTOR)
    for _ in range(BISECTIONS):
        middle = 0.5 * (low + high)
        tried = replace(factors, **{name: float(np.exp(middle))})
        shares = [part.covered(tried, coverage) for part in outcomes]
        if np.average(shares, weights=sizes) < coverage:
            low = middle
        else:
            high = middle
    return replace(factors, **{name: float(np.exp(high))})
