# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
r"""
Merge moves: fewer components where that raises the lower bound.

Merging two components adds up their responsibilities. The bound then changes by the evidence of
their joint statistics minus that of the two, and by the entropy that the samples lose who were
shared between them,

.. math:: \sum_n w_n \big( (a_n + b_n) \log(a_n + b_n) - a_n \log a_n - b_n \log b_n \big).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy
from scipy.special import xlogy

from ilr_dynamics.arrays import FloatArray, IndexArray
from ilr_dynamics.regression.families.quadratic_forms import form_coefficients, pairwise_products
from ilr_dynamics.regression.mixture.mixture import MixturePrior
from ilr_dynamics.regression.mixture.pairs import best_disjoint, merged, neighbours, summed

__all__ = ["entropy_losses", "merge_components"]

# Rows worked on at a time: bounds the memory of arrays over (rows, components).
BLOCK_ROWS = 1024
# Smaller shares of a sample, relative to the largest, are left out as in the E-step.
NEGLIGIBLE_LOG_SHARE = -40.0


def merge_components(
    prior: MixturePrior,
    statistics: FloatArray,
    groups: IndexArray,
    losses_of: Callable[[IndexArray], FloatArray],
) -> IndexArray | None:
    """
    Find components that are better one than two.

    What earlier samples, of which only statistics are left, lose in entropy is not known and
    counts as nothing.

    Parameters
    ----------
    prior
        Base distribution.
    statistics : (K, p, p)
        Statistics of all samples.
    groups : (K,)
        Upper component of each.
    losses_of
        From pairs (n_pairs, 2) to the entropy (n_pairs,) that the samples at hand lose by each,
        by the E-step that the statistics come from (`entropy_losses`).

    Returns
    -------
    merged_into : (K,) or None
        The component that each becomes part of, itself for most; None if no merge is a gain.
    """
    region = prior.posterior(statistics, groups).region
    # In units of the components' spread, so that all inputs count alike.
    pairs = neighbours(region.mean / region.median_widths())
    gains = prior.merge_gains(statistics, groups, pairs)
    pairs, gains = pairs[gains > 0.0], gains[gains > 0.0]
    if pairs.size == 0:
        return None
    losses = losses_of(pairs)
    n_components = statistics.shape[0]
    before = prior.log_evidence(statistics, groups)

    def joint_gain(chosen: IndexArray) -> float:
        # Of disjoint pairs each loses the entropy between its own two.
        merged_into = merged(pairs[chosen], n_components)
        after = prior.log_evidence(summed(statistics, merged_into), groups[np.unique(merged_into)])
        return after - before - float(np.sum(losses[chosen]))

    return best_disjoint(pairs, gains - losses, n_components, joint_gain)


def entropy_losses(
    zeta: FloatArray, weights: FloatArray, forms: FloatArray, pairs: IndexArray
) -> FloatArray:
    """
    Entropy of the responsibilities lost by merging each pair of components, in nats.

    Parameters
    ----------
    zeta, weights : (n, p), (n,)
        Extended samples and their weights.
    forms : (K, p, p)
        Those of the E-step.
    pairs : (n_pairs, 2)
        Indices of the components.

    Returns
    -------
    losses : (n_pairs,)
    """
    coefficients = form_coefficients(forms)
    losses = np.zeros(pairs.shape[0])

    def sums(r: scipy.sparse.csc_array, weights: FloatArray) -> FloatArray:
        r.data = xlogy(r.data, r.data)
        return np.asarray(weights @ r)

    for start in range(0, zeta.shape[0], BLOCK_ROWS):
        block = slice(start, start + BLOCK_ROWS)
        log_rho = pairwise_products(zeta[block]) @ coefficients.T
        log_rho -= log_rho.max(axis=1, keepdims=True)
        # Few components have a share of a sample.
        rows, components = np.nonzero(log_rho > NEGLIGIBLE_LOG_SHARE)
        share = np.exp(log_rho[rows, components])
        share /= np.bincount(rows, share)[rows]
        r = scipy.sparse.csc_array((share, (rows, components)), log_rho.shape)
        a, b = r[:, pairs[:, 0]], r[:, pairs[:, 1]]
        losses += sums(a + b, weights[block])
        losses -= sums(a, weights[block]) + sums(b, weights[block])
    return losses
