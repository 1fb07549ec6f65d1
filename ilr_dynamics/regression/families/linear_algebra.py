# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Stacked Cholesky factors and what is read from them."""

from __future__ import annotations

import numpy as np
from scipy.special import digamma, gammaln

from ilr_dynamics.arrays import FloatArray
from ilr_dynamics.exceptions import InvalidDataError
from ilr_dynamics.regression.families import _linear_algebra

__all__ = [
    "cholesky",
    "inverse_from_cholesky",
    "inverse_triangular",
    "log_determinant",
    "multivariate_digamma",
    "multivariate_log_gamma",
    "symmetrize",
]


def symmetrize(A: FloatArray) -> FloatArray:
    """Mean of A (..., p, p) and its transpose: rounding must not leave a lopsided matrix."""
    return 0.5 * (A + np.swapaxes(A, -1, -2))


def cholesky(A: FloatArray) -> FloatArray:
    """
    Lower Cholesky factors of A (..., p, p).

    Raises
    ------
    InvalidDataError
        If a matrix is not positive definite: rounding has eaten what the prior adds to the data.
    """
    factors = np.empty(A.shape)
    p = A.shape[-1]
    stacked = np.ascontiguousarray(A, dtype=np.float64).reshape(-1, p, p)
    if not _linear_algebra.cholesky(stacked, factors.reshape(-1, p, p)):
        raise InvalidDataError(
            "a matrix of the model is not positive definite in double precision: the data lie too "
            "many scales from the scaling's location, or the prior's noise_std or input_spread is "
            "too small beside them, or beside the sum of the sample weights"
        )
    return factors


def log_determinant(factor: FloatArray) -> FloatArray:
    """Log |A| (...,) from the Cholesky factor of A (..., p, p)."""
    diagonal = np.diagonal(factor, axis1=-2, axis2=-1)
    return 2.0 * np.sum(np.log(diagonal), axis=-1)


def inverse_triangular(factor: FloatArray) -> FloatArray:
    """Inverses of lower triangular matrices (K, p, p)."""
    inverses = np.empty(factor.shape)
    _linear_algebra.inverse_triangular(np.ascontiguousarray(factor), inverses)
    return inverses


def inverse_from_cholesky(factor: FloatArray) -> FloatArray:
    """A^-1 (K, p, p) from the Cholesky factor of A, exactly symmetric."""
    inverse_factor = inverse_triangular(factor)
    return symmetrize(np.swapaxes(inverse_factor, -1, -2) @ inverse_factor)


def multivariate_log_gamma(a: FloatArray, p: int) -> FloatArray:
    """Log Gamma_p(a) (...,) up to the constant p (p - 1) / 4 log pi, which always cancels here."""
    return np.sum(gammaln(np.asarray(a)[..., None] - 0.5 * np.arange(p)), axis=-1)


def multivariate_digamma(a: FloatArray, p: int) -> FloatArray:
    """Derivative (...,) of the multivariate log-gamma function of order p."""
    return np.sum(digamma(np.asarray(a)[..., None] - 0.5 * np.arange(p)), axis=-1)
