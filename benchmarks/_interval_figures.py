# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""How well a model knows its errors: its intervals, and the gate where it is wrong."""

from __future__ import annotations

import numpy as np
from _intervals import coverage, interval_score

from ilr_dynamics.arrays import BoolArray, FloatArray

__all__ = ["gate_where_wrong", "interval_figures"]

# Slower joints may stick, and then balance any torque; rad/s.
SLOWEST = 0.05
# A learned torque is wrong whose error is above this multiple of the analytic model's,
WORSE = 2.0
# and above this torque, Nm, with this share of the joint's own torque.
NOTICEABLE, NOTICEABLE_SHARE = 0.5, 0.1
MOST_OF_WRONG = 0.5


def interval_figures(
    Y: FloatArray, velocity: FloatArray, lower: FloatArray, upper: FloatArray
) -> dict[str, float]:
    """
    Figures of the intervals of joints that move.

    Parameters
    ----------
    Y, velocity : (n, n_joints)
        Recorded torques, Nm, and velocities, rad/s.
    lower, upper : (n, n_joints)
        Bounds of intervals that shall hold the share `LEVEL` of the torques, Nm.

    Returns
    -------
    dict
        The share that they hold, their mean width and their mean `interval_score`, Nm.
    """
    moving = np.abs(velocity) > SLOWEST
    y, low, high = Y[moving], lower[moving], upper[moving]
    return {
        "coverage": float(coverage(low, high, y)),
        "interval_width": float(np.mean(high - low)),
        "interval_score": float(interval_score(low, high, y)),
    }


def gate_where_wrong(
    Y: FloatArray, learned: FloatArray, analytic: FloatArray, gate: FloatArray, length: int
) -> dict[str, int]:
    """
    Count the stretches in which a learned torque is wrong, and those in which the gate knows it.

    Parameters
    ----------
    Y, learned, analytic : (n, n_joints)
        Torques that were recorded, and those of both models at the recorded states, Nm.
    gate : (n,)
        Weight of the learned torque in the controller.
    length
        Samples of a stretch.

    Returns
    -------
    dict
        The number of stretches in which some joint's learned torque errs (rms) by more than twice
        the analytic model's error, and by more than 0.5 Nm and a tenth of the joint's rms torque;
        and in how many of them the gate's mean weight is at most 0.5.
    """
    usual = np.sqrt(np.mean(Y**2, axis=0))
    of_learned, of_analytic = (_rms(torque - Y, length) for torque in (learned, analytic))
    noticeable = of_learned > NOTICEABLE + NOTICEABLE_SHARE * usual
    wrong: BoolArray = np.any(noticeable & (of_learned > WORSE * of_analytic), axis=1)
    refused = np.mean(_stretches(gate, length), axis=1) <= MOST_OF_WRONG
    return {"stretches": int(np.sum(wrong)), "gate_at_most_half": int(np.sum(wrong & refused))}


def _rms(errors: FloatArray, length: int) -> FloatArray:
    """Root mean squares (n_stretches, n_joints)."""
    return np.sqrt(np.mean(_stretches(errors, length) ** 2, axis=1))


def _stretches(values: FloatArray, length: int) -> FloatArray:
    """Values (n_stretches, length, ...) one stretch after the other; a last short one is left."""
    n_stretches = len(values) // length
    return values[: n_stretches * length].reshape(n_stretches, length, *values.shape[1:])
