# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""
The infinite mixture of local linear regressions: prior, statistics, posterior.

A posterior is the prior plus sufficient statistics, always rebuilt from both, so that statistics
can be added, sorted and dropped at any time and the prior is never touched by the data. The
statistics of one component are a single matrix, the weighted scatter of its extended samples
z = [x, 1, y].
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from . import stick_breaking
from .matrix_normal_wishart import MatrixNormalWishart, update_matrix_normal_wishart
from .normal_wishart import NormalWishart, update_normal_wishart

__all__ = [
    "MixturePosterior",
    "MixturePrior",
    "component_counts",
    "extend",
    "log_evidence",
    "mixture_posterior",
    "order_by_size",
    "split",
]

Array = NDArray[np.float64]


@dataclass(frozen=True)
class MixturePrior:
    """
    The base distribution of the Dirichlet process, from which every component is drawn.

    Parameters
    ----------
    gate
        Normal-Wishart over centre and precision of the inputs (K = 1).
    regression
        Matrix-normal-Wishart over slope, offset and noise precision (K = 1).
    concentration
        alpha_0 > 0: the larger, the more components are expected.
    """

    gate: NormalWishart
    regression: MatrixNormalWishart
    concentration: float

    @property
    def n_inputs(self) -> int:
        """Length m of an input."""
        return self.gate.dimension

    @property
    def n_outputs(self) -> int:
        """Length d of an output."""
        return self.regression.n_outputs

    @property
    def extended_size(self) -> int:
        """Length p = m + 1 + d of an extended sample."""
        return self.n_inputs + 1 + self.n_outputs


@dataclass(frozen=True)
class MixturePosterior:
    """Distributions of all K components and the counts that the sticks are built from."""

    gate: NormalWishart
    regression: MatrixNormalWishart
    counts: Array
    concentration: float

    def expected_log_joint_forms(self) -> Array:
        """
        Matrices Q (K, p, p) with log rho_nk = z_n' Q_k z_n (E-step of the paper's appendix).

        log rho_nk = E[log pi_k] + E[log N(x_n | k)] + E[log N(y_n | x_n, k)].
        """
        forms = self.regression.expected_log_likelihood_forms()
        m = self.gate.dimension
        forms[:, : m + 1, : m + 1] += self.gate.expected_log_likelihood_forms()
        forms[:, m, m] += stick_breaking.expected_log_weights(self.counts, self.concentration)
        return forms


def extend(X: Array, Y: Array) -> Array:
    """Extended samples z = [x, 1, y] (n, p) of inputs (n, m) and outputs (n, d)."""
    return np.concatenate([X, np.ones((X.shape[0], 1)), Y], axis=1)


def split(prior: MixturePrior, Z: Array) -> tuple[Array, Array]:
    """Inputs (n, m) and outputs (n, d) of extended samples (n, p)."""
    m = prior.n_inputs
    return Z[:, :m], Z[:, m + 1 :]


def component_counts(prior: MixturePrior, statistics: Array) -> Array:
    """Weight N_k (K,) that each component holds: the scatter of the constant 1."""
    m = prior.n_inputs
    return statistics[:, m, m]


def order_by_size(prior: MixturePrior, statistics: Array) -> NDArray[np.intp]:
    """Indices (K,) that sort the components by falling count, ties by their present order."""
    return np.argsort(-component_counts(prior, statistics), kind="stable")


def mixture_posterior(prior: MixturePrior, statistics: Array) -> MixturePosterior:
    """
    Posterior = prior + statistics (M-step).

    Parameters
    ----------
    prior
        Base distribution.
    statistics : (K, p, p)
        Scatter matrices of the extended samples, sorted by falling count.
    """
    m = prior.n_inputs
    counts = component_counts(prior, statistics)
    gate = update_normal_wishart(prior.gate, counts, statistics[:, :m, m], statistics[:, :m, :m])
    regression = update_matrix_normal_wishart(
        prior.regression,
        counts,
        statistics[:, : m + 1, : m + 1],
        statistics[:, m + 1 :, : m + 1],
        statistics[:, m + 1 :, m + 1 :],
    )
    return MixturePosterior(gate, regression, counts, prior.concentration)


def log_evidence(prior: MixturePrior, posterior: MixturePosterior) -> float:
    """
    Log probability of labelled data, parameters integrated out, without (2 pi)^(-N (p - 1) / 2).

    The sum over components of log normaliser of the posterior minus that of the prior, and the
    same for the sticks.
    """
    n_components = posterior.counts.size
    families = float(
        np.sum(posterior.gate.log_normalizer()) + np.sum(posterior.regression.log_normalizer())
    )
    base = float(prior.gate.log_normalizer()[0] + prior.regression.log_normalizer()[0])
    sticks = stick_breaking.log_evidence(posterior.counts, prior.concentration)
    return families - n_components * base + sticks
