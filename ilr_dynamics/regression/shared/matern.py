# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""
Matern's correlation with exponent 3/2 (Rasmussen and Williams, 2006, chapter 4).

Of functions that are once differentiable: smooth, but not so smooth that what was seen at one
place would tell much of another one far away.
"""

from __future__ import annotations

import numpy as np

from ilr_dynamics.arrays import FloatArray

__all__ = ["correlation", "correlation_and_slope"]


def correlation(points: FloatArray, others: FloatArray) -> FloatArray:
    """Correlation (n, k) between points (n, m) and others (k, m), in units of the lengths."""
    squared = np.sum(points**2, axis=1)[:, None] + np.sum(others**2, axis=1)
    squared -= 2.0 * (points @ others.T)
    return _correlation(np.sqrt(3.0 * np.maximum(squared, 0.0, out=squared)))


def correlation_and_slope(squared: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Correlation at squared distances r^2 (n, k), and -2 times its derivative by r^2."""
    root = np.sqrt(3.0 * squared)
    decay = np.exp(-root)
    return (1.0 + root) * decay, 3.0 * decay


def _correlation(root: FloatArray) -> FloatArray:
    return np.asarray((1.0 + root) * np.exp(-root))
