# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
r"""
Variational Bayes for the infinite mixture: E-step, M-step, scales of the prior, lower bound.

Between an E-step and the M-step that follows, all parameter factors are at their optimum for the
responsibilities, and the bound collapses to

.. math::
    L = \sum_n w_n H(r_n) + \log p(X, Y, \text{labels with statistics } S),

the entropy of the responsibilities plus the evidence of the statistics. The entropy needs no pass
over the responsibilities: with log rho = z' Q z, it is
sum_n w_n log sum_k rho_nk - sum_k <Q_k, S_k>.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np

from ilr_dynamics.arrays import FloatArray, IndexArray
from ilr_dynamics.regression.expectation import Expectation
from ilr_dynamics.regression.hyperparameters import rounding_of_squares
from ilr_dynamics.regression.merging import merge_components
from ilr_dynamics.regression.mixture import MixturePosterior, MixturePrior
from ilr_dynamics.regression.pairs import summed

__all__ = [
    "FitScales",
    "InferenceResult",
    "IterationCallback",
    "Learning",
    "start",
    "variational_bayes",
]

IterationCallback = Callable[[int, int, float], None]
FitScales = bool | Literal["outputs"]

LOG_2PI = float(np.log(2.0 * np.pi))
# Iterations that ask of all components which samples they have a share in: the first ones, in
# which most changes, and every so many of the others.
FIRST_OF_ALL, OF_ALL_INTERVAL = 3, 8
# A component holding less than this many samples changes the bound by less than rounding does.
EMPTY_COUNT = 1e-9
# Iterations before the scales of the prior follow the data: the first components are still those
# of the initialisation, far wider or narrower than they will be.
FIRST_ITERATION_OF_SCALES = 3
# Merges are tried every so many iterations: the bound may take hundreds to settle, and each
# component less makes the rest of them faster.
MERGE_INTERVAL = 10


@dataclass(frozen=True)
class Learning:
    """
    What is known in the middle of learning: statistics, their prior and their structure.

    Parameters
    ----------
    prior
        Base distribution, its scales as the data have chosen them so far.
    guess
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
    guess: MixturePrior
    previous: FloatArray
    new: FloatArray
    groups: IndexArray
    names: IndexArray
    constant: float

    @cached_property
    def total(self) -> FloatArray:
        """Statistics (K, p, p) of all samples."""
        return self.previous + self.new

    @cached_property
    def posterior(self) -> MixturePosterior:
        """Distributions of the components, which are in order: the M-step."""
        return self.prior.posterior(self.total, self.groups)

    def log_evidence(self) -> float:
        """Log probability of labels and samples, of the scales too; components are in order."""
        return self.prior.log_evidence_of(
            self.posterior, self.total, self.groups
        ) + self.prior.log_prior_of_scales(self.guess)

    def arranged(self) -> Learning:
        """
        Sort the components, which never lowers the bound, and drop those that are empty.

        The largest stays in any case: weights may be tiny.
        """
        total = self.total
        n_filled = int(np.sum(self.prior.counts(total) > EMPTY_COUNT))
        order, groups = self.prior.arrange(total, self.groups, max(1, n_filled))
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
        self, fit_scales: FitScales, fit_concentration: bool = False
    ) -> Learning:
        """Move the scales of the prior to where they explain the components better."""
        prior = self.prior
        if fit_scales:
            squares = np.diagonal(self.total, axis1=1, axis2=2)[:, -prior.n_outputs :]
            rounding = rounding_of_squares(squares)
            refitted = prior.refitted(self.guess, self.posterior, rounding)
            # Each scale is chosen for itself, so leaving some as they are loses nothing.
            only_outputs = fit_scales == "outputs"
            prior = replace(prior, regression=refitted.regression) if only_outputs else refitted
        if fit_concentration:
            prior = prior.with_concentration_refitted(self.guess, self.total, self.groups)
        return self if prior is self.prior else replace(self, prior=prior)

    def united(self) -> Learning | None:
        """Unite upper components, those in order, where that raises the bound; None: nowhere."""
        groups = self.prior.united_groups(self.total, self.groups)
        return None if groups is None else replace(self, groups=groups)

    def fully_united(self) -> Learning:
        """Unite upper components until no union raises the bound."""
        learning = self
        while (united := learning.united()) is not None:
            learning = united.arranged()
        return learning


