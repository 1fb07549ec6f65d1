# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Quantiles of mixtures of univariate Student-t distributions."""

from __future__ import annotations

import numpy as np
from scipy.special import gammaln, stdtr, stdtrit

from ilr_dynamics.arrays import FloatArray

__all__ = ["mixture_quantile"]

MAX_ITERATIONS = 200
# Absolute error of the probability, and its error relative to that of the nearer tail: the
# smaller one is the tolerance.
PROBABILITY_TOLERANCE, TAIL_TOLERANCE = 1e-9, 1e-4


def mixture_quantile(
    probability: float,
    weights: FloatArray,
    locations: FloatArray,
    scales: FloatArray,
    dofs: FloatArray,
) -> FloatArray:
    """
    Solve sum_k w_k F_k(y) = probability for y by Newton's method, kept inside a bracket.

    The quantile of a mixture lies between the smallest and the largest quantile of its
    components; a Newton step that leaves the bracket, and every third one, is replaced by
    bisection. Only mixtures that have not met the tolerance yet are evaluated again.

    Parameters
    ----------
    probability
        Between 0 and 1; for what is close to 1 ask for the quantile of the mirrored mixture.
    weights, locations, scales, dofs : (n, K)
        One mixture a row; its weights sum to one.

    Returns
    -------
    y : (n,)
    """
    of_components = locations + scales * stdtrit(dofs, probability)
    present = weights > 0.0
    low = np.min(np.where(present, of_components, np.inf), axis=1)
    high = np.max(np.where(present, of_components, -np.inf), axis=1)
    y = np.clip(np.sum(weights * of_components, axis=1), low, high)
    tolerance = min(PROBABILITY_TOLERANCE, TAIL_TOLERANCE * min(probability, 1.0 - probability))
    pending = np.flatnonzero(low < high)
    for iteration in range(MAX_ITERATIONS):
        w, loc, scale, dof = (a[pending] for a in (weights, locations, scales, dofs))
        t = (y[pending, None] - loc) / scale
        excess = np.sum(w * stdtr(dof, t), axis=1) - probability
        open_rows = np.abs(excess) > tolerance
        if not np.any(open_rows):
            break
        density = np.sum(w * _density(t, dof) / scale, axis=1)
        low[pending] = np.where(excess < 0.0, y[pending], low[pending])
        high[pending] = np.where(excess > 0.0, y[pending], high[pending])
        pending, excess, density = pending[open_rows], excess[open_rows], density[open_rows]
        step = y[pending] - excess / np.maximum(density, np.finfo(float).tiny)
        inside = (step > low[pending]) & (step < high[pending])
        # Where the density is high next to a wide gap, Newton's steps creep or circle.
        inside &= iteration % 3 != 2
        y[pending] = np.where(inside, step, 0.5 * (low[pending] + high[pending]))
    return y


def _density(t: FloatArray, dof: FloatArray) -> FloatArray:
    log_constant = gammaln(0.5 * (dof + 1.0)) - gammaln(0.5 * dof) - 0.5 * np.log(np.pi * dof)
    return np.asarray(np.exp(log_constant - 0.5 * (dof + 1.0) * np.log1p(t**2 / dof)))
