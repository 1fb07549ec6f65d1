# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""The components that matter to one query, and their weights, in as few operations as possible."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .influence import MAX_ERROR, Influence
from .predictive import PredictiveMixture
from .products import upper_triangle
from .screening import Screening

__all__ = ["Relevance", "products_of"]

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

# Share of components from which on all are evaluated in place: copying so many takes longer.
MANY = 0.25
# Up to so many components it costs more to leave out those whose weight proves negligible.
FEW = 8


class Relevance:
    """
    Weights of the components with samples that a bound does not rule out, and of the rest.

    Those with samples are narrow: the bounds of `screening` leave a few. The rest are the vacant
    components of a hierarchy and the unseen one, which are as wide as all data. Beside the data
    the vacant ones are not felt (`influence`) even if they were as heavy as at their centres,
    which is one comparison, or as their bounds allow; far from the data most of them are, so that
    all are evaluated where they lie in memory. The unseen component is always asked.

    Parameters
    ----------
    mixture
        Predictive distribution in standard units.
    screening
        Bounds of its components' distances.
    influence
        What leaving out the rest does to the prediction.
    variances : (K + 1, d)
        Variances of the outputs of each component where its map is certain.
    """

    def __init__(
        self,
        mixture: PredictiveMixture,
        screening: Screening,
        influence: Influence,
        variances: Array,
    ) -> None:
        self._mixture, self._screening = mixture, screening
        self._influence, self._variances = influence, variances
        self._coordinate_pairs = upper_triangle(len(screening.projection))
        self._log_margin = screening.log_margin
        n, first = mixture.exponents.size, influence.first
        self._last, self._numbers_of_rest = n - 1, np.arange(first, n)
        self._seen, self._rest = (
            _Views(
                mixture.log_constants[part],
                mixture.exponents[part],
                mixture.distance_coefficients[part],
                screening.coefficients[part],
            )
            for part in (slice(first), slice(first, n))
        )
        self._unbounded = screening.unbounded[screening.unbounded < first]
        # Largest log weight of a vacant component anywhere, and of all what is felt, by u'u.
        self._highest = float(mixture.log_constants[first:-1].max(initial=-np.inf))
        self._log_peak = influence.log_peak(mixture.log_constants, variances)
        # Of one query after the other; nothing of it is given away. The last is always asked.
        self._asked = np.full(first + 1, np.inf)
        self._bounds = self._asked[:-1]

    def __call__(self, z: Array, products: Array, squared_length: float) -> tuple[Indices, Array]:
        """
        Select the components that matter, and the last.

        Parameters
        ----------
        z : (m + 1,)
            Input [x, 1].
        products : ((m + 1) (m + 2) / 2,)
            Products of all pairs of its entries.
        squared_length
            Of the regressors.

        Returns
        -------
        chosen, weights : (c,)
            Their numbers, in rising order, and shares of the mixture.
        """
        coordinates = products_of(self._screening.projection.dot(z), self._coordinate_pairs)
        largest = self._screen(coordinates, products)
        # Of a damaged file: what is not a number fails all comparisons, and all are asked.
        if largest - math.log(squared_length) > self._log_peak:
            return self._without_vacant(largest, products)
        if largest > self._highest:
            chosen, weights = self._without_vacant(largest, products)
            if self._is_vacant_unfelt(coordinates, chosen, weights, largest, squared_length):
                return chosen, weights
        return self._with_vacant(largest, products)

    def _screen(self, coordinates: Array, products: Array) -> float:
        """Bound the log weights of components with samples; return a large one of any."""
        bounds = self._seen.log_bounds(coordinates, out=self._bounds)
        # Any component's weight is a lower bound of the largest; this one's is rarely far from it,
        # unless it is chosen because nothing is known of its distance.
        if self._unbounded.size:
            bounds[self._unbounded] = -np.inf
        best = int(bounds.argmax())
        if self._unbounded.size:
            bounds[self._unbounded] = np.inf
        largest = self._seen.log_weight(best, products)
        if largest > self._rest.log_constants[-1]:
            return largest
        return max(largest, self._rest.log_weight(-1, products))

    def _without_vacant(self, largest: float, products: Array) -> tuple[Indices, Array]:
        """Those with samples whose weight is not negligible, and the last of all."""
        chosen = self._above(largest - self._log_margin)
        chosen[-1] = self._last
        log_weights = self._log_weights(chosen, products)
        if chosen.size > FEW:
            matters = log_weights > log_weights.max() - self._log_margin
            matters[-1] = True
            chosen, log_weights = chosen[matters], log_weights[matters]
        return chosen, _normalised(log_weights)

    def _is_vacant_unfelt(
        self,
        coordinates: Array,
        chosen: Indices,
        weights: Array,
        largest: float,
        squared_length: float,
    ) -> bool:
        """Tell whether a prediction by the chosen components is as good as one by all."""
        influence = self._influence.of_shares(
            weights.dot(self._variances.take(chosen, axis=0)),
            weights.dot(self._influence.steepness.take(chosen, axis=0)),
            squared_length,
        )
        shares = np.exp(self._rest.log_bounds(coordinates) - largest)
        return bool(shares[:-1].dot(influence[:-1]) <= MAX_ERROR)

    def _with_vacant(self, largest: float, products: Array) -> tuple[Indices, Array]:
        """Those with samples whose weight is not negligible, and all others."""
        rest = self._rest.log_weights(products)
        lowest = max(largest, float(rest.max())) - self._log_margin
        seen = self._above(lowest)[:-1]
        if not seen.size:
            return self._numbers_of_rest, _normalised(rest)
        log_weights = self._log_weights(seen, products)
        matters = ~(log_weights < lowest)
        return (
            np.concatenate([seen[matters], self._numbers_of_rest]),
            _normalised(np.concatenate([log_weights[matters], rest])),
        )

    def _above(self, lowest: float) -> Indices:
        """Components with samples whose bound is larger, and one more."""
        if not math.isfinite(lowest):
            return np.arange(self._asked.size)
        return (self._asked > lowest).nonzero()[0]

    def _log_weights(self, chosen: Indices, products: Array) -> Array:
        """Log weights, not normalised, of some components."""
        mixture = self._mixture
        coefficients = mixture.distance_coefficients
        if chosen.size < MANY * self._asked.size:
            distances = coefficients.take(chosen, axis=0).dot(products)
        else:
            distances = coefficients.dot(products).take(chosen)
        return _log_densities(
            distances, mixture.log_constants.take(chosen), mixture.exponents.take(chosen)
        )


