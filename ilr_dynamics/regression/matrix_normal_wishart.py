# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
r"""
Matrix-normal-Wishart family: the linear map and the noise of each local model.

.. math::
    V_k \sim W(\Phi, \eta), \qquad [A_k, c_k] \mid V_k \sim MN(M, V_k, L), \qquad
    y \mid x \sim N(A_k x + c_k, V_k)

with u = [x, 1]. The paper puts a matrix-normal with column precision K on the slope and a normal
with precision rho V on the offset; that is the prior L = Block(K, rho), but after data L is full,
so slope and offset are kept together.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from .linear_algebra import (
    cholesky,
    inverse_from_cholesky,
    log_determinant,
    multivariate_digamma,
    multivariate_log_gamma,
    solve_positive_definite,
    symmetrize,
)
from .normal_wishart import LOG_2, LOG_2PI

__all__ = ["MatrixNormalWishart", "update_matrix_normal_wishart"]

Array = NDArray[np.float64]


@dataclass(frozen=True)
class MatrixNormalWishart:
    """
    Stacked matrix-normal-Wishart distributions.

    Parameters
    ----------
    mean : (K, d, q)
        Expected [slope, offset].
    column_precision : (K, q, q)
        L, positive definite.
    inverse_scale : (K, d, d)
        Phi^-1: grows with the scatter of the residuals.
    dof : (K,)
        eta > d - 1.
    """

    mean: Array
    column_precision: Array
    inverse_scale: Array
    dof: Array

    @property
    def n_outputs(self) -> int:
        """Length d of an output."""
        return int(self.mean.shape[1])

    @property
    def n_regressors(self) -> int:
        """Length q of u = [x, features of x, 1]."""
        return int(self.mean.shape[2])

    def __getitem__(self, chosen: NDArray[np.intp]) -> MatrixNormalWishart:
        """Some of these distributions, in the order chosen."""
        return MatrixNormalWishart(
            self.mean[chosen],
            self.column_precision[chosen],
            self.inverse_scale[chosen],
            self.dof[chosen],
        )

    def joined(self, other: MatrixNormalWishart) -> MatrixNormalWishart:
        """These distributions and, behind them, the others."""
        return MatrixNormalWishart(
            np.concatenate([self.mean, other.mean]),
            np.concatenate([self.column_precision, other.column_precision]),
            np.concatenate([self.inverse_scale, other.inverse_scale]),
            np.concatenate([self.dof, other.dof]),
        )

    @cached_property
    def _factor(self) -> Array:
        return cholesky(self.inverse_scale)

    @cached_property
    def _scale(self) -> Array:
        """Phi (K, d, d)."""
        return inverse_from_cholesky(self._factor)

    @cached_property
    def _column_factor(self) -> Array:
        return cholesky(self.column_precision)

    @cached_property
    def slope_covariance(self) -> Array:
        """L^-1 (K, q, q): u' L^-1 u is what an uncertain map adds to the predictive spread."""
        return inverse_from_cholesky(self._column_factor)

    def scales(self) -> Array:
        """Diagonal (d,) of a prior's Phi^-1, the scales that the evidence may choose."""
        return np.diagonal(self.inverse_scale[0])

    def column_scales(self) -> Array:
        """Diagonal (q,) of a prior's L: small where a regressor is expected to matter."""
        return np.diagonal(self.column_precision[0])

    def rescaled(self, scales: Array, column_scales: Array) -> MatrixNormalWishart:
        """A prior (K = 1) with Phi^-1 = diag(scales) and L = diag(column_scales)."""
        return replace(
            self,
            inverse_scale=np.diag(scales)[None],
            column_precision=np.diag(column_scales)[None],
        )

    def expected_precision_sums(self) -> Array:
        """Sum over the components of E[V_ii] (d,)."""
        return np.einsum("k,kii->i", self.dof, self._scale)

    def expected_distances(self, location: Array) -> Array:
        """Sum over the components of E[a' V a] (q,), a a column of [A, c] - location."""
        shift = self.mean - location
        weighted = (self._scale * self.dof[:, None, None]) @ shift
        squared = np.einsum("kiq,kiq->q", weighted, shift)
        spread = np.einsum("kqq->q", self.slope_covariance)
        return np.asarray(self.n_outputs * spread + squared)

    def log_normalizer(self) -> Array:
        """Log of the integral (K,) of the unnormalised density, constants that cancel left out."""
        d = self.n_outputs
        return (
            -0.5 * d * log_determinant(self._column_factor)
            - 0.5 * self.dof * log_determinant(self._factor)
            + 0.5 * self.dof * d * LOG_2
            + multivariate_log_gamma(0.5 * self.dof, d)
        )

    def expected_log_likelihood_forms(self) -> Array:
        r"""
        Matrices of E[log N(y | A_k x + c_k, V_k)] = [u, y] Q_k [u, y]'.

        .. math::
            E\log N = \tfrac12 \big( \textstyle\sum_i \psi(\tfrac{\eta + 1 - i}2) + d \log 2
            + \log|\Phi| - d \log 2\pi - d\, u^\top L^{-1} u
            - \eta (y - M u)^\top \Phi (y - M u) \big)

        Returns
        -------
        Q : (K, q + d, q + d)
            The last entry of u is 1: the constants stand at [q - 1, q - 1].
        """
        d, q = self.n_outputs, self.n_regressors
        expected_log_det = (
            multivariate_digamma(0.5 * self.dof, d) + d * LOG_2 - log_determinant(self._factor)
        )
        precision = self._scale * self.dof[:, None, None]
        pull = precision @ self.mean
        forms = np.empty((self.mean.shape[0], q + d, q + d))
        forms[:, :q, :q] = d * self.slope_covariance + symmetrize(
            np.swapaxes(self.mean, 1, 2) @ pull
        )
        forms[:, q:, :q] = -pull
        forms[:, :q, q:] = -np.swapaxes(pull, 1, 2)
        forms[:, q:, q:] = precision
        forms *= -0.5
        forms[:, q - 1, q - 1] += 0.5 * (expected_log_det - d * LOG_2PI)
        return forms

    def predictive_dof(self) -> Array:
        """Degrees of freedom eta + 1 - d (K,) of the predictive Student-t of y."""
        return self.dof + 1.0 - self.n_outputs

    def noise_shape(self) -> Array:
        """Phi^-1 / (eta + 1 - d) (K, d, d); times 1 + u' L^-1 u it is the Student-t's shape."""
        return self.inverse_scale / self.predictive_dof()[:, None, None]


