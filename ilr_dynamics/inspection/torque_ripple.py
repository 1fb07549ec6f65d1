# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""
Torque ripple: waves of the motors' angles in the torque, as slots, magnets and gears make them.

They are many to the turn of a joint, so that they tell the time: a delay of a millisecond turns
their phase, the other way in the other direction. Left out, they hide it.
"""

from __future__ import annotations

import numpy as np

from ilr_dynamics.arrays import FloatArray, IndexArray
from ilr_dynamics.inspection.evidence import Evidence
from ilr_dynamics.inspection.joint_torque import N_WAVES, NOISE_ALIKE, UNEVEN, JointTorque
from ilr_dynamics.recording.sample_settings import half_window

__all__ = ["ripple_columns"]

# Waves to the turn of a motor behind gears that are described: pole pairs, slots, and what both
# have in common. Of a joint whose gears are not: of up to some hundred times as many.
OF_MOTOR, OF_JOINT = range(1, 61), range(N_WAVES + 1, 400)
# How many times what the best of all waves at all delays explains of the noise by chance makes one
# true.
BEYOND_CHANCE = 1.5
# Two motors of a differential, with two waves each.
MOST = 4


def ripple_columns(
    evidence: Evidence, joint: int, rows: IndexArray, model: JointTorque, y: FloatArray
) -> FloatArray:
    """
    Find the waves that explain a joint's torque.

    Parameters
    ----------
    evidence : Evidence
        With a described arm.
    joint : int
    rows : ndarray of shape (n,)
        Which of the rows of the evidence are used.
    model : JointTorque
        Of the joint's torque without ripple.
    y : ndarray of shape (m, n)
        What the described bodies leave of it, at each of some delays, Nm.

    Returns
    -------
    ndarray of shape (n, 2 k)
        Sines and cosines of k waves, in units of what is expected of them, Nm.
    """
    assert evidence.description is not None
    expected = UNEVEN * float(evidence.description.torque_limit[joint])
    waves = expected * _waves(evidence, joint, rows)
    every = evidence.spacing
    n_own = len(rows) * min(every / NOISE_ALIKE, 1.0)
    # Of two parameters chance explains 2 / n, and of many pairs one the logarithm of their number.
    enough = min(BEYOND_CHANCE * 2.0 * np.log(len(waves) * len(y)) / n_own, 1.0)
    found = np.empty((len(rows), 0))
    for _ in range(MOST):
        widened = model.widened(found)
        wave, share = _strongest(widened.residual(y), widened.residual(waves))
        if share < enough:
            break
        found = np.hstack([found, waves[wave].T])
    return found


def _waves(evidence: Evidence, joint: int, rows: IndexArray) -> FloatArray:
    """Sine and cosine of every wave that may be, as the filter leaves them, (m, 2, n)."""
    assert evidence.description is not None
    n, gears = len(evidence.joints), evidence.description.gear_matrix
    X = evidence.samples.X[evidence.rows[rows]]
    if gears is None:
        ways, numbers = np.eye(n)[[joint]], np.array(OF_JOINT)
    else:
        ways, numbers = gears[gears[:, joint] != 0.0], np.array(OF_MOTOR)
    ways = np.vstack([numbers[:, np.newaxis] * way for way in ways])
    angle, rate = ways @ X[:, :n].T, ways @ X[:, n : 2 * n].T
    left = _left_by_filter(evidence, rate)
    return np.stack([left * np.sin(angle), left * np.cos(angle)], axis=1)


def _left_by_filter(evidence: Evidence, rate: FloatArray) -> FloatArray:
    """Share of a wave that passes at a rate, rad/s, which the filter of the torques leaves."""
    settings, period = evidence.settings, evidence.recording.period
    half = half_window(settings, period)
    place = np.arange(-half, half + 1)
    powers = (place / half)[:, np.newaxis] ** np.arange(settings.filter_order + 1)
    weights = np.linalg.pinv(powers)[0]
    rates = np.linspace(0.0, np.pi / period, 500)
    share = np.cos(np.outer(rates, place * period)) @ weights
    return np.interp(np.abs(rate), rates, share)


def _strongest(left: FloatArray, apart: FloatArray) -> tuple[int, float]:
    """Wave that explains the largest share of what is left at any delay, and that share."""
    size = left.shape[1]
    gram = apart @ apart.transpose(0, 2, 1) + 1e-3 * np.mean(apart**2) * size * np.eye(2)
    product = np.einsum("win,dn->dwi", apart, left, optimize=True)
    explained = np.einsum("dwi,wij,dwj->dw", product, np.linalg.inv(gram), product, optimize=True)
    share = explained / (np.sum(left**2, axis=1)[:, np.newaxis] + 1e-300)
    best = int(np.argmax(share.max(axis=0)))
    return best, float(share[:, best].max())
