# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
r"""
Conjugate families with ties: the lower components of one upper component of a hierarchy.

All lower components k of an upper component g share the input precision, the slope and the noise
precision; each has a centre and an offset of its own:

.. math::
    \tau_g \sim N(m_0, \lambda_0 \Lambda_g), \quad \mu_{gk} \sim N(\tau_g, \kappa_0 \Lambda_g),
    \quad A_g \sim MN(M_0, V_g, K_0), \quad c_{gk} \sim N(\theta_0, \rho_0 V_g)

The paper's mean field splits centres from their common centre and offsets from the slope. Both are
exactly conjugate when kept together, which makes the bound tighter and the predictive densities
exact Student-t (derivation: docs/mathematics.md):

- given Lambda_g, all centres of a group are one Gaussian. With tau integrated out their columns
  have the precision diag(kappa_0 + N_k) - a 11', a = kappa_0^2 / (lambda_0 + K kappa_0);
- given V_g, slope and offsets are one matrix-normal over u = [x, one-hot of k], whose column
  precision is an arrowhead, [[K_0 + sum x x', s_1 .. s_K], [., diag(rho_0 + N_k)]], s_k = sum x.

Seen from one lower component this is a normal-Wishart with strength 1 / (P^-1)_kk and a
matrix-normal-Wishart over [x, 1]: the families of a mixture without hierarchy, so that E-step and
prediction are the same code.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ilr_dynamics.arrays import FloatArray, IndexArray
from ilr_dynamics.regression.families.linear_algebra import (
    cholesky,
    inverse_from_cholesky,
    log_determinant,
    multivariate_log_gamma,
    symmetrize,
)
from ilr_dynamics.regression.families.matrix_normal_wishart import MatrixNormalWishart
from ilr_dynamics.regression.families.normal_wishart import LOG_2, NormalWishart

__all__ = ["GroupedSums", "TiedRegions", "TiedRegressions", "tied_regions", "tied_regressions"]


@dataclass(frozen=True)
class GroupedSums:
    """
    Sums over the lower components of each upper one.

    Attributes
    ----------
    groups : (K,)
        Upper component of each lower one, 0 to G - 1, in rising order.
    """

    groups: IndexArray

    @property
    def starts(self) -> IndexArray:
        """First lower component (G,) of each group."""
        return np.flatnonzero(np.diff(self.groups, prepend=-1))

    def __call__(self, values: FloatArray) -> FloatArray:
        """Sum values (K, ...) within each group (G, ...)."""
        return np.asarray(np.add.reduceat(values, self.starts, axis=0))

    def sizes(self) -> FloatArray:
        """Number (G,) of lower components of each group."""
        return np.diff(self.starts, append=self.groups.size).astype(float)


@dataclass(frozen=True)
class TiedRegions:
    """
    Posterior of the input side.

    Attributes
    ----------
    components
        The normal-Wishart that each lower component (K) looks like.
    log_evidence : (G,)
        Log probability of the inputs of each group, without the powers of 2 pi.
    precision_sums : (m,)
        Sum over the groups of E[Lambda_ii].
    centre_distances
        Sum over the lower components of E[(mu - tau)' Lambda (mu - tau)].
    common_distances
        Sum over the groups of E[(tau - m_0)' Lambda (tau - m_0)].
    """

    components: NormalWishart
    log_evidence: FloatArray
    precision_sums: FloatArray
    centre_distances: float
    common_distances: float


@dataclass(frozen=True)
class TiedRegressions:
    """
    Posterior of the output side.

    Attributes
    ----------
    components
        The matrix-normal-Wishart over [x, 1] that each lower component (K) looks like.
    slopes : (G, d, q - 1)
        Expected slope of each group.
    log_evidence : (G,)
        Log probability of the outputs of each group, without the powers of 2 pi.
    precision_sums : (d,)
        Sum over the groups of E[V_ii].
    slope_distances : (q - 1,)
        Sum over the groups of E[a' V a], a a column of A - M_0.
    offset_distances
        Sum over the lower components of E[(c - theta_0)' V (c - theta_0)].
    """

    components: MatrixNormalWishart
    slopes: FloatArray
    log_evidence: FloatArray
    precision_sums: FloatArray
    slope_distances: FloatArray
    offset_distances: float


def tied_regions(
    prior: NormalWishart, common_strength: float, sums: GroupedSums, scatter: FloatArray, one: int
) -> TiedRegions:
    """
    Posterior of centres and input precisions.

    Parameters
    ----------
    prior
        m_0, kappa_0, Psi_0^-1 and nu_0 (K = 1).
    common_strength
        lambda_0.
    sums
        Which lower components belong together.
    scatter : (K, p, p)
        Statistics of the extended samples.
    one
        Where the extended samples hold the constant 1.
    """
    m, groups = prior.dimension, sums.groups
    kappa0, lambda0, location = float(prior.kappa[0]), common_strength, prior.mean
    counts, totals = scatter[:, one, one], scatter[:, :m, one]
    size = sums.sizes()
    strengths = kappa0 + counts
    # Precision of the centres' columns: diag(strengths) - coupling 11', inverted by the formula of
    # Sherman and Morrison; 1 / remainder is what that adds.
    coupling = kappa0**2 / (lambda0 + size * kappa0)
    remainder = 1.0 - coupling * sums(1.0 / strengths)
    link = (coupling / remainder)[groups]

    pull0 = kappa0 * lambda0 / (lambda0 + size * kappa0)
    pulls = totals + pull0[groups, None] * location
    centres = pulls + link[:, None] * sums(pulls / strengths[:, None])[groups]
    centres /= strengths[:, None]

    dof = prior.dof + sums(counts)
    inverse_scale = prior.inverse_scale + symmetrize(
        sums(scatter[:, :m, :m] - _outer(pulls, centres))
        + (size * pull0)[:, None, None] * _outer(location, location)
    )
    log_det_columns = sums(np.log(strengths / kappa0)) + np.log(
        remainder * (lambda0 + size * kappa0) / lambda0
    )
    log_evidence = -0.5 * m * log_det_columns + _wishart_evidence(
        prior.inverse_scale, prior.dof, inverse_scale, dof
    )
    kappa = 1.0 / (1.0 / strengths + link / strengths**2)

    precision = inverse_from_cholesky(cholesky(inverse_scale)) * dof[:, None, None]
    # Of tau, given all samples and Lambda: its columns' variance and its expectation.
    common_variance = 1.0 / ((lambda0 + size * kappa0) * remainder)
    common = (lambda0 * location + kappa0 * sums(centres)) / (lambda0 + size * kappa0)[:, None]
    shifts = centres - common[groups]
    spread = 1.0 / strengths + common_variance[groups] * (1.0 - kappa0 / strengths) ** 2
    return TiedRegions(
        NormalWishart(centres, kappa, inverse_scale[groups], dof[groups]),
        log_evidence,
        np.einsum("gii->i", precision),
        float(m * np.sum(spread) + np.sum(_quadratic(precision[groups], shifts))),
        float(m * np.sum(common_variance) + np.sum(_quadratic(precision, common - location))),
    )


def tied_regressions(
    prior: MatrixNormalWishart, sums: GroupedSums, scatter: FloatArray
) -> TiedRegressions:
    """
    Posterior of slopes, offsets and noise precisions.

    Parameters
    ----------
    prior
        [M_0, theta_0], Block(K_0, rho_0), Phi_0^-1 and eta_0 (K = 1).
    sums
        Which lower components belong together.
    scatter : (K, p, p)
        Statistics of the extended samples.
    """
    d, q = prior.n_outputs, prior.n_regressors
    r, groups, size = q - 1, sums.groups, sums.sizes()
    slope0, offset0 = prior.mean[0, :, :r], prior.mean[0, :, r]
    slope_precision0, rho0 = prior.column_precision[0, :r, :r], prior.column_precision[0, r, r]

    counts, totals = scatter[:, r, r], scatter[:, :r, r]
    strengths = rho0 + counts
    centred = totals / strengths[:, None]
    pulls = scatter[:, q:, r] + rho0 * offset0
    # The offsets eliminated: a Schur complement of the arrowhead for each group.
    slope_precision = slope_precision0 + sums(scatter[:, :r, :r] - _outer(totals, centred))
    slope_pull = slope0 @ slope_precision0 + sums(scatter[:, q:, :r] - _outer(pulls, centred))
    slope_covariance = inverse_from_cholesky(cholesky(slope_precision))
    slopes = slope_pull @ slope_covariance
    offsets = (pulls - np.einsum("kdr,kr->kd", slopes[groups], totals)) / strengths[:, None]

    dof = prior.dof + sums(counts)
    inverse_scale = prior.inverse_scale + symmetrize(
        sums(scatter[:, q:, q:] - _outer(pulls, pulls / strengths[:, None]))
        + slope0 @ slope_precision0 @ slope0.T
        + (size * rho0)[:, None, None] * np.outer(offset0, offset0)
        - slopes @ np.swapaxes(slope_pull, 1, 2)
    )
    log_det_columns = (
        log_determinant(cholesky(slope_precision))
        - log_determinant(cholesky(slope_precision0))
        + sums(np.log(strengths / rho0))
    )
    log_evidence = -0.5 * d * log_det_columns + _wishart_evidence(
        prior.inverse_scale, prior.dof, inverse_scale, dof
    )
    # Marginal over [x, 1] of one lower component: its inverse's Schur complement is the slopes'.
    column_precision = np.empty((groups.size, q, q))
    column_precision[:, :r, :r] = slope_precision[groups] + _outer(totals, centred)
    column_precision[:, :r, r] = column_precision[:, r, :r] = totals
    column_precision[:, r, r] = strengths

    precision = inverse_from_cholesky(cholesky(inverse_scale)) * dof[:, None, None]
    slope_shifts = slopes - slope0
    offset_spread = 1.0 / strengths + _quadratic(slope_covariance[groups], centred)
    return TiedRegressions(
        MatrixNormalWishart(
            np.concatenate([slopes[groups], offsets[:, :, None]], axis=2),
            column_precision,
            inverse_scale[groups],
            dof[groups],
        ),
        slopes,
        log_evidence,
        np.einsum("gii->i", precision),
        d * np.einsum("grr->r", slope_covariance)
        + np.einsum("gij,gir,gjr->r", precision, slope_shifts, slope_shifts, optimize=True),
        float(
            d * np.sum(offset_spread) + np.sum(_quadratic(precision[groups], offsets - offset0))
        ),
    )


def _outer(a: FloatArray, b: FloatArray) -> FloatArray:
    return a[:, :, None] * b[:, None, :]


def _quadratic(forms: FloatArray, points: FloatArray) -> FloatArray:
    return np.asarray(np.einsum("ki,kij,kj->k", points, forms, points))


def _wishart_evidence(
    inverse_scale0: FloatArray, dof0: FloatArray, inverse_scale: FloatArray, dof: FloatArray
) -> FloatArray:
    """Log normaliser (G,) of Wishart distributions minus that of their common prior."""
    p = inverse_scale.shape[-1]
    return (
        0.5 * dof0 * log_determinant(cholesky(inverse_scale0))
        - 0.5 * dof * log_determinant(cholesky(inverse_scale))
        + 0.5 * (dof - dof0) * p * LOG_2
        + multivariate_log_gamma(0.5 * dof, p)
        - multivariate_log_gamma(0.5 * dof0, p)
    )
