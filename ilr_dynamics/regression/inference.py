# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
r"""
Variational Bayes for the infinite mixture: E-step, M-step and lower bound.

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
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .mixture import (
    MixturePrior,
    component_counts,
    log_evidence,
    mixture_posterior,
    order_by_size,
)
from .products import form_coefficients, pairwise_products, scatter_matrices

__all__ = ["InferenceResult", "IterationCallback", "expectation", "variational_bayes"]

Array = NDArray[np.float64]
IterationCallback = Callable[[int, int, float], None]

LOG_2PI = float(np.log(2.0 * np.pi))
# Rows worked on at a time: the block of responsibilities (rows x components) stays in the cache
# and the memory needed does not grow with the number of samples.
BLOCK_ROWS = 2048
# A component holding less than this many samples changes the bound by less than rounding does.
EMPTY_COUNT = 1e-6


@dataclass(frozen=True)
class InferenceResult:
    """
    What variational_bayes found.

    Parameters
    ----------
    statistics : (K, p, p)
        Scatter of previous and new samples, sorted by falling count, without empty components.
    lower_bounds : (n_iterations,)
        Bound on the log evidence of the new samples after each iteration, in nats.
    converged
        Whether the bound settled before the last iteration.
    """

    statistics: Array
    lower_bounds: Array
    converged: bool


def expectation(Z: Array, weights: Array, forms: Array) -> tuple[float, Array]:
    """
    E-step: responsibilities of all samples, summed up at once into statistics.

    Parameters
    ----------
    Z : (n, p)
        Extended samples.
    weights : (n,)
        Sample weights.
    forms : (K, p, p)
        Expected log joint densities as quadratic forms.

    Returns
    -------
    log_normalizer
        sum_n w_n log sum_k rho_nk.
    statistics : (K, p, p)
        sum_n w_n r_nk z_n z_n'.
    """
    coefficients = form_coefficients(forms)
    packed = np.zeros(coefficients.T.shape)
    log_normalizer = 0.0
    for start in range(0, Z.shape[0], BLOCK_ROWS):
        F = pairwise_products(Z[start : start + BLOCK_ROWS])
        w = weights[start : start + BLOCK_ROWS]
        log_rho = F @ coefficients
        peak = log_rho.max(axis=1, keepdims=True)
        log_rho -= peak
        rho = np.exp(log_rho, out=log_rho)
        total = rho.sum(axis=1)
        log_normalizer += float(w @ (peak[:, 0] + np.log(total)))
        rho *= (w / total)[:, None]
        packed += rho.T @ F
    return log_normalizer, scatter_matrices(packed, Z.shape[1])


def variational_bayes(
    Z: Array,
    weights: Array,
    prior: MixturePrior,
    previous: Array,
    initial: Array,
    *,
    max_iterations: int,
    tolerance: float,
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
    prior
        Base distribution; together with `previous` it is the prior of the new samples.
    previous : (K, p, p)
        Statistics accumulated from earlier samples, zero for components opened now.
    initial : (K, p, p)
        Statistics of the new samples under an initial assignment.
    max_iterations
        Number of iterations at most.
    tolerance
        Stop when the bound grows by less than this fraction of its size.
    callback
        Called with (iteration, max_iterations, bound per unit of weight).

    Returns
    -------
    InferenceResult
    """
    new = initial
    previous_evidence = _evidence(prior, previous)
    constant = -0.5 * LOG_2PI * float(np.sum(weights)) * (prior.extended_size - 1)
    bounds: list[float] = []
    converged = False
    for iteration in range(max_iterations):
        previous, new = _drop_empty_and_sort(prior, previous, new)
        posterior = mixture_posterior(prior, previous + new)
        forms = posterior.expected_log_joint_forms()
        log_normalizer, new = expectation(Z, weights, forms)
        entropy = log_normalizer - float(np.vdot(forms, new))
        evidence = _evidence(prior, previous + new)
        bounds.append(entropy + evidence - previous_evidence + constant)
        if callback is not None:
            callback(iteration + 1, max_iterations, bounds[-1] / float(np.sum(weights)))
        if iteration > 0 and bounds[-1] - bounds[-2] <= tolerance * abs(bounds[-1]):
            converged = True
            break
    previous, new = _drop_empty_and_sort(prior, previous, new)
    return InferenceResult(previous + new, np.asarray(bounds), converged)


def _evidence(prior: MixturePrior, statistics: Array) -> float:
    ordered = statistics[order_by_size(prior, statistics)]
    return log_evidence(prior, mixture_posterior(prior, ordered))


def _drop_empty_and_sort(prior: MixturePrior, previous: Array, new: Array) -> tuple[Array, Array]:
    """
    Sort both by falling total count, which never lowers the bound, and drop what is empty.

    The largest stays in any case: weights may be tiny.
    """
    total = previous + new
    n_filled = int(np.sum(component_counts(prior, total) > EMPTY_COUNT))
    order = order_by_size(prior, total)[: max(1, n_filled)]
    return previous[order], new[order]
