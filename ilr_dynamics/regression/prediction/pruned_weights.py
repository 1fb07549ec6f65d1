# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Weights of the components that matter to a single query, in few operations."""

from __future__ import annotations

import math

import numpy as np

from ilr_dynamics.arrays import FloatArray, IndexArray
from ilr_dynamics.regression.families.quadratic_forms import upper_triangle
from ilr_dynamics.regression.prediction.predictive_mixture import PredictiveMixture
from ilr_dynamics.regression.prediction.pruning import PruningBounds

__all__ = ["PrunedWeights", "products_of"]

# Share of components from which on all are evaluated in place: copying so many takes longer.
MANY = 0.25
# Up to so many components it costs more to leave out those whose weight proves negligible.
FEW = 8


class PrunedWeights:
    """
    Weights of the components with samples that a bound does not rule out, and of the unseen one.

    Those with samples are narrow: the bounds of `pruning` leave a few. The unseen component,
    the last, is as wide as all data, and always evaluated.

    Parameters
    ----------
    mixture
        Predictive distribution in standard units.
    pruning
        Bounds of its components' distances.
    """

    def __init__(self, mixture: PredictiveMixture, pruning: PruningBounds) -> None:
        self._mixture, self._projection = mixture, pruning.projection
        self._coordinate_pairs = upper_triangle(len(pruning.projection))
        self._log_margin = pruning.log_margin
        self._last = mixture.exponents.size - 1
        self._constants = mixture.log_constants[: self._last]
        self._exponents = mixture.exponents[: self._last]
        self._coefficients = pruning.coefficients[: self._last]
        self._unbounded = pruning.unbounded[pruning.unbounded < self._last]
        # Of one query after the other; nothing of it is given away. The last is always evaluated.
        self._asked = np.full(self._last + 1, np.inf)
        self._bounds = self._asked[:-1]

    def __call__(self, z: FloatArray, products: FloatArray) -> tuple[IndexArray, FloatArray]:
        """
        Select the components that matter, and the last.

        Parameters
        ----------
        z : (m + 1,)
            Input [x, 1].
        products : ((m + 1) (m + 2) / 2,)
            Products of all pairs of its entries.

        Returns
        -------
        chosen, weights : (c,)
            Their numbers, in rising order, and shares of the mixture.
        """
        largest = -math.inf
        if self._bounds.size:
            largest = self._log_weight(self._nearest(z), products)
        # Beside the data, which most queries are, it is not needed.
        if not largest > self._mixture.log_constants[self._last]:
            largest = max(largest, self._log_weight(self._last, products))
        chosen = self._above(largest - self._log_margin)
        log_weights = self._log_weights(chosen, products)
        if chosen.size > FEW:
            # Of a damaged file: what is not a number fails every comparison, and is kept.
            matters = ~(log_weights < log_weights.max() - self._log_margin)
            matters[-1] = True
            chosen, log_weights = chosen[matters], log_weights[matters]
        return chosen, _normalised(log_weights)

    def _nearest(self, z: FloatArray) -> int:
        """Bound the log weights of components with samples; return that of the largest bound.

        Any component's weight is a lower bound of the largest; this one's is rarely far from it,
        unless it is chosen because nothing is known of its distance.
        """
        coordinates = products_of(self._projection.dot(z), self._coordinate_pairs)
        bounds = np.dot(self._coefficients, coordinates, out=self._bounds)
        np.maximum(bounds, 1.0, out=bounds)
        np.log(bounds, out=bounds)
        bounds *= self._exponents
        np.subtract(self._constants, bounds, out=bounds)
        if not self._unbounded.size:
            return int(bounds.argmax())
        bounds[self._unbounded] = -np.inf
        nearest = int(bounds.argmax())
        bounds[self._unbounded] = np.inf
        return nearest

    def _above(self, lowest: float) -> IndexArray:
        """Components with samples whose bound is larger, and the last of all."""
        if not math.isfinite(lowest):
            return np.arange(self._asked.size)
        return (self._asked > lowest).nonzero()[0]

    def _log_weight(self, index: int, products: FloatArray) -> float:
        """Log weight, not normalised, of one component."""
        mixture = self._mixture
        distance = max(mixture.distance_coefficients[index].dot(products), 0.0)
        return float(
            mixture.log_constants[index] - mixture.exponents[index] * math.log1p(distance)
        )

    def _log_weights(self, chosen: IndexArray, products: FloatArray) -> FloatArray:
        """Log weights, not normalised, of some components."""
        mixture = self._mixture
        coefficients = mixture.distance_coefficients
        if chosen.size < MANY * self._asked.size:
            distances = coefficients.take(chosen, axis=0).dot(products)
        else:
            distances = coefficients.dot(products).take(chosen)
        np.maximum(distances, 0.0, out=distances)
        log_weights = np.log1p(distances, out=distances)
        log_weights *= mixture.exponents.take(chosen)
        return np.subtract(mixture.log_constants.take(chosen), log_weights, out=log_weights)


def _normalised(log_weights: FloatArray) -> FloatArray:
    log_weights -= log_weights.max()
    weights = np.exp(log_weights, out=log_weights)
    weights /= weights.sum()
    return weights


def products_of(z: FloatArray, pairs: tuple[IndexArray, IndexArray]) -> FloatArray:
    """Products of all pairs of entries of one vector; see `quadratic_forms.pairwise_products`."""
    products = z.take(pairs[0])
    products *= z.take(pairs[1])
    return products
