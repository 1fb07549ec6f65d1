# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""
Input side of tied components: centres around a common one, with the same precision.

Model and derivation: `tied_components`, and docs/mathematics.md, "Hierarchy".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from ilr_dynamics.arrays import FloatArray
from ilr_dynamics.regression.families.linear_algebra import (
    cholesky,
    inverse_from_cholesky,
    symmetrize,
)
from ilr_dynamics.regression.families.normal_wishart import NormalWishart
from ilr_dynamics.regression.families.tied_components import (
    GroupedSums,
    outer,
    quadratic,
    wishart_evidence,
)

__all__ = ["TiedRegions", "tied_regions"]


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


def tied_regions(
    prior: NormalWishart,
    common_strength: float,
    sums: GroupedSums,
    statistics: FloatArray,
    one: int,
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
    statistics : (K, p, p)
        Statistics of the extended samples.
    one
        Where the extended samples hold the constant 1.
    """
    m, groups, location = prior.dimension, sums.groups, prior.mean
    counts, totals = statistics[:, one, one], statistics[:, :m, one]
    centres = _TiedCentres.of(prior, common_strength, sums, counts, totals)
    dof = prior.dof + sums(counts)
    inverse_scale = prior.inverse_scale + symmetrize(
        sums(statistics[:, :m, :m] - outer(centres.pulls, centres.means))
        + (sums.sizes() * centres.prior_pull)[:, None, None] * outer(location, location)
    )
    log_evidence = -0.5 * m * centres.log_determinants(sums) + wishart_evidence(
        prior.inverse_scale, prior.dof, inverse_scale, dof
    )
    # E[Lambda_g] = nu Psi.
    precision = inverse_from_cholesky(cholesky(inverse_scale)) * dof[:, None, None]
    common, common_variances = centres.common(location, sums)
    # Of mu_k - tau, whose part that tau makes is 1 - kappa_0 / p_k.
    variances = (
        1.0 / centres.strengths
        + common_variances[groups] * (1.0 - centres.kappa0 / centres.strengths) ** 2
    )
    shifts = centres.means - common[groups]
    return TiedRegions(
        NormalWishart(centres.means, centres.kappa, inverse_scale[groups], dof[groups]),
        log_evidence,
        np.einsum("gii->i", precision),
        float(m * np.sum(variances) + np.sum(quadratic(precision[groups], shifts))),
        float(m * np.sum(common_variances) + np.sum(quadratic(precision, common - location))),
    )


@dataclass(frozen=True)
class _TiedCentres:
    """
    Centres mu_k of each group given Lambda_g, tau integrated out: a Gaussian.

    The precision of its columns is P = diag(p) - a 11', inverted by the formula of Sherman and
    Morrison.

    Attributes
    ----------
    kappa0, lambda0
        Of the prior.
    prior_pull : (G,)
        b_0: pull of the prior's location on each centre.
    common_strengths : (G,)
        lambda_0 + K kappa_0: strength of tau, given the centres.
    strengths : (K,)
        p_k.
    remainders : (G,)
        epsilon = 1 - a sum of 1 / p_k, which the determinant of P has beside the p_k.
    links : (K,)
        a / epsilon of the component's group.
    pulls, means : (K, m)
        b_k, and m_k = P^-1 b.
    """

    kappa0: float
    lambda0: float
    prior_pull: FloatArray
    common_strengths: FloatArray
    strengths: FloatArray
    remainders: FloatArray
    links: FloatArray
    pulls: FloatArray
    means: FloatArray

    @classmethod
    def of(
        cls,
        prior: NormalWishart,
        lambda0: float,
        sums: GroupedSums,
        counts: FloatArray,
        totals: FloatArray,
    ) -> Self:
        """Centres of components with these counts N_k (K,) and sums of x (K, m)."""
        kappa0, groups = float(prior.kappa[0]), sums.groups
        common_strengths = lambda0 + sums.sizes() * kappa0
        strengths = kappa0 + counts
        coupling = kappa0**2 / common_strengths  # a
        remainders = 1.0 - coupling * sums(1.0 / strengths)
        links = (coupling / remainders)[groups]
        prior_pull = kappa0 * lambda0 / common_strengths
        pulls = totals + prior_pull[groups, None] * prior.mean
        means = pulls + links[:, None] * sums(pulls / strengths[:, None])[groups]
        means /= strengths[:, None]
        return cls(
            kappa0,
            lambda0,
            prior_pull,
            common_strengths,
            strengths,
            remainders,
            links,
            pulls,
            means,
        )

    @property
    def kappa(self) -> FloatArray:
        """Strength 1 / (P^-1)_kk (K,) of each centre by itself."""
        return np.asarray(1.0 / (1.0 / self.strengths + self.links / self.strengths**2))

    def log_determinants(self, sums: GroupedSums) -> FloatArray:
        """Log of |P| over that of the prior (G,)."""
        return sums(np.log(self.strengths / self.kappa0)) + np.log(
            self.remainders * self.common_strengths / self.lambda0
        )

    def common(self, location: FloatArray, sums: GroupedSums) -> tuple[FloatArray, FloatArray]:
        """Expectation m_tau (G, m) of tau, and the variance v_tau (G,) of its columns."""
        pulls = self.lambda0 * location + self.kappa0 * sums(self.means)
        variances = 1.0 / (self.common_strengths * self.remainders)
        return pulls / self.common_strengths[:, None], variances
