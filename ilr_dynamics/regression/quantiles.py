# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Quantiles of mixtures of univariate Student-t distributions."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, stdtr, stdtrit

__all__ = ["mixture_quantile"]

Array = NDArray[np.float64]

MAX_ITERATIONS = 80
PROBABILITY_TOLERANCE = 1e-10


def mixture_quantile(
    probability: float, weights: Array, locations: Array, scales: Array, dofs: Array
) -> Array:
    """
    Solve sum_k w_k F_k(y) = probability for y by Newton's method, kept inside a bracket.

    The quantile of a mixture lies between the smallest and the largest quantile of its
    components; a Newton step that leaves the bracket is replaced by bisection.

    Parameters
    ----------
    probability
        Between 0 and 1.
    weights, locations, scales, dofs : (..., K)
        Mixtures along the last axis; weights sum to one.

    Returns
    -------
    y : (...)
    """
    of_components = locations + scales * stdtrit(dofs, probability)
    present = weights > 0.0
    low = np.min(np.where(present, of_components, np.inf), axis=-1)
    high = np.max(np.where(present, of_components, -np.inf), axis=-1)
    log_constants = gammaln(0.5 * (dofs + 1.0)) - gammaln(0.5 * dofs) - 0.5 * np.log(np.pi * dofs)
    densities_at_centre = weights * np.exp(log_constants) / scales
    y = np.sum(weights * of_components, axis=-1)
    for _ in range(MAX_ITERATIONS):
        t = (y[..., None] - locations) / scales
        excess = np.sum(weights * stdtr(dofs, t), axis=-1) - probability
        if np.all((np.abs(excess) <= PROBABILITY_TOLERANCE) | (low == high)):
            break
        low = np.where(excess < 0.0, y, low)
        high = np.where(excess > 0.0, y, high)
        density = np.sum(
            densities_at_centre * (1.0 + t**2 / dofs) ** (-0.5 * (dofs + 1.0)), axis=-1
        )
        step = y - excess / np.maximum(density, np.finfo(float).tiny)
        y = np.where((step > low) & (step < high), step, 0.5 * (low + high))
    return np.asarray(y)
