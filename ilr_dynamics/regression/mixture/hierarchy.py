# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""
The infinite mixture of infinite mixtures: upper components that share a slope.

Both levels in one list: the lower components, sorted by upper component. The label of a sample is
the pair (upper, lower); its responsibility summed over the lower ones is the upper one's.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import logsumexp

from ilr_dynamics.arrays import FloatArray, IndexArray
from ilr_dynamics.regression.families import stick_breaking
from ilr_dynamics.regression.families.normal_wishart import NormalWishart
from ilr_dynamics.regression.families.tied_components import GroupedSums
from ilr_dynamics.regression.families.tied_regions import TiedRegions, tied_regions
from ilr_dynamics.regression.families.tied_regressions import TiedRegressions, tied_regressions
from ilr_dynamics.regression.mixture.hyperparameters import (
    CONCENTRATION_SIZE,
    log_scale_prior,
    most_probable_scale,
    overrelaxed_scale,
)
from ilr_dynamics.regression.mixture.mixture import (
    MixturePosterior,
    MixturePrior,
    most_probable_concentration,
)
from ilr_dynamics.regression.mixture.pairs import best_disjoint, merged, neighbours

__all__ = ["HierarchicalPosterior", "HierarchicalPrior"]

# Unions of groups tried at a time: bounds the memory of their statistics.
PAIRS_AT_A_TIME = 500


@dataclass(frozen=True)
class HierarchicalPosterior(MixturePosterior):
    """
    Distributions of all lower components, and those of the upper ones they come from.

    Attributes
    ----------
    regions, regressions
        Input and output side of the upper components.
    """

    regions: TiedRegions
    regressions: TiedRegressions


