# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""State of variational Bayes: base distribution, statistics, and moves that raise the bound."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, Self

import numpy as np

from ilr_dynamics.arrays import FloatArray, IndexArray
from ilr_dynamics.regression.mixture.hyperparameters import rounding_of_squares
from ilr_dynamics.regression.mixture.mixture import MixturePosterior, MixturePrior
from ilr_dynamics.regression.mixture.pairs import summed

__all__ = ["FitScales", "InferenceResult", "InferenceState", "initial_state"]

FitScales = bool | Literal["outputs"]

LOG_2PI = float(np.log(2.0 * np.pi))
# A component holding less than this many samples changes the bound by less than rounding does.
EMPTY_COUNT = 1e-9


@dataclass(frozen=True)
class InferenceState:
    """
    What is known in the middle of inference: statistics, their prior and their structure.

    Attributes
    ----------
    prior
        Base distribution, its scales as the data have chosen them so far.
    stated_prior
        Base distribution as stated by the user.
    previous : (K, p, p)
        Statistics of earlier samples, zero for components opened now.
    new : (K, p, p)
        Statistics of the samples being learned.
    groups : (K,)
        Upper component of each component.
    names : (K,)
        What tells the components apart while their order changes.
    constant
        What the bound of the new samples leaves out, in nats.
    """

    prior: MixturePrior
    stated_prior: MixturePrior
    previous: FloatArray
    new: FloatArray
    groups: IndexArray
    names: IndexArray
    constant: float

    @cached_property
    def statistics(self) -> FloatArray:
        """Statistics (K, p, p) of all samples."""
        return self.previous + self.new

    @cached_property
    def posterior(self) -> MixturePosterior:
        """Distributions of the components, which are in order: the M-step."""
        return self.prior.posterior(self.statistics, self.groups)

    def log_evidence(self) -> float:
        """Log probability of labels and samples, of the scales too; components are in order."""
        return self.prior.log_evidence_of(
            self.posterior, self.statistics, self.groups
        ) + self.prior.log_prior_of_scales(self.stated_prior)

    def arranged(self) -> Self:
        """
        Sort the components, which never lowers the bound, and drop those that are empty.

        The largest stays in any case: weights may be tiny.
        """
        n_filled = int(np.sum(self.prior.counts(self.statistics) > EMPTY_COUNT))
        order, groups = self.prior.arrange(self.statistics, self.groups, max(1, n_filled))
        if np.array_equal(order, np.arange(self.groups.size)):
            return replace(self, groups=groups)
        return replace(
            self,
            previous=self.previous[order],
            new=self.new[order],
            groups=groups,
            names=self.names[order],
        )

    def with_scales_refitted(
        self, fit_scales: FitScales, fit_concentration: bool, relaxation: float = 1.0
    ) -> Self:
        """
        Move the scales of the prior to where they explain the components better.

        With a relaxation above 1 they may go too far.
        """
        prior = self.prior
        if fit_scales:
            squares = np.diagonal(self.statistics, axis1=1, axis2=2)[:, -prior.n_outputs :]
            rounding = rounding_of_squares(squares)
            refitted = prior.refitted(self.stated_prior, self.posterior, rounding)
            if relaxation > 1.0:
                refitted = refitted.overrelaxed(prior, self.stated_prior, relaxation, rounding)
            # Each scale is chosen for itself, so leaving some as they are loses nothing.
            only_outputs = fit_scales == "outputs"
            prior = replace(prior, regression=refitted.regression) if only_outputs else refitted
        if fit_concentration:
            prior = prior.with_concentration_refitted(
                self.stated_prior, self.statistics, self.groups
            )
        return self if prior is self.prior else replace(self, prior=prior)

    def united(self) -> Self | None:
        """Unite upper components, those in order, where that raises the bound; None: nowhere."""
        groups = self.prior.united_groups(self.statistics, self.groups)
        return None if groups is None else replace(self, groups=groups)

    def fully_united(self) -> Self:
        """Unite upper components until no union raises the bound."""
        state = self
        while (united := state.united()) is not None:
            state = united.arranged()
        return state

    def merged(self, merged_into: IndexArray) -> Self:
        """Sum up components, `merged_into` (K,) naming the one that each becomes part of."""
        kept = np.unique(merged_into)
        return replace(
            self,
            previous=summed(self.previous, merged_into),
            new=summed(self.new, merged_into),
            groups=self.groups[kept],
            names=self.names[kept],
        )


@dataclass(frozen=True)
class InferenceResult:
    """
    What inference found.

    Attributes
    ----------
    prior
        Base distribution, its scales fitted to the data if the inference does.
    statistics : (K, p, p)
        Statistics of previous and new samples, in order, without empty components.
    groups : (K,)
        Upper component of each.
    lower_bounds : (n_iterations,)
        Bound on the log evidence of the new samples after each iteration, in nats.
    converged
        Whether the bound settled before the last iteration.
    growth
        By how much the last iteration raised the bound (of stochastic inference, the last pass
        over the samples its estimate), in nats for each unit of weight; NaN after one iteration.
    """

    prior: MixturePrior
    statistics: FloatArray
    groups: IndexArray
    lower_bounds: FloatArray
    converged: bool
    growth: float


def initial_state(
    weights: FloatArray,
    prior: MixturePrior,
    stated_prior: MixturePrior,
    previous: FloatArray,
    initial: FloatArray,
    groups: IndexArray,
) -> InferenceState:
    """
    Where inference begins.

    Parameters
    ----------
    weights : (n,)
        Weights of the new samples.
    prior, stated_prior
        Base distribution as known so far and as stated; together with `previous` it is the prior
        of the new samples.
    previous : (K, p, p)
        Statistics accumulated from earlier samples, zero for components opened now.
    initial : (K, p, p)
        Statistics of the new samples under an initial assignment.
    groups : (K,)
        Upper component of each component.
    """
    names = np.arange(groups.size)
    log_density_constant = 0.5 * LOG_2PI * (prior.n_inputs + prior.n_outputs)
    constant = (
        prior.log_evidence(previous, groups)
        + prior.log_prior_of_scales(stated_prior)
        + float(np.sum(weights)) * log_density_constant
    )
    return InferenceState(prior, stated_prior, previous, initial, groups, names, constant)
