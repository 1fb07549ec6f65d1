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

from ilr_dynamics.arrays import FloatArray
from ilr_dynamics.regression.families.linear_algebra import (
    cholesky,
    inverse_triangular,
    log_determinant,
    multivariate_digamma,
    multivariate_log_gamma,
    symmetrize,
)
from ilr_dynamics.regression.families.normal_wishart import LOG_2, LOG_2PI

__all__ = ["MatrixNormalWishart", "update_matrix_normal_wishart"]


@dataclass(frozen=True)
class MatrixNormalWishart:
    """
    Stacked matrix-normal-Wishart distributions.

    Attributes
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

    mean: FloatArray
    column_precision: FloatArray
    inverse_scale: FloatArray
    dof: FloatArray

    @property
    def n_outputs(self) -> int:
        """Length d of an output."""
        return int(self.mean.shape[1])

    @property
    def n_regressors(self) -> int:
        """Length q of u = [x, features of x, 1]."""
        return int(self.mean.shape[2])

    def joined(self, other: MatrixNormalWishart) -> MatrixNormalWishart:
        """These distributions and, behind them, the others."""
        return MatrixNormalWishart(
            np.concatenate([self.mean, other.mean]),
            np.concatenate([self.column_precision, other.column_precision]),
            np.concatenate([self.inverse_scale, other.inverse_scale]),
            np.concatenate([self.dof, other.dof]),
        )

    @cached_property
    def _factor(self) -> FloatArray:
        return cholesky(self.inverse_scale)

    @cached_property
    def _root(self) -> FloatArray:
        """Phi^1/2 (K, d, d), lower triangular: Phi = (Phi^1/2)' Phi^1/2."""
        return inverse_triangular(self._factor)

    @cached_property
    def _column_factor(self) -> FloatArray:
        return cholesky(self.column_precision)

    @cached_property
    def _column_root(self) -> FloatArray:
        """L^-1/2 (K, q, q), lower triangular: L^-1 = (L^-1/2)' L^-1/2."""
        return inverse_triangular(self._column_factor)

    @cached_property
    def slope_covariance(self) -> FloatArray:
        """L^-1 (K, q, q): u' L^-1 u is what an uncertain map adds to the predictive spread."""
        return symmetrize(np.swapaxes(self._column_root, 1, 2) @ self._column_root)

    def scales(self) -> FloatArray:
        """Diagonal (d,) of a prior's Phi^-1, the scales that the evidence may choose."""
        return np.diagonal(self.inverse_scale[0])

    def column_scales(self) -> FloatArray:
        """Diagonal (q,) of a prior's L: small where a regressor is expected to matter."""
        return np.diagonal(self.column_precision[0])

    def rescaled(self, scales: FloatArray, column_scales: FloatArray) -> MatrixNormalWishart:
        """A prior (K = 1) with Phi^-1 = diag(scales) and L = diag(column_scales)."""
        return replace(
            self,
            inverse_scale=np.diag(scales)[None],
            column_precision=np.diag(column_scales)[None],
        )

    def expected_precision_sums(self) -> FloatArray:
        """Sum over the components of E[V_ii] (d,)."""
        return np.einsum("k,kri,kri->i", self.dof, self._root, self._root)

    def expected_distances(self, location: FloatArray) -> FloatArray:
        """Sum over the components of E[a' V a] (q,), a a column of [A, c] - location."""
        whitened = self._root @ (self.mean - location)
        squared = np.einsum("k,krq,krq->q", self.dof, whitened, whitened)
        spread = np.einsum("krq,krq->q", self._column_root, self._column_root)
        return np.asarray(self.n_outputs * spread + squared)

    def log_normalizer(self) -> FloatArray:
        """Log of the integral (K,) of the unnormalised density, constants that cancel left out."""
        d = self.n_outputs
        return (
            -0.5 * d * log_determinant(self._column_factor)
            - 0.5 * self.dof * log_determinant(self._factor)
            + 0.5 * self.dof * d * LOG_2
            + multivariate_log_gamma(0.5 * self.dof, d)
        )

    def expected_log_likelihoods(self) -> tuple[FloatArray, FloatArray]:
        r"""
        Find R and c with E[log N(y | A_k x + c_k, V_k)] = c_k - |R_k zeta|^2 / 2, zeta = [u, y].

        .. math::
            E\log N = \tfrac12 \big( \textstyle\sum_i \psi(\tfrac{\eta + 1 - i}2) + d \log 2
            + \log|\Phi| - d \log 2\pi - d\, u^\top L^{-1} u
            - \eta (y - M u)^\top \Phi (y - M u) \big)

        Returns
        -------
        R : (K, q + d, q + d)
            Rows sqrt(d) L^-1/2 u, then sqrt(eta) Phi^1/2 (y - M u).
        c : (K,)
        """
        d, q = self.n_outputs, self.n_regressors
        expected_log_det = (
            multivariate_digamma(0.5 * self.dof, d) + d * LOG_2 - log_determinant(self._factor)
        )
        R = np.zeros((self.dof.size, q + d, q + d))
        np.multiply(self._column_root, np.sqrt(d), out=R[:, :q, :q])
        noise = np.multiply(self._root, np.sqrt(self.dof)[:, None, None], out=R[:, q:, q:])
        R[:, q:, :q] = -noise @ self.mean
        return R, 0.5 * (expected_log_det - d * LOG_2PI)

    def predictive_dof(self) -> FloatArray:
        """Degrees of freedom eta + 1 - d (K,) of the predictive Student-t of y."""
        return self.dof + 1.0 - self.n_outputs

    def noise_shape(self) -> FloatArray:
        """Phi^-1 / (eta + 1 - d) (K, d, d); times 1 + u' L^-1 u it is the Student-t's shape."""
        return self.inverse_scale / self.predictive_dof()[:, None, None]


def update_matrix_normal_wishart(
    prior: MatrixNormalWishart, count: FloatArray, uu: FloatArray, yu: FloatArray, yy: FloatArray
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
    factor = cholesky(column_precision)
    root = inverse_triangular(factor)
    mean = (pull @ np.swapaxes(root, 1, 2)) @ root
    inverse_scale = (
        prior.inverse_scale
        + yy
        + prior_pull @ np.swapaxes(prior.mean, 1, 2)
        - pull @ np.swapaxes(mean, 1, 2)
    )
    posterior = MatrixNormalWishart(
        mean, column_precision, symmetrize(inverse_scale), prior.dof + count
    )
    # Found on the way to the mean; the E-step and the evidence need them again.
    vars(posterior).update(_column_factor=factor, _column_root=root)
    return posterior
