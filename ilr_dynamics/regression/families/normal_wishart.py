# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
r"""
Normal-Wishart family: where in the input space each local model is active.

.. math::
    \Lambda_k \sim W(\Psi, \nu), \qquad \mu_k \mid \Lambda_k \sim N(m, \kappa \Lambda_k),
    \qquad x \mid \mu_k, \Lambda_k \sim N(\mu_k, \Lambda_k)

with precisions throughout and E[Lambda] = nu Psi. The paper's appendix gives the update for m = 0;
here it is written for any m, because in sequential learning the posterior becomes the prior.
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

__all__ = ["NormalWishart", "update_normal_wishart"]


LOG_2 = float(np.log(2.0))
LOG_2PI = float(np.log(2.0 * np.pi))


@dataclass(frozen=True)
class NormalWishart:
    """
    Stacked normal-Wishart distributions.

    Attributes
    ----------
    mean : (K, m)
        Locations of the centres.
    kappa : (K,)
        Strength of the centres, in samples.
    inverse_scale : (K, m, m)
        Psi^-1: grows with the scatter of the data.
    dof : (K,)
        nu > m - 1.
    """

    mean: FloatArray
    kappa: FloatArray
    inverse_scale: FloatArray
    dof: FloatArray

    @property
    def dimension(self) -> int:
        """Length m of an input."""
        return int(self.mean.shape[1])

    def joined(self, other: NormalWishart) -> NormalWishart:
        """These distributions and, behind them, the others."""
        return NormalWishart(
            np.concatenate([self.mean, other.mean]),
            np.concatenate([self.kappa, other.kappa]),
            np.concatenate([self.inverse_scale, other.inverse_scale]),
            np.concatenate([self.dof, other.dof]),
        )

    @cached_property
    def _factor(self) -> FloatArray:
        return cholesky(self.inverse_scale)

    @cached_property
    def _root(self) -> FloatArray:
        """Psi^1/2 (K, m, m), lower triangular: Psi = (Psi^1/2)' Psi^1/2."""
        return inverse_triangular(self._factor)

    def scales(self) -> FloatArray:
        """Diagonal (m,) of a prior's Psi^-1, the scales that the evidence may choose."""
        return np.diagonal(self.inverse_scale[0])

    def rescaled(self, scales: FloatArray, kappa: FloatArray) -> NormalWishart:
        """A prior (K = 1) with other scales: Psi^-1 = diag(scales), and another kappa."""
        return replace(self, inverse_scale=np.diag(scales)[None], kappa=np.reshape(kappa, 1))

    def expected_precision_sums(self) -> FloatArray:
        """Sum over the components of E[Lambda_ii] (m,)."""
        return np.einsum("k,kri,kri->i", self.dof, self._root, self._root)

    def expected_distances(self, location: FloatArray) -> float:
        """Sum over the components of E[(mu - location)' Lambda (mu - location)]."""
        shift = self.mean - location
        whitened = np.einsum("kri,ki->kr", self._root, shift)
        squared = np.sum(whitened**2, axis=1)
        return float(np.sum(self.dimension / self.kappa + self.dof * squared))

    def median_widths(self) -> FloatArray:
        """Medians (m,) over the components of the standard deviations of each input."""
        variances = np.diagonal(self.inverse_scale, axis1=1, axis2=2) / self.dof[:, None]
        return np.asarray(np.sqrt(np.median(variances, axis=0)))

    def log_normalizer(self) -> FloatArray:
        """Log of the integral (K,) of the unnormalised density, constants that cancel left out."""
        m = self.dimension
        log_det_inverse_scale = log_determinant(self._factor)
        return (
            -0.5 * m * np.log(self.kappa)
            - 0.5 * self.dof * log_det_inverse_scale
            + 0.5 * self.dof * m * LOG_2
            + multivariate_log_gamma(0.5 * self.dof, m)
        )

    def expected_log_likelihoods(self) -> tuple[FloatArray, FloatArray]:
        r"""
        Find R and c with E[log N(x | mu_k, Lambda_k)] = c_k - |R_k [x, 1]|^2 / 2.

        .. math::
            E\log N = \tfrac12 \big( \textstyle\sum_i \psi(\tfrac{\nu + 1 - i}2) + m \log 2
            + \log|\Psi| - m \log 2\pi - m / \kappa - \nu (x - m)^\top \Psi (x - m) \big)

        Returns
        -------
        R : (K, m, m + 1)
            sqrt(nu) Psi^1/2 (x - m).
        c : (K,)
        """
        m = self.dimension
        expected_log_det = (
            multivariate_digamma(0.5 * self.dof, m) + m * LOG_2 - log_determinant(self._factor)
        )
        R = self._centred(self._root * np.sqrt(self.dof)[:, None, None])
        return R, 0.5 * (expected_log_det - m * LOG_2PI - m / self.kappa)

    def _centred(self, roots: FloatArray) -> FloatArray:
        """Of roots (K, m, m) the maps (K, m, m + 1) from [x, 1] to root (x - mean)."""
        offsets = -np.einsum("kri,ki->kr", roots, self.mean)
        return np.concatenate([roots, offsets[:, :, None]], axis=2)

    def predictive_roots(self) -> FloatArray:
        r"""
        Roots of the scaled squared distance in the predictive density of an input.

        x is Student-t with nu + 1 - m degrees of freedom, and its density depends on x through
        log(1 + delta), delta = kappa / (1 + kappa) (x - m)' Psi (x - m) = |R_k [x, 1]|^2.

        Returns
        -------
        R : (K, m, m + 1)
        """
        return self._centred(self._root * np.sqrt(self.kappa / (1.0 + self.kappa))[:, None, None])

    def predictive_covariances(self) -> FloatArray:
        """Covariances (K, m, m) of an input; as if of three degrees of freedom if of fewer."""
        freedom = np.maximum(self.dof - self.dimension - 1.0, 1.0)
        return self.inverse_scale * ((1.0 + self.kappa) / (self.kappa * freedom))[:, None, None]

    def predictive_log_constants(self) -> FloatArray:
        """Log density (K,) of the predictive Student-t at its location."""
        m = self.dimension
        log_det_inverse_scale = log_determinant(self._factor)
        return (
            multivariate_log_gamma(0.5 * (self.dof + 1.0), m)
            - multivariate_log_gamma(0.5 * self.dof, m)
            - 0.5 * m * np.log(np.pi)
            + 0.5 * m * np.log(self.kappa / (1.0 + self.kappa))
            - 0.5 * log_det_inverse_scale
        )


