# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
r"""
Whether earlier samples still hold where nothing tells how a relation may change: all or nothing.

Either the past predicts the new samples, or next to nothing of it is left, its statistics
discounted by the factor a (a power prior). The log odds of the second are

.. math::
    \sum_k \log \frac{p_k(a)}{(1 - \epsilon)\, p_k(1) + \epsilon\, p_k(a)} - \log 100,
    \qquad \log p_k(a) = \frac{\sum_{n \in k} w_n \log p(y_n \mid x_n, a)}
    {\max(1, \sum_{n \in k} w_n)}

over the components k that had samples where the new ones are. Elsewhere the past says nothing
that could be contradicted. The samples of one component err alike and count as one, and some
components, one in ten, are wrong between their samples whether something has changed or not. An a
between 0.01 and 1 would be chosen whenever the past is a little too sure, which is no change.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ilr_dynamics.arrays import FloatArray
from ilr_dynamics.regression.inference.knowledge import Knowledge
from ilr_dynamics.regression.prediction.physical_mixture import PhysicalMixture
from ilr_dynamics.regression.shared.change import Change

__all__ = ["most_probable_weight"]

LOG_ODDS_OF_NONE = float(np.log(100.0))
# Weight of the past once everything has changed.
LEFT = 0.01
# Share of the components that are wrong in any case.
WRONG = 0.1
# Samples, evenly spaced, that are looked at.
MAX_SAMPLES = 1000


def most_probable_weight(
    known: Knowledge, X: FloatArray, Y: FloatArray, weights: FloatArray
) -> tuple[float, Change]:
    """
    Return the share that earlier samples keep of their weight, and what it means.

    Parameters
    ----------
    known
        What was learned.
    X, Y, weights : (n, m), (n, d), (n,)
        New samples, in physical units, and their weights.
    """
    chosen = np.arange(0, X.shape[0], max(1, X.shape[0] // MAX_SAMPLES))
    X, Y, weights = X[chosen], Y[chosen], weights[chosen]
    now = known.predictive()
    owner = np.argmax(now.weights(X), axis=1)
    seen = (owner < len(known.statistics)) & (weights > 0.0)
    if not np.any(seen):
        return 1.0, Change(-LOG_ODDS_OF_NONE)
    X, Y, weights, owner = X[seen], Y[seen], weights[seen], owner[seen]
    weights = weights / np.maximum(np.bincount(owner, weights), 1.0)[owner]

    def log_densities(mixture: PhysicalMixture) -> FloatArray:
        return np.bincount(owner, weights * mixture.log_density(X, Y)).astype(float)

    forgotten, kept = log_densities(_discounted(known)), log_densities(now)
    of_both = np.logaddexp(np.log1p(-WRONG) + kept, np.log(WRONG) + forgotten)
    log_odds = float(np.sum(forgotten - of_both) - LOG_ODDS_OF_NONE)
    if not log_odds > 0.0:
        return 1.0, Change(log_odds)
    return LEFT, Change(log_odds, {"everything": 1.0 - LEFT}, tuple(range(Y.shape[1])))


def _discounted(known: Knowledge) -> PhysicalMixture:
    """Predictive distribution of what is left once everything has changed."""
    model = known.transforms.global_model
    if model is not None:
        model = model.discounted(LEFT)
        known = replace(known, transforms=replace(known.transforms, global_model=model))
    return replace(known, statistics=LEFT * known.statistics).predictive()
