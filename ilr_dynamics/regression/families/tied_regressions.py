# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""
Output side of tied components: one slope and noise, and an offset of each.

Model and derivation: `tied_components`, and docs/mathematics.md, "Hierarchy".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from ilr_dynamics.arrays import FloatArray, IndexArray
from ilr_dynamics.regression.families.linear_algebra import (
    cholesky,
    inverse_from_cholesky,
    log_determinant,
    symmetrize,
)
from ilr_dynamics.regression.families.matrix_normal_wishart import MatrixNormalWishart
from ilr_dynamics.regression.families.tied_components import (
    GroupedSums,
    outer,
    quadratic,
    wishart_evidence,
)

__all__ = ["TiedRegressions", "tied_regressions"]


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


def tied_regressions(
    prior: MatrixNormalWishart, sums: GroupedSums, statistics: FloatArray
) -> TiedRegressions:
    """
    Posterior of slopes, offsets and noise precisions.

    Parameters
    ----------
    prior
        [M_0, theta_0], Block(K_0, rho_0), Phi_0^-1 and eta_0 (K = 1).
    sums
        Which lower components belong together.
    statistics : (K, p, p)
        Statistics of the extended samples.
    """
    d, q = prior.n_outputs, prior.n_regressors
    r, groups, counts = q - 1, sums.groups, statistics[:, q - 1, q - 1]
    slope0, offset0 = prior.mean[0, :, :r], prior.mean[0, :, r]  # M_0, theta_0
    slope_precision0 = prior.column_precision[0, :r, :r]  # K_0
    tied = _TiedSlopes.of(prior, sums, statistics)
    offsets = tied.offset_pulls - np.einsum("kdr,kr->kd", tied.slopes[groups], tied.totals)
    offsets /= tied.offset_strengths[:, None]  # theta_k

    dof = prior.dof + sums(counts)
    inverse_scale = prior.inverse_scale + symmetrize(
        sums(
            statistics[:, q:, q:]
            - outer(tied.offset_pulls, tied.offset_pulls / tied.offset_strengths[:, None])
        )
        + slope0 @ slope_precision0 @ slope0.T
        + (sums.sizes() * tied.rho0)[:, None, None] * np.outer(offset0, offset0)
        - tied.slopes @ np.swapaxes(tied.slope_pulls, 1, 2)
    )
    log_det_columns = (
        log_determinant(cholesky(tied.slope_precisions))
        - log_determinant(cholesky(slope_precision0))
        + sums(np.log(tied.offset_strengths / tied.rho0))
    )
    log_evidence = -0.5 * d * log_det_columns + wishart_evidence(
        prior.inverse_scale, prior.dof, inverse_scale, dof
    )
    # E[V_g] = eta Phi.
    precision = inverse_from_cholesky(cholesky(inverse_scale)) * dof[:, None, None]
    slope_shifts = tied.slopes - slope0
    offset_variances = 1.0 / tied.offset_strengths + quadratic(
        tied.slope_covariances[groups], tied.shrunk_means
    )
    return TiedRegressions(
        MatrixNormalWishart(
            np.concatenate([tied.slopes[groups], offsets[:, :, None]], axis=2),
            tied.column_precisions(groups),
            inverse_scale[groups],
            dof[groups],
        ),
        tied.slopes,
        log_evidence,
        np.einsum("gii->i", precision),
        d * np.einsum("grr->r", tied.slope_covariances)
        + np.einsum("gij,gir,gjr->r", precision, slope_shifts, slope_shifts, optimize=True),
        float(
            d * np.sum(offset_variances) + np.sum(quadratic(precision[groups], offsets - offset0))
        ),
    )


@dataclass(frozen=True)
class _TiedSlopes:
    """
    Slope of each group given V_g, the offsets integrated out: Schur complements of the arrowhead.

    Attributes
    ----------
    rho0
        Of the prior.
    totals, shrunk_means : (K, q - 1)
        Sum of x, and that over rho_k: the mean of x, were there rho_0 samples more at zero.
    offset_strengths : (K,)
        rho_k.
    offset_pulls : (K, d)
        t_k.
    slope_precisions, slope_covariances : (G, q - 1, q - 1)
        K_A and its inverse.
    slope_pulls, slopes : (G, d, q - 1)
        M K_A, and M.
    """

    rho0: float
    totals: FloatArray
    shrunk_means: FloatArray
    offset_strengths: FloatArray
    offset_pulls: FloatArray
    slope_precisions: FloatArray
    slope_covariances: FloatArray
    slope_pulls: FloatArray
    slopes: FloatArray

    @classmethod
    def of(cls, prior: MatrixNormalWishart, sums: GroupedSums, statistics: FloatArray) -> Self:
        """Slopes from the statistics (K, p, p)."""
        q = prior.n_regressors
        r = q - 1
        slope0, offset0 = prior.mean[0, :, :r], prior.mean[0, :, r]
        slope_precision0, rho0 = prior.column_precision[0, :r, :r], prior.column_precision[0, r, r]
        totals = statistics[:, :r, r]
        strengths = rho0 + statistics[:, r, r]
        shrunk_means = totals / strengths[:, None]
        pulls = statistics[:, q:, r] + rho0 * offset0
        slope_precisions = slope_precision0 + sums(
            statistics[:, :r, :r] - outer(totals, shrunk_means)
        )
        slope_pulls = slope0 @ slope_precision0 + sums(
            statistics[:, q:, :r] - outer(pulls, shrunk_means)
        )
        slope_covariances = inverse_from_cholesky(cholesky(slope_precisions))
        return cls(
            rho0,
            totals,
            shrunk_means,
            strengths,
            pulls,
            slope_precisions,
            slope_covariances,
            slope_pulls,
            slope_pulls @ slope_covariances,
        )

    def column_precisions(self, groups: IndexArray) -> FloatArray:
        """L_k (K, q, q): of [A, c_k] by themselves. The Schur complement of rho_k in it is K_A."""
        n, r = self.totals.shape
        precisions = np.empty((n, r + 1, r + 1))
        precisions[:, :r, :r] = self.slope_precisions[groups] + outer(
            self.totals, self.shrunk_means
        )
        precisions[:, :r, r] = precisions[:, r, :r] = self.totals
        precisions[:, r, r] = self.offset_strengths
        return precisions
