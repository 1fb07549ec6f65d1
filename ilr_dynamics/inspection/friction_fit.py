# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Fit of friction, rotor and offset to a torque: friction never pushes."""

from __future__ import annotations

import numpy as np
import scipy

from ilr_dynamics.arrays import FloatArray

__all__ = ["column_length", "fit_friction"]


def fit_friction(left: FloatArray, own: FloatArray) -> tuple[FloatArray, float]:
    """
    Fit what acts in a joint alone to a torque (n,): it never pushes.

    Parameters
    ----------
    left : ndarray of shape (n,)
        Nm.
    own : ndarray of shape (n, 5)
        `Evidence.friction` of the joint.

    Returns
    -------
    values : ndarray of shape (5,)
        Coefficients. Friction that is negative there is so at no speed.
    error : float
        Root mean square of what is left, Nm.
    """
    # Dry friction may fall with the speed (Stribeck): more of it below the lower of two speeds.
    falling = own[:, :1] - own[:, 1:2]
    columns = np.hstack([own, -own[:, -1:], falling])
    length = column_length(columns)
    values, norm = scipy.optimize.nnls(columns / length, left)
    values /= length
    *values, negative, falls = values
    values = np.array(values)
    values[-1] -= negative
    values[:2] += [falls, -falls]
    return values, float(norm / np.sqrt(len(left)))


def column_length(columns: FloatArray) -> FloatArray:
    """Lengths (C,) of columns (n, C), above zero."""
    return np.maximum(np.linalg.norm(columns, axis=0), 1e-12)
