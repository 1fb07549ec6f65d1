# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
r"""
Arrays by which the compiled mixture rules out components, from a few coordinates of the input.

The squared distance to a centre is never shorter than what is left of it in fewer coordinates
R' x, whatever the others are:

.. math::
    (x - m)^\top A\,(x - m) \;\ge\; (x - m)^\top R\,(R^\top A^{-1} R)^{-1} R^\top (x - m),

because the right side is the minimum of the left one over all x with the same R' x. With a lower
triangular L, A = L' L, the sum over the first rows of \|L (x - m)\|^2 is just that for the first
coordinates: the bound is the first part of the distance itself.

Components are screened eight at a time, those near each other in one block: first a box about the
centres of a block, in one coordinate at a time; then the first rows of each; then all rows.
`screening.h` does it, for one input or a box that holds several.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from ilr_dynamics.arrays import FloatArray, IndexArray
from ilr_dynamics.regression.prediction._mixture import LANES, MOST_COORDINATES, MOST_ROWS

__all__ = ["Screening"]


@dataclass(frozen=True)
class Screening:
    """
    Components with samples, K of them, in b blocks of L = 8, and these in g blocks of 8 boxes.

    Attributes
    ----------
    splits : (b, 2)
        Of the blocks before this one and those from it on, within what bisection has left: the
        coordinate in which they lie apart, and where.
    numbers : (b, L)
        Components of a block; -1 for none.
    first_rows : (b, r (r + 3) / 2, L / 2)
        The first r rows of their roots: numbers of single precision, two in each.
    boxes : (g, 3 s + 2, 8)
        Largest log weight c at a centre and 1 / e of each block; then of each of s coordinates the
        smallest and largest centre, and one by the largest variance.
    """

    splits: FloatArray
    numbers: FloatArray
    first_rows: FloatArray
    boxes: FloatArray

    @classmethod
    def of_components(
        cls,
        centres: FloatArray,
        log_constants: FloatArray,
        exponents: FloatArray,
        roots: FloatArray,
    ) -> Self:
        """Arrange components (K,) with centres (K, m) and roots (K, m, m + 1) in coordinates."""
        K, m = centres.shape
        n_rows, s = min(m, MOST_ROWS), min(m, MOST_COORDINATES)
        n_blocks = -(-K // LANES)
        order, splits = _arranged(centres, n_blocks)
        numbers = np.full((n_blocks, LANES), -1.0)
        numbers.ravel()[:K] = order
        packed = roots[:, *np.tril_indices(n_rows, 1, m + 1)][order]
        inverse = np.linalg.inv(roots[:, :s, 1 : s + 1])[order]
        variances = np.sum(inverse**2, axis=2)
        lowest, highest = (_in_lanes(centres[order, :s], end) for end in (np.inf, -np.inf))
        box = np.empty((n_blocks, 3 * s + 2))
        box[:, 0] = _in_lanes(log_constants[order], -np.inf).max(axis=1)
        box[:, 1] = _in_lanes(1.0 / exponents[order], 0.0).max(axis=1)
        box[:, 2::3], box[:, 3::3] = lowest.min(axis=1), highest.max(axis=1)
        box[:, 4::3] = 1.0 / _in_lanes(variances, 0.0).max(axis=1)
        # What overflows in single precision rules out no component.
        with np.errstate(over="ignore"):
            first_rows = np.swapaxes(_in_lanes(packed, 0.0), 1, 2).astype(np.float32, order="C")
        return cls(
            splits,
            numbers,
            first_rows.view(np.float64),
            np.ascontiguousarray(np.swapaxes(_in_lanes(box, 0.0), 1, 2)),
        )


def _in_lanes(values: FloatArray, padding: float) -> FloatArray:
    """Rows (n, ...) as blocks (ceil(n / L), L, ...), the last of which is filled up."""
    missing = -len(values) % LANES
    filled = np.concatenate([values, np.full((missing, *values.shape[1:]), padding)])
    return filled.reshape(-1, LANES, *values.shape[1:])


def _arranged(centres: FloatArray, n_blocks: int) -> tuple[IndexArray, FloatArray]:
    """Order (K,) in which near components share a block, and the splits that lead to it."""
    order, splits = np.arange(len(centres)), np.zeros((n_blocks, 2))
    pending = [(0, n_blocks)]
    while pending:
        first, end = pending.pop()
        if end - first < 2:
            continue
        middle = (first + end) // 2
        part, n_before = order[first * LANES : end * LANES], (middle - first) * LANES
        of_part = centres[part]
        widest = int(np.argmax(of_part.max(axis=0) - of_part.min(axis=0)))
        rank = np.argsort(of_part[:, widest], kind="stable")
        part[:] = part[rank]
        border = of_part[rank[n_before - 1 : n_before + 1], widest]
        splits[middle] = widest, border.mean()
        pending += [(first, middle), (middle, end)]
    return order, splits
