# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""
Many inputs at once: those near each other together, with the components that can matter there.

The bounds of `screening` are one matrix product for all inputs of a neighbourhood, and so is what
the components say that are left. Of 1,745 they leave three or four to each of 64 inputs and eighty
to all of them. To ask each pair of an input and a component alone was tried: it takes as long.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from .component_predictions import ComponentPredictions
from .predictive import BLOCK_ROWS, PredictiveMixture

__all__ = ["Neighbourhood", "neighbourhoods", "relevant_predictions"]

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

# Inputs that are screened together: more share a matrix product, fewer have fewer components in
# common.
NEIGHBOURS = 64
# Of fewer inputs or components all are asked: finding out which matter would take longer.
FEW_ROWS = 4 * NEIGHBOURS
FEW_COMPONENTS = 64
# From so many components on that one for all rows leaves, asking them costs more than asking
# every row for its own.
MANY_CANDIDATES = 256


def relevant_predictions(
    mixture: PredictiveMixture, U: Array
) -> Iterator[tuple[Indices, PredictiveMixture, ComponentPredictions]]:
    """
    What the components of a mixture say that matter, to some inputs near each other at a time.

    What is left out weighs less than 1e-18 of the mixture at any of them; the last component, the
    unseen one, always stays.

    Parameters
    ----------
    mixture
        All components.
    U : (n, q)
        Regressors of the inputs.

    Yields
    ------
    rows : (n', )
        Of `U`.
    part
        The components that matter there.
    predictions
        What these say.
    """
    if len(U) < FEW_ROWS or mixture.dofs.size < FEW_COMPONENTS:
        for start in range(0, len(U), BLOCK_ROWS):
            rows = np.arange(start, min(start + BLOCK_ROWS, len(U)))
            yield rows, mixture, mixture.predict(U[rows])
        return
    for near in neighbourhoods(mixture, U):
        log_densities = mixture.log_densities(near.gate_products, near.chosen)
        relative = log_densities - log_densities.max(axis=1, keepdims=True)
        matters = relative.max(axis=0) > -mixture.screening.log_margin
        matters[-1] = True
        part = mixture.part(near.chosen[matters])
        predictions = part.evaluated(near.U, near.products, log_densities[:, matters])
        yield near.rows, part, predictions


@dataclass(frozen=True)
class Neighbourhood:
    """
    Some inputs near each other.

    Parameters
    ----------
    rows : (n,)
        Their numbers among all.
    U : (n, q)
        Regressors.
    gate_products, products
        Products of inputs [x, 1] and of regressors.
    chosen : (c,)
        Components that can matter to one of them, and the last of all.
    """

    rows: Indices
    U: Array
    gate_products: Array
    products: Array
    chosen: Indices


def neighbourhoods(mixture: PredictiveMixture, U: Array) -> Iterator[Neighbourhood]:
    """
    Part regressors (n, q) into neighbourhoods.

    What cannot matter weighs less than 1e-18 of the mixture; the last component always can.
    """
    coordinates = mixture.coordinates(U)
    order = cKDTree(coordinates, leafsize=NEIGHBOURS, compact_nodes=False).indices
    # Of one neighbourhood after the other: to ask for new memory takes as long as the product.
    buffer = np.empty((NEIGHBOURS, mixture.dofs.size))
    for start in range(0, len(U), BLOCK_ROWS):
        rows = order[start : start + BLOCK_ROWS]
        block = U[rows]
        gate_products, products = mixture.products(block)
        for first in range(0, len(rows), NEIGHBOURS):
            near = slice(first, first + NEIGHBOURS)
            for some, chosen in _candidates(
                mixture, coordinates[rows[near]], gate_products[near], buffer
            ):
                # Of most neighbourhoods all rows, which then need no copy.
                asking = near if some is None else some + first
                yield Neighbourhood(
                    rows[asking], block[asking], gate_products[asking], products[asking], chosen
                )


def _candidates(
    mixture: PredictiveMixture, coordinates: Array, gate_products: Array, buffer: Array
) -> Iterator[tuple[Indices | None, Indices]]:
    """Rows, of n, or None for all; the components that can matter to one of them, and the last."""
    constants, exponents = mixture.log_constants, mixture.exponents
    distances = mixture.screening.distances(coordinates, buffer)
    largest = _large_log_densities(mixture, distances, gate_products)
    lowest = largest - mixture.screening.log_margin
    # By a logarithm a component, what the rows together rule out.
    bounds = np.log(np.maximum(distances.min(axis=0), 1.0))
    bounds *= -exponents
    bounds += constants
    bounds[-1] = np.inf
    chosen = (bounds > lowest.min()).nonzero()[0]
    if chosen.size < MANY_CANDIDATES:
        yield None, chosen
        return
    # A row far from the others has a small largest weight, which is none of theirs: what each row
    # does not rule out.
    bounds = np.maximum(distances.take(chosen, axis=1), 1.0)
    np.log(bounds, out=bounds)
    bounds *= -exponents.take(chosen)
    bounds += constants.take(chosen)
    bounds[:, -1] = np.inf
    can_matter = bounds > lowest[:, None]
    is_hungry = can_matter.sum(axis=1) > MANY_CANDIDATES // 2
    if not is_hungry.any():
        yield None, chosen[can_matter.any(axis=0)]
        return
    # The others need not ask what those do that are far from all narrow components.
    for rows in ((~is_hungry).nonzero()[0], is_hungry.nonzero()[0]):
        if rows.size:
            yield rows, chosen[can_matter[rows].any(axis=0)]


def _large_log_densities(
    mixture: PredictiveMixture, distances: Array, gate_products: Array
) -> Array:
    """Log weight (n,) of a component of each row that is close to the largest."""
    # Any component's weight is a lower bound of a row's largest. That of the nearest narrow one is
    # close to it; of the wide ones, which are near everywhere, where no narrow one is. The unseen
    # one is so wide that it would often be nearest but for its weight.
    unseen = mixture.dofs.size - 1
    n_narrow = min(mixture.n_narrow, unseen)
    # One without a bound would be nearest everywhere.
    hidden = np.append(mixture.screening.unbounded, unseen)
    kept = distances.take(hidden, axis=1)
    distances[:, hidden] = np.inf
    if n_narrow == unseen:
        # Without a copy, which the search in a part of each row makes.
        nearest = [distances.argmin(axis=1)]
    else:
        nearest = [
            distances[:, :n_narrow].argmin(axis=1),
            distances[:, n_narrow:unseen].argmin(axis=1) + n_narrow,
        ]
    distances[:, hidden] = kept
    largest = mixture.log_densities(gate_products, np.array([unseen]))[:, 0]
    for best in nearest:
        np.maximum(largest, _log_densities(mixture, best, gate_products), out=largest)
    return largest


def _log_densities(mixture: PredictiveMixture, chosen: Indices, gate_products: Array) -> Array:
    """Log weight (n,) of one component for each row."""
    coefficients = mixture.distance_coefficients.take(chosen, axis=0)
    distances = np.einsum("np,np->n", gate_products, coefficients).clip(0.0)
    log_densities = np.log1p(distances, out=distances)
    log_densities *= -mixture.exponents.take(chosen)
    log_densities += mixture.log_constants.take(chosen)
    return log_densities