def update_matrix_normal_wishart(
    prior: MatrixNormalWishart, count: Array, uu: Array, yu: Array, yy: Array
) -> MatrixNormalWishart:
    r"""
    Posterior = prior + statistics of the data.

    .. math::
        L = L_0 + \textstyle\sum w u u^\top, \quad
        M = (M_0 L_0 + \textstyle\sum w y u^\top) L^{-1}, \quad \eta = \eta_0 + N, \quad
        \Phi^{-1} = \Phi_0^{-1} + \textstyle\sum w y y^\top + M_0 L_0 M_0^\top - M L M^\top

    Parameters
    ----------
    prior
        One distribution for all components (K = 1) or one for each.
    count : (K,)
        N = sum of the weights.
    uu : (K, q, q)
        Weighted sum of u u'.
    yu : (K, d, q)
        Weighted sum of y u'.
    yy : (K, d, d)
        Weighted sum of y y'.
    """
    prior_pull = prior.mean @ prior.column_precision
    column_precision = prior.column_precision + uu
    pull = prior_pull + yu
    mean = np.swapaxes(solve_positive_definite(column_precision, np.swapaxes(pull, 1, 2)), 1, 2)
    inverse_scale = (
        prior.inverse_scale
        + yy
        + prior_pull @ np.swapaxes(prior.mean, 1, 2)
        - pull @ np.swapaxes(mean, 1, 2)
    )
    return MatrixNormalWishart(
        mean, column_precision, symmetrize(inverse_scale), prior.dof + count
    )