@dataclass(frozen=True)
class HierarchicalPrior(MixturePrior):
    """
    Base distributions of both levels.

    `region` has the prior of the input precisions and, as kappa, kappa_0: how strongly lower
    centres are tied to their upper centre. `concentration` is alpha_0, that of the lower level.

    Attributes
    ----------
    upper_concentration
        beta_0 > 0: the larger, the more upper components are expected.
    upper_strength
        lambda_0: how strongly upper centres are tied to the prior's location.
    """

    upper_concentration: float
    upper_strength: float

    def arrange(
        self, statistics: FloatArray, groups: IndexArray, n_kept: int
    ) -> tuple[IndexArray, IndexArray]:
        """Sort by upper component, the one with the largest total first; within it by count."""
        counts = self.counts(statistics)
        order = np.argsort(-counts, kind="stable")[:n_kept]
        _, members = np.unique(groups[order], return_inverse=True)
        totals = np.bincount(members, weights=counts[order])
        rank = np.empty(totals.size, dtype=np.intp)
        rank[np.argsort(-totals, kind="stable")] = np.arange(totals.size)
        by_group = np.argsort(rank[members], kind="stable")
        return order[by_group], rank[members][by_group]

    def posterior(self, statistics: FloatArray, groups: IndexArray) -> HierarchicalPosterior:
        """Posterior of each lower component, for components in order."""
        regions, regressions = self._tied(statistics, groups)
        counts = self.counts(statistics)
        totals, per_group = self._per_group(counts, groups)
        upper = stick_breaking.expected_log_weights(totals, self.upper_concentration)
        lower = [
            stick_breaking.expected_log_weights(of_group, self.concentration)
            for of_group in per_group
        ]
        expected_log_weights = upper[groups] + np.concatenate(lower)
        log_expected_weights = self._log_expected_weights(counts, groups)[:-1]
        return HierarchicalPosterior(
            regions.components,
            regressions.components,
            expected_log_weights,
            log_expected_weights,
            regions,
            regressions,
        )

    def log_evidence_of(
        self, posterior: MixturePosterior, statistics: FloatArray, groups: IndexArray
    ) -> float:
        """Log probability of data with labels of both levels, parameters integrated out."""
        assert isinstance(posterior, HierarchicalPosterior)
        totals, per_group = self._per_group(self.counts(statistics), groups)
        sticks = stick_breaking.log_evidence(totals, self.upper_concentration) + sum(
            stick_breaking.log_evidence(of_group, self.concentration) for of_group in per_group
        )
        families = posterior.regions.log_evidence + posterior.regressions.log_evidence
        return float(np.sum(families) + sticks)

    def predictive(self, statistics: FloatArray, groups: IndexArray) -> MixturePosterior:
        """
        All components that a prediction mixes: those in order and, last, the unseen.

        The unseen component has all mass beyond the sticks of both levels, and the distributions
        of the prior.
        """
        regions, regressions = self._tied(statistics, groups)
        return MixturePosterior(
            regions.components.joined(self._unseen_region()),
            regressions.components.joined(self.regression),
            np.zeros(0),
            self._log_expected_weights(self.counts(statistics), groups),
        )

    def _unseen_region(self) -> NormalWishart:
        """Where a new lower component of a new upper one may be: both variances add up."""
        kappa0, lambda0 = self.region.kappa, self.upper_strength
        return replace(self.region, kappa=kappa0 * lambda0 / (kappa0 + lambda0))

    def refitted(
        self, stated_prior: Self, posterior: MixturePosterior, rounding: ArrayLike = 0.0
    ) -> Self:
        """One step of maximising the evidence over the scales, as without a hierarchy."""
        assert isinstance(posterior, HierarchicalPosterior)
        regions, regressions = posterior.regions, posterior.regressions
        m, d = self.n_inputs, self.n_outputs
        K, G = posterior.region.kappa.size, regions.log_evidence.size
        stated_columns = stated_prior.regression.column_scales()
        column_scales = np.append(
            most_probable_scale(d, G, regressions.slope_distances, stated_columns[:-1]),
            most_probable_scale(d, K, regressions.offset_distances, stated_columns[-1]),
        )
        return replace(
            self,
            region=self.region.rescaled(
                most_probable_scale(
                    self.region.dof[0], G, regions.precision_sums, stated_prior.region.scales()
                ),
                most_probable_scale(m, K, regions.centre_distances, stated_prior.region.kappa[0]),
            ),
            regression=self.regression.rescaled(
                most_probable_scale(
                    self.regression.dof[0],
                    G,
                    regressions.precision_sums,
                    stated_prior.regression.scales(),
                    rounding,
                ),
                column_scales,
            ),
            upper_strength=float(
                most_probable_scale(m, G, regions.common_distances, stated_prior.upper_strength)
            ),
        )

    def overrelaxed(
        self, present: Self, stated_prior: Self, relaxation: float, rounding: ArrayLike = 0.0
    ) -> Self:
        """Take a step of `refitted` further, as without a hierarchy."""
        strength = overrelaxed_scale(
            present.upper_strength, self.upper_strength, stated_prior.upper_strength, relaxation
        )
        further = super().overrelaxed(present, stated_prior, relaxation, rounding)
        return replace(further, upper_strength=float(strength))

    def with_concentration_refitted(
        self, stated_prior: Self, statistics: FloatArray, groups: IndexArray
    ) -> Self:
        """Take the same step for the concentrations of both levels."""
        totals, per_group = self._per_group(self.counts(statistics), groups)
        return replace(
            self,
            concentration=most_probable_concentration(
                per_group, self.concentration, stated_prior.concentration
            ),
            upper_concentration=most_probable_concentration(
                [totals], self.upper_concentration, stated_prior.upper_concentration
            ),
        )

    def log_prior_of_scales(self, stated_prior: Self) -> float:
        """Log probability of this prior's scales when those of `stated_prior` were expected."""
        return (
            super().log_prior_of_scales(stated_prior)
            + log_scale_prior(self.n_inputs, self.upper_strength, stated_prior.upper_strength)
            + log_scale_prior(
                CONCENTRATION_SIZE, self.upper_concentration, stated_prior.upper_concentration
            )
        )

    def merge_gains(
        self, statistics: FloatArray, groups: IndexArray, pairs: IndexArray
    ) -> FloatArray:
        """
        Change of `log_evidence` (n_pairs,) if the two components of a pair were one.

        -inf for lower components of different upper ones, unless neither of these has another.
        """
        gains = np.full(pairs.shape[0], -np.inf)
        sizes = np.bincount(groups)
        before = self._upper_stick_evidence(statistics, groups)
        for index, (first, second) in enumerate(pairs):
            if groups[first] != groups[second] and np.any(sizes[groups[[first, second]]] > 1):
                continue
            members = np.flatnonzero((groups == groups[first]) | (groups == groups[second]))
            kept = members[members != second]
            merged = statistics[kept].copy()
            merged[np.searchsorted(kept, first)] += statistics[second]
            apart = sum(
                self._group_log_evidence(statistics[groups == group])
                for group in np.unique(groups[members])
            )
            gains[index] = self._group_log_evidence(merged) - apart
            if groups[first] != groups[second]:
                united = np.where(groups == groups[second], groups[first], groups)
                gains[index] += self._upper_stick_evidence(statistics, united) - before
        return gains

    def united_groups(self, statistics: FloatArray, groups: IndexArray) -> IndexArray | None:
        """
        Unite upper components that are better one, which leaves all responsibilities as they are.

        Candidates are those with similar slopes.
        """
        regions, regressions = self._tied(statistics, groups)
        slopes = regressions.slopes
        pairs = neighbours(slopes.reshape(slopes.shape[0], -1))
        alone = regions.log_evidence + regressions.log_evidence
        gains = self._union_log_evidence(statistics, groups, pairs)
        gains -= alone[pairs[:, 0]] + alone[pairs[:, 1]]
        gains += self._union_stick_gains(statistics, groups, pairs)
        n_groups = slopes.shape[0]

        def joint_gain(chosen: IndexArray) -> float:
            united = merged(pairs[chosen], n_groups)[groups]
            return self.log_evidence(statistics, united) - self.log_evidence(statistics, groups)

        merged_into = best_disjoint(pairs, gains, n_groups, joint_gain)
        return None if merged_into is None else merged_into[groups]

    def _union_log_evidence(
        self, statistics: FloatArray, groups: IndexArray, pairs: IndexArray
    ) -> FloatArray:
        """Log probability (n_pairs,) of the samples of two groups in one, without labels."""
        members = np.split(np.arange(groups.size), GroupedSums(groups).starts[1:])
        evidence = np.empty(pairs.shape[0])
        # Many unions at a time, each a group of its own: a call for each would take a hundred
        # times as long where there are hundreds of groups.
        for start in range(0, pairs.shape[0], PAIRS_AT_A_TIME):
            chosen = pairs[start : start + PAIRS_AT_A_TIME]
            unions = [np.append(members[first], members[second]) for first, second in chosen]
            sizes = [union.size for union in unions]
            regions, regressions = self._tied(
                statistics[np.concatenate(unions)], np.repeat(np.arange(len(unions)), sizes)
            )
            evidence[start : start + len(unions)] = regions.log_evidence + regressions.log_evidence
        return evidence

    def _union_stick_gains(
        self, statistics: FloatArray, groups: IndexArray, pairs: IndexArray
    ) -> FloatArray:
        """Change of the log probability (n_pairs,) of the labels if two groups were one."""
        totals, per_group = self._per_group(self.counts(statistics), groups)
        before = stick_breaking.log_evidence(np.sort(totals)[::-1], self.upper_concentration)
        alone = [
            stick_breaking.log_evidence(of_group, self.concentration) for of_group in per_group
        ]
        gains = np.empty(pairs.shape[0])
        for index, (first, second) in enumerate(pairs):
            united = np.delete(totals, second)
            united[first] += totals[second]
            counts = np.sort(np.append(per_group[first], per_group[second]))[::-1]
            gains[index] = (
                stick_breaking.log_evidence(np.sort(united)[::-1], self.upper_concentration)
                - before
                + stick_breaking.log_evidence(counts, self.concentration)
                - alone[first]
                - alone[second]
            )
        return gains

    def _tied(
        self, statistics: FloatArray, groups: IndexArray
    ) -> tuple[TiedRegions, TiedRegressions]:
        sums = GroupedSums(groups)
        one = self.n_regressors - 1
        return (
            tied_regions(self.region, self.upper_strength, sums, statistics, one),
            tied_regressions(self.regression, sums, statistics),
        )

    def _group_log_evidence(self, statistics: FloatArray) -> float:
        """Log probability of the samples of one group and of their lower labels."""
        counts = np.sort(self.counts(statistics))[::-1]
        regions, regressions = self._tied(statistics, np.zeros(statistics.shape[0], dtype=np.intp))
        sticks = stick_breaking.log_evidence(counts, self.concentration)
        return float(regions.log_evidence[0] + regressions.log_evidence[0] + sticks)

    def _upper_stick_evidence(self, statistics: FloatArray, groups: IndexArray) -> float:
        _, members = np.unique(groups, return_inverse=True)
        totals = np.bincount(members, weights=self.counts(statistics)).astype(float)
        return stick_breaking.log_evidence(np.sort(totals)[::-1], self.upper_concentration)

    def _per_group(
        self, counts: FloatArray, groups: IndexArray
    ) -> tuple[FloatArray, list[FloatArray]]:
        """Counts (G,) of the upper components, and of the lower ones within each."""
        sums = GroupedSums(groups)
        return sums(counts), np.split(counts, sums.starts[1:])

    def _log_expected_weights(self, counts: FloatArray, groups: IndexArray) -> FloatArray:
        """Log weights (K + 1,) of the lower components and, last, of all that is unseen."""
        totals, per_group = self._per_group(counts, groups)
        upper = stick_breaking.log_expected_weights(totals, self.upper_concentration)
        lower = [
            stick_breaking.log_expected_weights(of_group, self.concentration)
            for of_group in per_group
        ]
        seen = upper[groups] + np.concatenate([weights[:-1] for weights in lower])
        beyond_lower = upper[:-1] + np.array([weights[-1] for weights in lower])
        return np.append(seen, logsumexp(np.append(beyond_lower, upper[-1])))
