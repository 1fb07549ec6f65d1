# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
r"""
Variational Bayes for the infinite mixture: E-step, M-step, scales of the prior, lower bound.

Between an E-step and the M-step that follows, all parameter factors are at their optimum for the
responsibilities, and the bound collapses to

.. math::
    L = \sum_n w_n H(r_n) + \log p(X, Y, \text{labels with statistics } S),

the entropy of the responsibilities plus the evidence of the statistics.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal, Self

import numpy as np

from ilr_dynamics.regression.inference.inference import Inference, IterationCallback
from ilr_dynamics.regression.inference.merging import merge_components
from ilr_dynamics.regression.inference.samples import Samples
from ilr_dynamics.regression.inference.scale_steps import ScaleSteps
from ilr_dynamics.regression.inference.state import InferenceResult, InferenceState
from ilr_dynamics.regression.mixture.mixture import MixturePosterior
from ilr_dynamics.regression.shared.validation import check_choice

__all__ = ["BatchInference"]

# Iterations before the scales of the prior follow the data: the first components are still those
# of the initialisation, far wider or narrower than they will be.
FIRST_ITERATION_OF_SCALES = 3
# Merges are tried every so many iterations: the bound may take hundreds to settle, and each
# component less makes the rest of them faster.
MERGE_INTERVAL = 10
# Unions of upper components are tried once an iteration raises the bound by less than this, in
# nats for each unit of weight. A round of unions raises it by 0.3 to 2.5 and is followed by the
# next; to wait each time until the bound has settled took 20 to 60 iterations a round, more than
# 200 in all with 300 components. At 0.05 they came too early: the bound ended lower. It also did
# with merging on, as components of different unions cannot be merged, so unions then wait.
UNION_GROWTH = 0.01


@dataclass(frozen=True, repr=False)
class BatchInference(Inference):
    """
    Coordinate ascent on the lower bound: every iteration visits all samples.

    Parameters as those of `Inference`, and this.

    Parameters
    ----------
    merge
        Whether to merge components where that raises the bound. It finds the number of pieces of
        a relation that truly consists of pieces; a smooth relation is often better left to
        components that overlap. "held_out": `fit` learns a trial model either way, without the
        samples that `calibration_share` holds out, and merges if that gives those more density;
        without such samples, and in later learning, it does not. Upper components of a hierarchy
        are merged in any case: their sharing slopes is what a hierarchy is for.
    """

    merge: Literal[True, False, "held_out"] = "held_out"

    def __post_init__(self) -> None:
        """Check the ranges."""
        super().__post_init__()
        check_choice(self.merge, "merge", (True, False, "held_out"))

    def variants(self) -> tuple[Self, ...]:
        """As `Inference.variants`: with and without merging, if that is left open."""
        if self.merge != "held_out":
            return (self,)
        return replace(self, merge=False), replace(self, merge=True)

    def ascend(
        self,
        samples: Samples,
        state: InferenceState,
        generator: np.random.Generator,
        callback: IterationCallback | None = None,
    ) -> InferenceResult:
        """As `Inference.ascend`."""
        total_weight = samples.total_weight
        bounds: list[float] = []
        converged, growth = False, math.nan
        # Whether to try unions before the bound has settled: not again after a try without any.
        may_unite = True
        step_scales = ScaleSteps(self.fit_scales, self.fit_concentration)
        # `merge` may be a numpy.bool_, so its truth value is used.
        merges = self.merge != "held_out" and bool(self.merge)
        state = state.arranged()
        for iteration in range(self.max_iterations):
            if iteration >= FIRST_ITERATION_OF_SCALES:
                state = step_scales(state, growth)
            posterior = state.posterior
            entropy, new = samples.sums(posterior, state.names)
            learned = replace(state, new=new)
            # Sorted at once, so that the posterior in the bound is that of the next iteration.
            state = learned.arranged()
            bounds.append(entropy + state.log_evidence() - state.constant)
            if callback is not None:
                callback(iteration + 1, self.max_iterations, bounds[-1] / total_weight)
            if iteration > 0:
                growth = (bounds[-1] - bounds[-2]) / total_weight
            if iteration <= FIRST_ITERATION_OF_SCALES:
                continue
            settled = growth <= self.tolerance
            moved = None
            if merges and (settled or iteration % MERGE_INTERVAL == 0):
                # `learned` has its components in the posterior's order, `state` in the new one.
                moved = _merged(samples, learned, posterior)
            early = may_unite and not merges and growth <= UNION_GROWTH
            if moved is None and (settled or early):
                # Late, because tied components no longer change their widths one by one.
                moved = state.united()
                may_unite = moved is not None
            if settled and moved is None:
                converged = True
                break
            state = state if moved is None else moved.arranged()
        state = state.fully_united()
        return InferenceResult(
            state.prior, state.statistics, state.groups, np.asarray(bounds), converged, growth
        )


def _merged(
    samples: Samples, state: InferenceState, posterior: MixturePosterior
) -> InferenceState | None:
    """State with components merged, None where no merge raises the bound."""
    losses_of = partial(samples.entropy_losses, posterior.expected_log_joint_forms())
    merged_into = merge_components(state.prior, state.statistics, state.groups, losses_of)
    return None if merged_into is None else state.merged(merged_into)
