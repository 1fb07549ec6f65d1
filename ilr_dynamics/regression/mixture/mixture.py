# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""
The infinite mixture of local linear regressions: prior, statistics, posterior.

A posterior is the prior plus sufficient statistics, always rebuilt from both, so that statistics
can be added, sorted and dropped at any time and the prior is never touched by the data. The
statistics of one component are a single matrix, the weighted scatter of its extended samples
zeta = [x, features of x, 1, y].
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from ilr_dynamics.arrays import FloatArray, IndexArray
from ilr_dynamics.regression.families import stick_breaking
from ilr_dynamics.regression.families.matrix_normal_wishart import (
    MatrixNormalWishart,
    update_matrix_normal_wishart,
)
from ilr_dynamics.regression.families.normal_wishart import NormalWishart, update_normal_wishart
from ilr_dynamics.regression.mixture.hyperparameters import (
    CONCENTRATION_SIZE,
    log_scale_prior,
    most_probable_scale,
    overrelaxed_scale,
)

__all__ = ["MixturePosterior", "MixturePrior", "extend", "most_probable_concentration"]


def extend(U: FloatArray, Y: FloatArray) -> FloatArray:
    """Extended samples zeta = [u, y] (n, p) of regressors u = [x, .., 1] (n, q) and outputs."""
    return np.concatenate([U, Y], axis=1)


