# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""
Predictions for many inputs, in clusters of near inputs that share the components that matter.

The bounds of `pruning` are one matrix product for all inputs of a cluster, and so is what
the components say that are left. Of 1,745 components three or four remain for an input, eighty for
a cluster of 64.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.spatial import cKDTree

from ilr_dynamics.arrays import FloatArray, IndexArray
from ilr_dynamics.regression.prediction.predictive_mixture import (
    BLOCK_ROWS,
    ComponentPredictions,
    PredictiveMixture,
)

__all__ = ["InputCluster", "input_clusters", "pruned_predictions"]

# Inputs that are screened together: more share a matrix product, fewer have fewer components in
# common.
NEIGHBOURS = 64
# Of fewer inputs or components all are evaluated: finding out which matter would take longer.
FEW_ROWS = 4 * NEIGHBOURS
FEW_COMPONENTS = 64
# From so many components on that one for all rows leaves, asking them costs more than asking
# every row for its own.
MANY_CANDIDATES = 256


def pruned_predictions(
    mixture: PredictiveMixture, U: FloatArray
) -> Iterator[tuple[IndexArray, PredictiveMixture, ComponentPredictions]]:
    """
    What the components of a mixture say that matter, to some inputs near each other at a time.

    What is left out weighs less than `pruning.NEGLIGIBLE_WEIGHT` at any of them. The last
    component, the unseen one, always stays.

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
    for near in input_clusters(mixture, U):
        log_densities = mixture.log_densities(near.input_products, near.chosen)
        relative = log_densities - log_densities.max(axis=1, keepdims=True)
        matters = relative.max(axis=0) > -mixture.pruning.log_margin
        matters[-1] = True
        part = mixture.part(near.chosen[matters])
        predictions = part.evaluated(near.U, near.products, log_densities[:, matters])
        yield near.rows, part, predictions


@dataclass(frozen=True)
class InputCluster:
    """
    Some inputs near each other.

    Attributes
    ----------
    rows : (n,)
        Their numbers among all.
    U : (n, q)
        Regressors.
    input_products, products
        Products of inputs [x, 1] and of regressors.
    chosen : (c,)
        Components that can matter to one of them, and the last of all.
    """

    rows: IndexArray
    U: FloatArray
    input_products: FloatArray
    products: FloatArray
    chosen: IndexArray


def input_clusters(mixture: PredictiveMixture, U: FloatArray) -> Iterator[InputCluster]:
    """Part regressors (n, q) into clusters; see `pruned_predictions`."""
    coordinates = mixture.coordinates(U)
    order = cKDTree(coordinates, leafsize=NEIGHBOURS, compact_nodes=False).indices
    unseen = np.array([mixture.dofs.size - 1])
    # Of one cluster after the other: to ask for new memory takes as long as the product.
    buffer = np.empty((NEIGHBOURS, unseen[0]))
    for start in range(0, len(U), BLOCK_ROWS):
        rows = order[start : start + BLOCK_ROWS]
        block = U[rows]
        input_products, products = mixture.products(block)
        of_unseen = mixture.log_densities(input_products, unseen)[:, 0]
        for first in range(0, len(rows), NEIGHBOURS):
            near = slice(first, first + NEIGHBOURS)
            distances = mixture.pruning.distances(coordinates[rows[near]], buffer)
            of_nearest = _log_densities_of_nearest(mixture, distances, input_products[near])
            largest = np.maximum(of_nearest, of_unseen[near])
            for some, chosen in _candidates(mixture, distances, largest):
                # Of most clusters all rows, which then need no copy.
                asking = near if some is None else some + first
                yield InputCluster(
                    rows[asking],
                    block[asking],
                    input_products[asking],
                    products[asking],
                    np.concatenate([chosen, unseen]),
                )


def _candidates(
    mixture: PredictiveMixture, distances: FloatArray, largest: FloatArray
) -> Iterator[tuple[IndexArray | None, IndexArray]]:
    """
    Components with samples that can matter to some rows.

    Parameters
    ----------
    mixture
        All components.
    distances : (n, k)
        Bounds of those with samples.
    largest : (n,)
        Log weight of any component, close to the largest, at each row.

    Yields
    ------
    rows
        Which of the n, or None for all.
    chosen : (c,)
        What can matter to one of them.
    """
    n_seen = distances.shape[1]
    constants, exponents = mixture.log_constants[:n_seen], mixture.exponents[:n_seen]
    lowest = largest - mixture.pruning.log_margin
    # By a logarithm a component, what the rows together rule out.
    bounds = np.log(np.maximum(distances.min(axis=0), 1.0))
    bounds *= -exponents
    bounds += constants
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
    can_matter = bounds > lowest[:, None]
    asks_many = can_matter.sum(axis=1) > MANY_CANDIDATES // 2
    # The others need not ask what those do that are far from all narrow components.
    for asking in (~asks_many, asks_many):
        if asking.any():
            rows = None if asking.all() else asking.nonzero()[0]
            yield rows, chosen[can_matter[asking].any(axis=0)]


def _log_densities_of_nearest(
    mixture: PredictiveMixture, distances: FloatArray, input_products: FloatArray
) -> FloatArray:
    """
    Log weight (n,) at each row of the component with samples that is nearest by its bound.

    Any component's weight is a lower bound of a row's largest; this one's is close to it or, far
    from all samples, that of the unseen one is.
    """
    unbounded = mixture.pruning.unbounded
    # One without a bound would be nearest everywhere.
    if unbounded.size:
        unbounded = unbounded[unbounded < distances.shape[1]]
        distances[:, unbounded] = np.inf
    nearest = distances.argmin(axis=1)
    if unbounded.size:
        distances[:, unbounded] = 1.0
    coefficients = mixture.distance_coefficients.take(nearest, axis=0)
    exact = np.einsum("np,np->n", input_products, coefficients).clip(0.0)
    exponents, constants = mixture.exponents.take(nearest), mixture.log_constants.take(nearest)
    return np.asarray(constants - exponents * np.log1p(exact))
