# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""
Sample weights with which samples that repeat each other count once.

Samples taken faster than the arm moves repeat each other: their noise is of friction and filters,
which last, and a minute of standing still says no more than its first moment. Learned as if they
were independent, they make a model certain of what it has seen once.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ilr_dynamics.arrays import FloatArray
from ilr_dynamics.exceptions import InvalidParameterError
from ilr_dynamics.regression.shared.validation import check_array, check_real

__all__ = ["effective_sample_weights"]


def effective_sample_weights(
    X: ArrayLike, scale: ArrayLike, resolution: float = 0.05
) -> FloatArray:
    """
    Weights with which consecutive samples that hardly differ count as one.

    A run of samples lasts while they stay within `resolution` of its first; it weighs one in all.

    Parameters
    ----------
    X : (n, n_inputs)
        What tells whether the arm moved, in the order of time: positions and velocities.
        Accelerations that were differentiated are never still.
    scale : (n_inputs,) or float
        Units of distance: deviations, or a model's `input_scale`. Where it is zero, nothing moves.
    resolution
        Euclidean distance, in these units, from which on a sample is a new one; 0: all are.

    Returns
    -------
    weights : (n,)
        For `fit` and `partial_fit`; they add up to the number of runs.

    Raises
    ------
    InvalidDataError
        If X is malformed.
    InvalidParameterError
        If the resolution is negative, or the scale is negative, not finite or of another length.

    Examples
    --------
    >>> effective_sample_weights([[0.0], [0.01], [0.02], [1.0]], scale=1.0).round(2).tolist()
    [0.33, 0.33, 0.33, 1.0]
    """
    X = check_array(X, "X")
    limit = check_real(resolution, "resolution", at_least=0.0) ** 2
    standard = X / _checked_scale(scale, X.shape[1])
    run = np.zeros(len(X), dtype=np.intp)
    first = standard[0]
    for row in range(1, len(X)):
        difference = standard[row] - first
        run[row] = run[row - 1]
        if difference @ difference > limit or limit == 0.0:
            first = standard[row]
            run[row] += 1
    return np.asarray(1.0 / np.bincount(run)[run])


def _checked_scale(scale: ArrayLike, n_inputs: int) -> FloatArray:
    checked = np.asarray(scale, dtype=float)
    if checked.shape not in ((), (n_inputs,)) or not np.all((checked >= 0.0) & (checked < np.inf)):
        raise InvalidParameterError(
            f"scale must be one number or {n_inputs}, finite and not negative, got {scale!r}"
        )
    return np.where(checked > 0.0, checked, 1.0)
