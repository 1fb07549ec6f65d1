# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
r"""
Statistics of residuals, shifted when the global model that they are residuals of has changed.

Sums over samples hold s (y - f); with another global model f' they should hold s (y - f'). The
samples are gone, but where they were is known: over each component's input mean and covariance a
linear map D [x, 1] is fitted to the shift s (f - f'), and

.. math::
    S \leftarrow T S T^\top, \quad T = \begin{pmatrix} I & 0 \\ D & I \end{pmatrix}

on the sums S of the products of [u, y] adds D [x, 1] to every y. Of a linear model it is exact.
"""

from __future__ import annotations

import numpy as np

from ilr_dynamics.arrays import FloatArray
from ilr_dynamics.regression.families.linear_algebra import cholesky
from ilr_dynamics.regression.units.transforms import Transforms

__all__ = ["shifted_statistics"]

# Where the shift is evaluated: at the centre and this many deviations from it, along each axis of
# the covariance. There a parabola has the mean that it has under the normal distribution.
DEVIATIONS = np.sqrt(3.0)
# Added to the variance in each direction, as a share of one plus the mean variance of the inputs.
THINNEST = 1e-9


def shifted_statistics(
    statistics: FloatArray,
    before: Transforms,
    after: Transforms,
    share: float | FloatArray = 1.0,
) -> FloatArray:
    """
    Return sums over samples (K, p, p) of what `after` leaves, from those of what `before` leaves.

    Parameters
    ----------
    statistics
        Weighted sums of the products of [x, features of x, 1, y] in standard units.
    before, after
        The same but for their global models.
    share
        Of the shift that is made, of all outputs or of each (d,). What is forgotten is not
        defended against the new global model: an arm that has changed has done so where there are
        no new samples, too.
    """
    outputs = before.outputs.scale.size
    inputs, q = before.regressors.n_inputs, statistics.shape[1] - outputs
    counts = statistics[:, q - 1, q - 1]
    # Components with hardly any samples are not shifted.
    filled = np.flatnonzero(counts > 1e-6)
    if filled.size == 0:
        return statistics
    sums = statistics[filled]
    centres = sums[:, :inputs, q - 1] / counts[filled, None]
    roots = _roots(sums[:, :inputs, :inputs] / counts[filled, None, None], centres)
    offsets = DEVIATIONS * np.concatenate([np.eye(inputs), -np.eye(inputs), np.zeros((1, inputs))])
    points = centres[:, None] + offsets @ np.swapaxes(roots, 1, 2)
    shifts = share * _shifts(points.reshape(-1, inputs), before, after)
    shifts = shifts.reshape(*points.shape[:2], outputs)
    # In units of its own deviations each component has the same design, so one pseudo-inverse.
    design = np.column_stack([offsets, np.ones(len(offsets))])
    fitted = np.swapaxes(np.linalg.pinv(design) @ shifts, 1, 2)
    slopes = np.swapaxes(
        np.linalg.solve(np.swapaxes(roots, 1, 2), np.swapaxes(fitted[:, :, :inputs], 1, 2)), 1, 2
    )
    transfer = np.tile(np.eye(q + outputs), (filled.size, 1, 1))
    transfer[:, q:, :inputs] = slopes
    transfer[:, q:, q - 1] = fitted[:, :, inputs] - (slopes @ centres[:, :, None])[:, :, 0]
    shifted = statistics.copy()
    shifted[filled] = transfer @ sums @ np.swapaxes(transfer, 1, 2)
    return 0.5 * (shifted + np.swapaxes(shifted, 1, 2))


def _roots(second_moments: FloatArray, centres: FloatArray) -> FloatArray:
    """Lower triangular roots (K, m, m) of the covariances."""
    covariances = second_moments - centres[:, :, None] * centres[:, None, :]
    variances = np.diagonal(covariances, axis1=1, axis2=2)
    thinnest = THINNEST * (1.0 + np.maximum(np.mean(variances, axis=1), 0.0))
    return cholesky(covariances + thinnest[:, None, None] * np.eye(centres.shape[1]))


def _shifts(points: FloatArray, before: Transforms, after: Transforms) -> FloatArray:
    """Change of the residual (n, d) at inputs (n, m), both in standard units."""
    model, newer = before.global_model, after.global_model
    assert model is not None
    assert newer is not None
    X = before.regressors.scaling.inverse_transform(points)
    change = model.expected(X) - newer.expected(X)
    return model.informative_share(X) * change / before.outputs.scale
