# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Polynomials up to degree five in normalised time u, from 0 to 1 along a segment."""

from __future__ import annotations

from math import comb

import numpy as np

from ilr_dynamics.arrays import FloatArray

__all__ = ["BEZIER", "HERMITE", "basis"]


def basis(u: float, rate: float) -> FloatArray:
    """Powers of normalised time u in [0, 1] and their time derivatives, (3, 6)."""
    u2 = u * u
    u3 = u2 * u
    u4 = u3 * u
    square = rate * rate
    return np.array(
        (
            (1.0, u, u2, u3, u4, u4 * u),
            (0.0, rate, 2.0 * rate * u, 3.0 * rate * u2, 4.0 * rate * u3, 5.0 * rate * u4),
            (0.0, 0.0, 2.0 * square, 6.0 * square * u, 12.0 * square * u2, 20.0 * square * u3),
        )
    )


def _hermite(degree: int) -> FloatArray:
    """Matrix from the values at u = 0 and u = 1 to six coefficients, (6, degree + 1)."""
    n_fields = (degree + 1) // 2
    ends = np.vstack([basis(u, 1.0)[:n_fields, : degree + 1] for u in (0.0, 1.0)])
    matrix = np.zeros((6, degree + 1))
    # All entries are multiples of one half: rounding removes the solver's error.
    matrix[: degree + 1] = np.round(2.0 * np.linalg.inv(ends)) / 2.0
    return matrix


HERMITE = {degree: _hermite(degree) for degree in (1, 3, 5)}
"""Matrices from the values at both ends of a segment to its coefficients, by degree."""

BEZIER = np.array([[comb(i, k) / comb(5, k) for k in range(6)] for i in range(6)])
"""Matrix (6, 6) from coefficients to Bezier control points, whose extremes bound the segment."""