@dataclass(frozen=True)
class InferenceResult:
    """
    What inference found.

    Parameters
    ----------
    prior
        Base distribution, its scales chosen by the data if asked for.
    scatter : (K, p, p)
        Statistics of previous and new samples, in order, without empty components.
    groups : (K,)
        Upper component of each.
    lower_bounds : (n_iterations,)
        Bound on the log evidence of the new samples after each iteration, in nats.
    converged
        Whether the bound settled before the last iteration.
    """

    prior: MixturePrior
    scatter: FloatArray
    groups: IndexArray
    lower_bounds: FloatArray
    converged: bool


def start(
    weights: FloatArray,
    prior: MixturePrior,
    guess: MixturePrior,
    previous: FloatArray,
    initial: FloatArray,
    groups: IndexArray,
) -> Learning:
    """
    Where inference begins.

    Parameters
    ----------
    weights : (n,)
        Weights of the new samples.
    prior, guess
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
        + prior.log_prior_of_scales(guess)
        + float(np.sum(weights)) * log_density_constant
    )
    return Learning(prior, guess, previous, initial, groups, names, constant)


def variational_bayes(
    Z: FloatArray,
    weights: FloatArray,
    learning: Learning,
    *,
    max_iterations: int,
    tolerance: float,
    fit_scales: FitScales = False,
    fit_concentration: bool = False,
    merge: bool = False,
    callback: IterationCallback | None = None,
) -> InferenceResult:
    """
    Coordinate ascent on the lower bound, from the statistics of an initial assignment.

    Parameters
    ----------
    Z : (n, p)
        New extended samples.
    weights : (n,)
        Their weights.
    learning
        Where to begin, see `start`.
    max_iterations
        Number of iterations at most.
    tolerance
        Stop when the bound grows by less than this for each unit of weight, in nats.
    fit_scales
        Whether the scales of the prior follow the data; "outputs": only those of the regressions.
    fit_concentration
        Whether the concentration does.
    merge
        Whether to merge components where that raises the bound. Upper components are merged in
        any case: their sharing slopes is what a hierarchy is for.
    callback
        Called with (iteration, max_iterations, bound per unit of weight).

    Returns
    -------
    InferenceResult
    """
    total_weight = float(np.sum(weights))
    bounds: list[float] = []
    converged = False
    expectation = Expectation(Z, weights, learning.prior.n_inputs)
    asks_all = True
    learning = learning.arranged()
    for iteration in range(max_iterations):
        if iteration >= FIRST_ITERATION_OF_SCALES:
            learning = learning.with_scales_refitted(fit_scales, fit_concentration)
        forms = learning.posterior.expected_log_joint_forms()
        asks_all |= iteration < FIRST_OF_ALL or iteration % OF_ALL_INTERVAL == 0
        log_normalizer, new = expectation(forms, learning.names, of_all=asks_all)
        entropy = log_normalizer - float(np.vdot(forms, new))
        learned = replace(learning, new=new)
        # Sorted at once, so that the posterior in the bound is that of the next iteration.
        learning = learned.arranged()
        bounds.append(entropy + learning.log_evidence() - learning.constant)
        if callback is not None:
            callback(iteration + 1, max_iterations, bounds[-1] / total_weight)
        if iteration <= FIRST_ITERATION_OF_SCALES:
            asks_all = False
            continue
        settled = bounds[-1] - bounds[-2] <= tolerance * total_weight
        if settled and not asks_all:
            # Components that were left out may have more to say by now.
            asks_all = True
            continue
        moved = None
        if merge and (settled or iteration % MERGE_INTERVAL == 0):
            # Not yet in the new order: that of the forms.
            moved = _merged(Z, weights, learned, forms)
        if settled and moved is None:
            # Last, because tied components no longer change their widths one by one.
            moved = learning.united()
            if moved is None:
                converged = True
                break
        learning = learning if moved is None else moved.arranged()
        asks_all = moved is not None
    learning = learning.fully_united()
    return InferenceResult(
        learning.prior, learning.total, learning.groups, np.asarray(bounds), converged
    )


def _merged(
    Z: FloatArray, weights: FloatArray, learning: Learning, forms: FloatArray
) -> Learning | None:
    """Learning with components merged, None where no merge raises the bound."""
    merged_into = merge_components(
        learning.prior, learning.total, learning.groups, Z, weights, forms
    )
    if merged_into is None:
        return None
    return replace(
        learning,
        previous=summed(learning.previous, merged_into),
        new=summed(learning.new, merged_into),
        groups=learning.groups[np.unique(merged_into)],
        names=learning.names[np.unique(merged_into)],
    )
