# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
r"""
Quadratic forms and scatter matrices as plain matrix products.

Everything the model asks of a sample is quadratic in the extended sample zeta = [x, features, 1,
y]: each expected log-likelihood is a form zeta' Q_k zeta and each sufficient statistic a scatter,
the sum of w r zeta zeta'. With F holding the products zeta_i zeta_j (i <= j) of every sample, one
row a sample, and C the coefficients of the forms, both are matrix products over all components at
once,

.. math:: \log\rho = F\,C^\top, \qquad S = (w r)^\top F.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from ilr_dynamics.arrays import FloatArray, IndexArray

__all__ = [
    "form_coefficients",
    "pairwise_products",
    "scatter_matrices",
    "upper_triangle",
]


@lru_cache(maxsize=8)
def upper_triangle(p: int) -> tuple[IndexArray, IndexArray]:
    """Rows and columns of the entries i <= j of a matrix (p, p), to be read only."""
    # Finding them takes ten times as long as using them, and a model has few different p.
    return np.triu_indices(p)


def pairwise_products(zeta: FloatArray) -> FloatArray:
    """
    Products of all pairs of entries of each row.

    Parameters
    ----------
    zeta : (n, p)
        Extended samples, one row each.

    Returns
    -------
    F : (n, p (p + 1) / 2)
        zeta_i zeta_j for i <= j, in the order of `upper_triangle`.
    """
    n, p = zeta.shape
    F = np.empty((n, p * (p + 1) // 2))
    start = 0
    # One slice for each leading entry: gathering both factors by index would read and write twice
    # as much.
    for i in range(p):
        width = p - i
        np.multiply(zeta[:, i : i + 1], zeta[:, i:], out=F[:, start : start + width])
        start += width
    return F


def form_coefficients(forms: FloatArray) -> FloatArray:
    """
    Coefficients C with zeta' Q zeta = C f for each symmetric form Q and the products f of zeta.

    Parameters
    ----------
    forms : (K, p, p)
        Symmetric matrices.

    Returns
    -------
    C : (K, p (p + 1) / 2)
        Diagonal entries once and off-diagonal ones twice.
    """
    rows, columns = upper_triangle(forms.shape[-1])
    # Row by row: all that is needed of one component lies together in memory.
    return np.ascontiguousarray(forms[:, rows, columns] * np.where(rows == columns, 1.0, 2.0))


def scatter_matrices(packed: FloatArray, p: int) -> FloatArray:
    """
    Symmetric matrices from their upper triangles.

    Parameters
    ----------
    packed : (K, p (p + 1) / 2)
        Rows of (w r)' F.
    p
        Length of an extended sample.

    Returns
    -------
    S : (K, p, p)
    """
    rows, columns = upper_triangle(p)
    S = np.empty((packed.shape[0], p, p))
    S[:, rows, columns] = packed
    S[:, columns, rows] = packed
    return S
