# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""
Many inputs at once: those near each other together, with the components that can matter there.

The bounds of `screening` are one matrix product for all inputs of a neighbourhood, and so is what
the components say that are left. Of 1,745 they leave three or four to each of 64 inputs and eighty
to all of them: to ask each pair of an input and a component alone takes no less time.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

if TYPE_CHECKING:
    from .predictive import PredictiveMixture

__all__ = ["Neighbourhood", "neighbourhoods"]

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

# Inputs whose products are formed together, by far fewer calls than for one neighbourhood.
BLOCK_ROWS = 512
# Inputs that are screened together: more share a matrix product, fewer have fewer components in
# common.
NEIGHBOURS = 64
# From so many components on that one for all rows leaves, asking them costs more than asking
# every row for its own.
MANY_CANDIDATES = 128


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
            chosen = _candidates(mixture, coordinates[rows[near]], gate_products[near], buffer)
            yield Neighbourhood(
                rows[near], block[near], gate_products[near], products[near], chosen
            )


def _candidates(
    mixture: PredictiveMixture, coordinates: Array, gate_products: Array, buffer: Array
) -> Indices:
    """Components that can matter to one of n rows, and the last."""
    constants, exponents = mixture.log_constants, mixture.exponents
    distances, best = mixture.screening.nearest(coordinates, buffer)
    # Any component's weight is a lower bound of a row's largest; this one's is close to it.
    distance = np.einsum(
        "np,np->n", gate_products, mixture.distance_coefficients.take(best, axis=0)
    )
    largest = constants.take(best) - exponents.take(best) * np.log1p(distance.clip(0.0))
    lowest = largest - mixture.screening.log_margin
    # By a logarithm a component, what the rows together rule out.
    bounds = np.log(np.maximum(distances.min(axis=0), 1.0))
    bounds *= -exponents
    bounds += constants
    bounds[-1] = np.inf
    chosen = (bounds > lowest.min()).nonzero()[0]
    if chosen.size < MANY_CANDIDATES:
        return chosen
    # A row far from the others has a small largest weight, which is none of theirs: what each row
    # does not rule out.
    bounds = np.maximum(distances.take(chosen, axis=1), 1.0)
    np.log(bounds, out=bounds)
    bounds *= -exponents.take(chosen)
    bounds += constants.take(chosen)
    bounds[:, -1] = np.inf
    return chosen[np.any(bounds > lowest[:, None], axis=0)]
