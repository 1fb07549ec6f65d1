# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Coverage and score of intervals."""

from __future__ import annotations

import numpy as np

from ilr_dynamics.arrays import FloatArray

__all__ = ["LEVEL", "coverage", "interval_score"]

# Of all intervals that the benchmarks judge.
LEVEL = 0.95


def coverage(lower: FloatArray, upper: FloatArray, Y: FloatArray) -> FloatArray:
    """
    Share of the samples inside their interval, of each output.

    Parameters
    ----------
    lower, upper, Y : (n, d) or (n,)

    Returns
    -------
    (d,) or a number
    """
    return np.mean((Y >= lower) & (Y <= upper), axis=0)


def interval_score(lower: FloatArray, upper: FloatArray, Y: FloatArray) -> FloatArray:
    r"""
    Mean interval score of each output (Gneiting and Raftery, 2007, equation 43); lower is better.

    With :math:`\alpha` = 1 - LEVEL, the score of one sample is

    .. math::

        (u - l) + \frac{2}{\alpha} (l - y)_+ + \frac{2}{\alpha} (y - u)_+

    and its expectation is least for the quantiles :math:`\alpha / 2` and :math:`1 - \alpha / 2`
    of y.

    Parameters
    ----------
    lower, upper, Y : (n, d) or (n,)

    Returns
    -------
    (d,) or a number
        In the units of Y.
    """
    missed = np.maximum(lower - Y, 0.0) + np.maximum(Y - upper, 0.0)
    return np.mean(upper - lower + 2.0 / (1.0 - LEVEL) * missed, axis=0)
