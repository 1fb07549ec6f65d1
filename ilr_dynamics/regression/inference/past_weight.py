# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
r"""
What earlier samples still weigh where nothing tells how a relation may change: all of it at once.

The past's statistics, discounted by kappa (a power prior), predict the new samples. The most
probable kappa maximizes

.. math::
    \sum_k \frac{\sum_{n \in k} w_n \log p(y_n \mid x_n, \kappa)}{\max(1, \sum_{n \in k} w_n)}
    + \log p(\kappa)

over the components k that had samples where the new ones are. Elsewhere the past says nothing that
could be contradicted. The samples of one component err alike and count as one: what changed in
many places is seen, what one place cannot tell is not. Beforehand kappa is 1 with odds of a
hundred to one.
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
WEIGHTS = np.array([0.3, 0.1, 0.03, 0.01, 0.003, 0.001])
# Samples, evenly spaced, that are looked at.
MAX_SAMPLES = 1000


def most_probable_weight(
    known: Knowledge, X: FloatArray, Y: FloatArray, weights: FloatArray
) -> tuple[float, Change]:
    """
    Return the share kappa that earlier samples keep of their weight, and what it means.

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
    kept = weights @ now.log_density(X, Y)
    gains = np.array([weights @ _discounted(known, kappa).log_density(X, Y) for kappa in WEIGHTS])
    best = int(np.argmax(gains))
    log_odds = float(gains[best] - kept - LOG_ODDS_OF_NONE)
    if not log_odds > 0.0:
        return 1.0, Change(log_odds)
    kappa = float(WEIGHTS[best])
    return kappa, Change(log_odds, {"everything": 1.0 - kappa}, tuple(range(Y.shape[1])))


def _discounted(known: Knowledge, kappa: float) -> PhysicalMixture:
    """Predictive distribution of what is left if all earlier samples weigh kappa."""
    model = known.transforms.global_model
    if model is not None:
        known = replace(
            known, transforms=replace(known.transforms, global_model=model.discounted(kappa))
        )
    return replace(known, statistics=kappa * known.statistics).predictive()