def update_normal_wishart(
    prior: NormalWishart, count: FloatArray, total: FloatArray, scatter: FloatArray
) -> NormalWishart:
    r"""
    Posterior = prior + statistics of the data.

    .. math::
        \kappa = \kappa_0 + N, \quad m = (\kappa_0 m_0 + \textstyle\sum w x) / \kappa, \quad
        \nu = \nu_0 + N, \quad
        \Psi^{-1} = \Psi_0^{-1} + \textstyle\sum w x x^\top + \kappa_0 m_0 m_0^\top
        - \kappa m m^\top

    Parameters
    ----------
    prior
        One distribution for all components (K = 1) or one for each.
    count : (K,)
        N = sum of the weights.
    total : (K, m)
        Weighted sum of the inputs.
    scatter : (K, m, m)
        Weighted sum of x x', not centred.
    """
    kappa = prior.kappa + count
    prior_total = prior.kappa[:, None] * prior.mean
    mean = (prior_total + total) / kappa[:, None]
    inverse_scale = (
        prior.inverse_scale
        + scatter
        + _outer(prior_total, prior.mean)
        - kappa[:, None, None] * _outer(mean, mean)
    )
    return NormalWishart(mean, kappa, symmetrize(inverse_scale), prior.dof + count)


def _outer(a: FloatArray, b: FloatArray) -> FloatArray:
    return a[:, :, None] * b[:, None, :]
