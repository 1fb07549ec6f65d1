# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Linear regression."""

from __future__ import annotations

import numpy as np

from ilr_dynamics.arrays import FloatArray

from .peer import Peer

__all__ = ["Linear"]


class Linear(Peer):
    """Least squares with an intercept; the interval is the classical one of a new observation."""

    name = "linear"

    def _fit(self, X: FloatArray, Y: FloatArray) -> None:
        A = np.column_stack([X, np.ones(len(X))])
        self.coefficients, _, rank, _ = np.linalg.lstsq(A, Y, rcond=None)
        residual = Y - A @ self.coefficients
        self.noise_std = np.sqrt((residual**2).sum(axis=0) / max(len(A) - rank, 1))
        self.inverse_gram = np.linalg.pinv(A.T @ A, hermitian=True)

    def _predict(self, X: FloatArray) -> tuple[FloatArray, FloatArray]:
        A = np.column_stack([X, np.ones(len(X))])
        leverage = np.einsum("ni,ij,nj->n", A, self.inverse_gram, A, optimize=True)
        return A @ self.coefficients, np.sqrt(1.0 + leverage)[:, None] * self.noise_std

    def _mean_at(self, x: FloatArray) -> FloatArray:
        return x @ self.coefficients[:-1] + self.coefficients[-1]
