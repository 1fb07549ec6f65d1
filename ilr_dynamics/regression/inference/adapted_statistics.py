# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
r"""
What earlier samples still say to local models once a global model has found a change.

Of outputs that have not changed, the samples are what they were: their residuals are shifted by
what the global model now says otherwise. Those of changed outputs can no longer be known; what the
samples said beyond the global model is kept as it was, as a correction of the new one, if it makes
the new samples more probable than no correction does. Otherwise it is dropped. With normal errors
of unknown variance the more probable one is that with the smaller sum of squares.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ilr_dynamics.arrays import FloatArray, IndexArray
from ilr_dynamics.regression.inference.knowledge import Knowledge
from ilr_dynamics.regression.inference.residual_statistics import shifted_statistics
from ilr_dynamics.regression.shared.change import Change
from ilr_dynamics.regression.units.transforms import Transforms

__all__ = ["adapted_statistics"]


def adapted_statistics(
    known: Knowledge,
    adapted: tuple[Transforms, Change],
    X: FloatArray,
    Y: FloatArray,
    weights: FloatArray,
) -> tuple[FloatArray, Transforms, Change]:
    """
    Return the statistics that earlier samples leave, and what has changed with all forgotten.

    Parameters
    ----------
    known
        What was learned from the earlier samples.
    adapted
        Transforms whose global model knows the new samples, and what it found to have changed.
    X, Y, weights : (n, m), (n, d), (n,)
        New samples, in physical units, and their weights.

    Returns
    -------
    statistics : (K, p, p)
    transforms
        Those given.
    change
    """
    after, change = adapted
    changed = np.isin(np.arange(Y.shape[1]), change.outputs)
    if not after.learn_residual:
        if not change.outputs:
            return known.statistics, after, change
        # Earlier outputs are shifted by the change of the global model's.
        share = np.where(changed, -1.0, 0.0)
        return shifted_statistics(known.statistics, known.transforms, after, share), after, change
    share = np.where(changed, 0.0, 1.0)
    statistics = shifted_statistics(known.statistics, known.transforms, after, share)
    refuted = _refuted(known, after, X, Y, weights, np.flatnonzero(changed))
    if not refuted.size:
        return statistics, after, change
    dropped = {f"local models of output {output + 1}": 1.0 for output in refuted}
    change = replace(change, forgotten={**change.forgotten, **dropped})
    return _without_corrections(known, statistics, refuted), after, change


def _refuted(
    known: Knowledge,
    after: Transforms,
    X: FloatArray,
    Y: FloatArray,
    weights: FloatArray,
    outputs: IndexArray,
) -> IndexArray:
    """Outputs whose corrections by earlier samples leave more than no correction does."""
    if not outputs.size:
        return outputs
    before = known.transforms.global_model
    assert before is not None
    mean = known.predictive().moments(X)[:, : Y.shape[1]]
    correction = before.informative_share(X) * (mean - before.expected(X))
    residual = after.residual(X, Y)
    with_it, without = weights @ (residual - correction) ** 2, weights @ residual**2
    return outputs[with_it[outputs] > without[outputs]]


def _without_corrections(
    known: Knowledge, statistics: FloatArray, outputs: IndexArray
) -> FloatArray:
    """Return statistics (K, p, p) of outputs less what the components expect of them."""
    maps = known.prior.posterior(statistics, known.groups).regression.mean
    q = maps.shape[2]
    transfer = np.tile(np.eye(statistics.shape[1]), (len(statistics), 1, 1))
    transfer[:, q + outputs, :q] = -maps[:, outputs]
    left = transfer @ statistics @ np.swapaxes(transfer, 1, 2)
    return np.asarray(0.5 * (left + np.swapaxes(left, 1, 2)))
