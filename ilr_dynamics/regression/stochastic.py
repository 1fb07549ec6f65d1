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

from dataclasses import dataclass, replace

import numpy as np

from ilr_dynamics.arrays import FloatArray
from ilr_dynamics.regression.expectation import Expectation
from ilr_dynamics.regression.inference import (
    FitScales,
    InferenceResult,
    IterationCallback,
    Learning,
    variational_bayes,
)

__all__ = ["StepSchedule", "stochastic_variational_bayes"]


@dataclass(frozen=True)
class StepSchedule:
    """
    How much each minibatch counts.

    Parameters
    ----------
    batch_size
        Samples in a minibatch.
    delay
        Slows down the first steps; at least 0.
    rate
        How soon old minibatches are forgotten, above 0.5 and at most 1: then the steps add up to
        infinity and their squares do not.
    """

    batch_size: int
    delay: float
    rate: float

    def step(self, index: int) -> float:
        """Size of step `index` (0, 1, ...), between 0 and 1."""
        return float((index + 1.0 + self.delay) ** -self.rate)


def stochastic_variational_bayes(
    Z: FloatArray,
    weights: FloatArray,
    learning: Learning,
    *,
    schedule: StepSchedule,
    generator: np.random.Generator,
    max_passes: int,
    tolerance: float,
    fit_scales: FitScales = False,
    fit_concentration: bool = False,
    callback: IterationCallback | None = None,
) -> InferenceResult:
    """
    Natural-gradient steps over minibatches, then one iteration over all samples.

    Parameters
    ----------
    Z, weights, learning, tolerance, fit_scales, fit_concentration, callback
        As for `variational_bayes`; `tolerance` is for the mean bound of a pass.
    schedule
        Minibatches and steps.
    generator
        Source of randomness of the minibatches.
    max_passes
        Passes over the samples at most, the last one included.

    Returns
    -------
    InferenceResult
        Its lower bounds are estimates, the mean over the minibatches of a pass, but for the last,
        which is exact.
    """
    total_weight = float(np.sum(weights))
    n_batches = max(1, round(Z.shape[0] / schedule.batch_size))
    bounds: list[float] = []
    converged = False
    step_index = 0
    learning = learning.arranged()
    for completed in range(max_passes - 1):
        estimates = []
        for rows in np.array_split(generator.permutation(Z.shape[0]), n_batches):
            forms = learning.posterior.expected_log_joint_forms()
            share = total_weight / float(np.sum(weights[rows]))
            expectation = Expectation(Z[rows], weights[rows], learning.prior.n_inputs)
            log_normalizer, of_batch = expectation(forms, learning.names, of_all=True)
            entropy = share * (log_normalizer - float(np.vdot(forms, of_batch)))
            # With all samples in one batch there is nothing to average over.
            step = schedule.step(step_index) if n_batches > 1 else 1.0
            new = (1.0 - step) * learning.new + step * share * of_batch
            learning = replace(learning, new=new).arranged()
            estimates.append(entropy + learning.log_evidence() - learning.constant)
            step_index += 1
        learning = learning.with_scales_refitted(fit_scales, fit_concentration).fully_united()
        bounds.append(float(np.mean(estimates)))
        if callback is not None:
            callback(completed + 1, max_passes, bounds[-1] / total_weight)
        if completed > 0 and abs(bounds[-1] - bounds[-2]) <= tolerance * total_weight:
            converged = True
            break
    final = variational_bayes(
        Z, weights, learning, max_iterations=1, tolerance=tolerance, callback=None
    )
    return replace(final, lower_bounds=np.append(bounds, final.lower_bounds), converged=converged)
