# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Log density of multivariate Student-t distributions, in the parts that depend on the sample."""

from __future__ import annotations

import numpy as np

from ilr_dynamics.arrays import FloatArray
from ilr_dynamics.regression.families.linear_algebra import log_determinant, multivariate_log_gamma

__all__ = ["log_constants", "log_densities"]


def log_constants(factor: FloatArray, dofs: FloatArray) -> FloatArray:
    """Log density (K,) at the location, of Cholesky factors (K, d, d) of the shapes, dofs (K,)."""
    d = factor.shape[-1]
    return np.asarray(
        multivariate_log_gamma(0.5 * (dofs + d), 1)
        - multivariate_log_gamma(0.5 * dofs, 1)
        - 0.5 * d * np.log(np.pi * dofs)
        - 0.5 * log_determinant(factor)
    )


def log_densities(
    constants: FloatArray, dofs: FloatArray, d: int, widening: FloatArray, distances: FloatArray
) -> FloatArray:
    """
    Log density of outputs under Student-t distributions whose shapes are widened.

    Parameters
    ----------
    constants, dofs : (..., K)
        `log_constants` of the shapes as they are, and degrees of freedom.
    d
        Length of an output.
    widening : (..., K)
        Factors on the shapes.
    distances : (..., K)
        Squared distances from the locations, in units of the widened shapes.

    Returns
    -------
    (..., K)
    """
    return np.asarray(
        constants - 0.5 * d * np.log(widening) - 0.5 * (dofs + d) * np.log1p(distances / dofs)
    )
