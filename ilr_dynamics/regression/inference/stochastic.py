# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
r"""
Stochastic variational inference (Hoffman et al., 2013): statistics from minibatches.

The natural parameters of every factor are prior + statistics, so the natural gradient step is a
weighted mean of statistics. With those of minibatch t counted as if they were of all samples,

.. math:: S \leftarrow (1 - \rho_t) S + \rho_t \frac{W}{w_t} \sum_{n \in t} w_n r_n
    \zeta_n \zeta_n^\top, \qquad \rho_t = (t + \text{delay})^{-\text{rate}}.

The last step is one over all samples: the statistics that are kept count each sample once.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from ilr_dynamics.regression.inference.batch import BatchInference
from ilr_dynamics.regression.inference.inference import Inference, IterationCallback
from ilr_dynamics.regression.inference.samples import Samples
from ilr_dynamics.regression.inference.state import InferenceResult, InferenceState
from ilr_dynamics.regression.shared.validation import check_integer, check_real

__all__ = ["StochasticInference"]


@dataclass(frozen=True, repr=False)
class StochasticInference(Inference):
    """
    Natural-gradient steps over minibatches, then one iteration over all samples.

    The lower bounds it finds are estimates, the mean over the minibatches of a pass, but for the
    last, which is exact. Parameters as those of `Inference`, and these.

    Parameters
    ----------
    batch_size
        Samples in a minibatch.
    step_delay, step_rate
        Of the steps (t + delay)^(-rate), t = 1, 2, ..., by which minibatches count. The delay, at
        least 0, slows down the first steps; the rate, above 0.5 and at most 1 so that the steps
        add up to infinity and their squares do not, says how soon old minibatches are forgotten.
    """

    batch_size: int = 1000
    step_delay: float = 1.0
    step_rate: float = 0.7

    def __post_init__(self) -> None:
        """Check the ranges."""
        super().__post_init__()
        check_integer(self.batch_size, "batch_size", 1)
        check_real(self.step_delay, "step_delay", at_least=0.0)
        check_real(self.step_rate, "step_rate", above=0.5, at_most=1.0)

    def step(self, index: int) -> float:
        """Size of step `index` (0, 1, ...), between 0 and 1."""
        return float((index + 1.0 + self.step_delay) ** -self.step_rate)

    def ascend(
        self,
        samples: Samples,
        state: InferenceState,
        generator: np.random.Generator,
        callback: IterationCallback | None = None,
    ) -> InferenceResult:
        """As `Inference.ascend`; the tolerance is for the mean bound of a pass."""
        total_weight = samples.total_weight
        n_batches = samples.n_batches(self.batch_size)
        bounds: list[float] = []
        converged, growth = False, math.nan
        step_index = 0
        state = state.arranged()
        for completed in range(self.max_iterations - 1):
            estimates = []
            for batch in samples.batches(n_batches, generator):
                share = total_weight / batch.total_weight
                entropy, of_batch = batch.sums(state.posterior, state.names)
                # With all samples in one batch there is nothing to average over.
                step = self.step(step_index) if n_batches > 1 else 1.0
                new = (1.0 - step) * state.new + step * share * of_batch
                state = replace(state, new=new).arranged()
                estimates.append(share * entropy + state.log_evidence() - state.constant)
                step_index += 1
            state = state.with_scales_refitted(
                self.fit_scales, self.fit_concentration
            ).fully_united()
            bounds.append(float(np.mean(estimates)))
            if callback is not None:
                callback(completed + 1, self.max_iterations, bounds[-1] / total_weight)
            if completed > 0:
                growth = (bounds[-1] - bounds[-2]) / total_weight
                converged = abs(growth) <= self.tolerance
            if converged:
                break
        last = BatchInference(1, self.tolerance, fit_scales=False)
        final = last.ascend(samples, state, generator)
        return replace(
            final,
            lower_bounds=np.append(bounds, final.lower_bounds),
            converged=converged,
            growth=growth,
        )