@dataclass(frozen=True)
class MixturePosterior:
    """
    Distributions of all components and what their weights are expected to be.

    Attributes
    ----------
    region, regression
        One distribution a component (K).
    expected_log_weights : (K,)
        E[log pi_k], for the E-step.
    log_expected_weights : (K,)
        log E[pi_k], for the prediction. What is missing to one belongs to the unseen component.
    """

    region: NormalWishart
    regression: MatrixNormalWishart
    expected_log_weights: FloatArray
    log_expected_weights: FloatArray

    def expected_log_joint(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """
        Find c and R with log rho_nk = c_k - |R_k zeta_n|^2 / 2 (E-step).

        log rho_nk = E[log pi_k] + E[log N(x_n | k)] + E[log N(y_n | x_n, k)].

        Returns
        -------
        c : (K,)
        R_x : (K, m, m + 1)
            Rows of R for the inputs, over [x, 1] alone.
        R_y : (K, p, p)
            Those for the outputs.
        """
        R_y, output_constants = self.regression.expected_log_likelihoods()
        R_x, input_constants = self.region.expected_log_likelihoods()
        return self.expected_log_weights + input_constants + output_constants, R_x, R_y

    def expected_log_joint_forms(self) -> FloatArray:
        """Matrices Q (K, p, p) with log rho_nk = zeta_n' Q_k zeta_n."""
        constants, R_x, R_y = self.expected_log_joint()
        (K, p, _), m = R_y.shape, self.region.dimension
        one = self.regression.n_regressors - 1
        # One product R' R for both.
        R = np.zeros((K, p + m, p))
        R[:, :p] = R_y
        R[:, p:, :m] = R_x[:, :, :m]
        R[:, p:, one] = R_x[:, :, m]
        forms = np.swapaxes(R, 1, 2) @ R
        forms *= -0.5
        forms[:, one, one] += constants
        return forms


@dataclass(frozen=True)
class MixturePrior:
    """
    The base distribution of the Dirichlet process, from which every component is drawn.

    Every method takes the `statistics` (K, p, p) of K components, S_k, and `groups` (K,), the
    upper component that each belongs to. Here, without a hierarchy, each is a group of its own.

    Attributes
    ----------
    region
        Normal-Wishart over centre and precision of the inputs (K = 1).
    regression
        Matrix-normal-Wishart over slope, offset and noise precision (K = 1).
    concentration
        alpha_0 > 0: the larger, the more components are expected.
    """

    region: NormalWishart
    regression: MatrixNormalWishart
    concentration: float

    @property
    def n_inputs(self) -> int:
        """Length m of an input."""
        return self.region.dimension

    @property
    def n_regressors(self) -> int:
        """Length q of the regressors [x, features of x, 1]."""
        return self.regression.n_regressors

    @property
    def n_outputs(self) -> int:
        """Length d of an output."""
        return self.regression.n_outputs

    def counts(self, statistics: FloatArray) -> FloatArray:
        """Weight N_k (K,) that each component holds: the statistics of the constant 1."""
        one = self.n_regressors - 1
        return statistics[:, one, one]

    def arrange(
        self, statistics: FloatArray, groups: IndexArray, n_kept: int
    ) -> tuple[IndexArray, IndexArray]:
        """
        Order in which the sticks are broken: the one with the highest bound, largest first.

        Returns
        -------
        order : (n_kept,)
            Numbers of the `n_kept` largest components.
        groups : (n_kept,)
            Their groups, numbered anew.
        """
        order = np.argsort(-self.counts(statistics), kind="stable")[:n_kept]
        return order, np.arange(order.size)

    def posterior(self, statistics: FloatArray, groups: IndexArray) -> MixturePosterior:
        """Posterior = prior + statistics (M-step), for components in order."""
        region, regression = self._families(statistics)
        counts = self.counts(statistics)
        return MixturePosterior(
            region,
            regression,
            stick_breaking.expected_log_weights(counts, self.concentration),
            stick_breaking.log_expected_weights(counts, self.concentration)[:-1],
        )

    def log_evidence(self, statistics: FloatArray, groups: IndexArray) -> float:
        """
        Log probability of labelled data, parameters integrated out; components in any order.

        The sum over components of log normaliser of the posterior minus that of the prior, and
        the same for the sticks; without (2 pi)^(-N (m + d) / 2).
        """
        order, groups = self.arrange(statistics, groups, groups.size)
        ordered = statistics[order]
        return self.log_evidence_of(self.posterior(ordered, groups), ordered, groups)

    def log_evidence_of(
        self, posterior: MixturePosterior, statistics: FloatArray, groups: IndexArray
    ) -> float:
        """`log_evidence` of components in order whose posterior is at hand."""
        base = self.region.log_normalizer() + self.regression.log_normalizer()
        gains = posterior.region.log_normalizer() + posterior.regression.log_normalizer() - base
        sticks = stick_breaking.log_evidence(self.counts(statistics), self.concentration)
        return float(np.sum(gains)) + sticks

    def component_log_evidence(self, statistics: FloatArray) -> FloatArray:
        """Log probability (K,) of the samples of each component, were each alone."""
        region, regression = self._families(statistics)
        base = self.region.log_normalizer() + self.regression.log_normalizer()
        return region.log_normalizer() + regression.log_normalizer() - base

    def predictive(self, statistics: FloatArray, groups: IndexArray) -> MixturePosterior:
        """
        All components that a prediction mixes: those in order and, last, the unseen.

        The unseen component has the mass beyond the K sticks and the distributions of the prior.
        """
        seen = self.posterior(statistics, groups)
        log_weights = stick_breaking.log_expected_weights(
            self.counts(statistics), self.concentration
        )
        return replace(
            seen,
            region=seen.region.joined(self.region),
            regression=seen.regression.joined(self.regression),
            log_expected_weights=log_weights,
        )

    def refitted(
        self, stated_prior: Self, posterior: MixturePosterior, rounding: ArrayLike = 0.0
    ) -> Self:
        """
        One step of maximising the evidence over the scales of this prior.

        An EM step: each scale becomes the most probable one given the components' posteriors.
        It never lowers `log_evidence` + `log_prior_of_scales`.

        Parameters
        ----------
        stated_prior
            The prior as the user stated it, worth one component.
        posterior
            What this prior and the statistics of all components lead to.
        rounding : (d,)
            Noise scales stay above it (`rounding_of_squares`).
        """
        region, regression = posterior.region, posterior.regression
        m, d, K = self.n_inputs, self.n_outputs, region.kappa.size
        return replace(
            self,
            region=self.region.rescaled(
                most_probable_scale(
                    self.region.dof[0],
                    K,
                    region.expected_precision_sums(),
                    stated_prior.region.scales(),
                ),
                most_probable_scale(
                    m, K, region.expected_distances(self.region.mean), stated_prior.region.kappa[0]
                ),
            ),
            regression=self.regression.rescaled(
                most_probable_scale(
                    self.regression.dof[0],
                    K,
                    regression.expected_precision_sums(),
                    stated_prior.regression.scales(),
                    rounding,
                ),
                most_probable_scale(
                    d,
                    K,
                    regression.expected_distances(self.regression.mean),
                    stated_prior.regression.column_scales(),
                ),
            ),
        )

    def overrelaxed(
        self, present: Self, stated_prior: Self, relaxation: float, rounding: ArrayLike = 0.0
    ) -> Self:
        """
        Take a step of `refitted` further, which may lower the bound.

        Parameters
        ----------
        present, stated_prior
            The prior that this one was refitted from, and the stated one.
        relaxation
            How many times as far from the present scales, by their ratio, these shall lie.
        rounding : (d,)
            As for `refitted`.
        """

        def further(scales: Callable[[Self], FloatArray], smallest: ArrayLike = 0.0) -> FloatArray:
            before, now, stated = scales(present), scales(self), scales(stated_prior)
            return overrelaxed_scale(before, now, stated, relaxation, smallest)

        return replace(
            self,
            region=self.region.rescaled(
                further(lambda prior: prior.region.scales()),
                further(lambda prior: prior.region.kappa[0]),
            ),
            regression=self.regression.rescaled(
                further(lambda prior: prior.regression.scales(), rounding),
                further(lambda prior: prior.regression.column_scales()),
            ),
        )

    def with_concentration_refitted(
        self, stated_prior: Self, statistics: FloatArray, groups: IndexArray
    ) -> Self:
        """Take the same step for the concentration."""
        concentration = most_probable_concentration(
            [self.counts(statistics)], self.concentration, stated_prior.concentration
        )
        return replace(self, concentration=concentration)

    def log_prior_of_scales(self, stated_prior: Self) -> float:
        """Log probability of this prior's scales when those of `stated_prior` were expected."""
        return (
            log_scale_prior(CONCENTRATION_SIZE, self.concentration, stated_prior.concentration)
            + log_scale_prior(
                self.region.dof[0], self.region.scales(), stated_prior.region.scales()
            )
            + log_scale_prior(self.n_inputs, self.region.kappa, stated_prior.region.kappa)
            + log_scale_prior(
                self.regression.dof[0], self.regression.scales(), stated_prior.regression.scales()
            )
            + log_scale_prior(
                self.n_outputs,
                self.regression.column_scales(),
                stated_prior.regression.column_scales(),
            )
        )

    def merge_gains(
        self, statistics: FloatArray, groups: IndexArray, pairs: IndexArray
    ) -> FloatArray:
        """Change of `log_evidence` (n_pairs,) if the two components of a pair were one."""
        apart = self.component_log_evidence(statistics)
        first, second = pairs.T
        gains = self.component_log_evidence(statistics[first] + statistics[second])
        gains -= apart[first] + apart[second]
        counts = self.counts(statistics)
        sticks = stick_breaking.log_evidence(np.sort(counts)[::-1], self.concentration)
        for index, (a, b) in enumerate(pairs):
            merged = np.delete(counts, b)
            merged[a] += counts[b]
            merged = np.sort(merged)[::-1]
            gains[index] += stick_breaking.log_evidence(merged, self.concentration) - sticks
        return gains

    def united_groups(self, statistics: FloatArray, groups: IndexArray) -> IndexArray | None:
        """Groups (K,) with those united that are better one; None: there is nothing to unite."""
        return None

    def _families(self, statistics: FloatArray) -> tuple[NormalWishart, MatrixNormalWishart]:
        m, q = self.n_inputs, self.n_regressors
        counts = self.counts(statistics)
        region = update_normal_wishart(
            self.region, counts, statistics[:, :m, q - 1], statistics[:, :m, :m]
        )
        regression = update_matrix_normal_wishart(
            self.regression,
            counts,
            statistics[:, :q, :q],
            statistics[:, q:, :q],
            statistics[:, q:, q:],
        )
        return region, regression


def most_probable_concentration(
    counts: list[FloatArray], concentration: float, stated: float
) -> float:
    """Concentration of one or several stick-breaking processes with these counts (K,) each."""
    remainders = [
        stick_breaking.expected_log_remainders(of_process, concentration) for of_process in counts
    ]
    n_sticks = sum(of_process.size for of_process in counts)
    distance = -CONCENTRATION_SIZE * float(np.sum(np.concatenate(remainders)))
    return float(most_probable_scale(CONCENTRATION_SIZE, n_sticks, distance, stated))