class _Views(NamedTuple):
    """What is asked of consecutive components; see `PredictiveMixture` and `Screening`."""

    log_constants: Array
    exponents: Array
    distance_coefficients: Array
    bound_coefficients: Array

    def log_bounds(self, coordinates: Array, out: Array | None = None) -> Array:
        """No component has a larger log weight than this, (n,)."""
        bounds = np.dot(self.bound_coefficients, coordinates, out=out)
        np.maximum(bounds, 1.0, out=bounds)
        np.log(bounds, out=bounds)
        bounds *= self.exponents
        return np.subtract(self.log_constants, bounds, out=bounds)

    def log_weights(self, products: Array) -> Array:
        """Log weights (n,), not normalised."""
        distances = self.distance_coefficients.dot(products)
        return _log_densities(distances, self.log_constants, self.exponents)

    def log_weight(self, index: int, products: Array) -> float:
        """Log weight of one of them."""
        distance = max(self.distance_coefficients[index].dot(products), 0.0)
        return float(self.log_constants[index] - self.exponents[index] * math.log1p(distance))


def _log_densities(distances: Array, constants: Array, exponents: Array) -> Array:
    np.maximum(distances, 0.0, out=distances)
    log_densities = np.log1p(distances, out=distances)
    log_densities *= exponents
    return np.subtract(constants, log_densities, out=log_densities)


def _normalised(log_weights: Array) -> Array:
    log_weights -= log_weights.max()
    weights = np.exp(log_weights, out=log_weights)
    weights /= weights.sum()
    return weights


def products_of(z: Array, pairs: tuple[Indices, Indices]) -> Array:
    """Products of all pairs of entries of one vector; see `products.pairwise_products`."""
    products = z.take(pairs[0])
    products *= z.take(pairs[1])
    return products
