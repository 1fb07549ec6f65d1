# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""How far predicted torques are off: root mean square, normalized, in the worst second."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ilr_dynamics.arrays import FloatArray, IndexArray

__all__ = ["TorqueErrors", "WorstSecond", "covered_share", "torque_errors", "worst_seconds"]

WINDOW = 1.0
# Of the samples in the fullest window: with fewer, as at a gap, there is no second to judge.
LEAST_SHARE = 0.9


@dataclass(frozen=True)
class WorstSecond:
    """
    Second of a recording in which a joint's torque is predicted worst.

    Attributes
    ----------
    rms : float
        Root mean square error in it, Nm.
    begin : float
        Time of its first sample, s.
    recording : int
        Number of the recording, from 0.
    """

    rms: float
    begin: float
    recording: int = 0


@dataclass(frozen=True, eq=False)
class TorqueErrors:
    """
    Errors of each of n joints over recordings.

    Attributes
    ----------
    rms : ndarray of shape (n,)
        Root mean square, Nm.
    normalized : ndarray of shape (n,)
        Mean square, in units of the torque's variance; NaN if the torque never changes.
    worst : tuple of WorstSecond
        Worst second of each joint.
    """

    rms: FloatArray
    normalized: FloatArray
    worst: tuple[WorstSecond, ...]

    @property
    def total_rms(self) -> float:
        """Root mean square over all joints, Nm."""
        return float(np.sqrt(np.mean(self.rms**2)))


def torque_errors(
    times: Sequence[FloatArray], torques: Sequence[FloatArray], predicted: Sequence[FloatArray]
) -> TorqueErrors:
    """
    Compare predicted torques with those of one or more recordings.

    Parameters
    ----------
    times : sequence of ndarray of shape (m,)
        Increasing times of each recording's samples, s.
    torques, predicted : sequence of ndarray of shape (m, n)
        Measured and predicted torques of each recording, Nm.

    Returns
    -------
    TorqueErrors
    """
    errors = [found - measured for found, measured in zip(predicted, torques, strict=True)]
    square = np.mean(np.concatenate(errors) ** 2, axis=0)
    variance = np.var(np.concatenate(torques), axis=0)
    known = variance > 0.0
    seconds = [
        [WorstSecond(rms, begin, number) for rms, begin in worst_seconds(time, error)]
        for number, (time, error) in enumerate(zip(times, errors, strict=True))
    ]
    return TorqueErrors(
        np.sqrt(square),
        np.where(known, square / np.where(known, variance, 1.0), np.nan),
        tuple(max(of_joint, key=_rms) for of_joint in zip(*seconds, strict=True)),
    )


def worst_seconds(time: FloatArray, errors: FloatArray) -> list[tuple[float, float]]:
    """
    Find the second with the largest root mean square error of each joint.

    Parameters
    ----------
    time : ndarray of shape (m,)
        Increasing times, s.
    errors : ndarray of shape (m, n)
        Errors, Nm.

    Returns
    -------
    list of (float, float)
        Of each joint: root mean square error, Nm, and the time at which the second begins, s. A
        second begins with a sample, and holds nine tenths as many as the fullest one, or more.
    """
    begins, ends = _windows(time)
    sums = np.cumsum(np.vstack([np.zeros(errors.shape[1]), errors**2]), axis=0)
    squares = (sums[ends] - sums[begins]) / (ends - begins)[:, None]
    rows = np.argmax(squares, axis=0)
    worst = np.sqrt(np.maximum(squares[rows, np.arange(len(rows))], 0.0))
    return list(zip(worst.tolist(), time[begins[rows]].tolist(), strict=True))


def covered_share(torque: FloatArray, lower: FloatArray, upper: FloatArray) -> FloatArray:
    """Share (n,) of torques (m, n) that lie in their intervals (m, n), ends included."""
    return np.asarray(np.mean((lower <= torque) & (torque <= upper), axis=0))


def _windows(time: FloatArray) -> tuple[IndexArray, IndexArray]:
    """First sample of each window, and the one after its last."""
    begins = np.arange(len(time))
    ends = np.searchsorted(time, time + WINDOW, side="left")
    counts = ends - begins
    full = counts >= LEAST_SHARE * counts.max()
    return begins[full], ends[full]


def _rms(second: WorstSecond) -> float:
    return second.rms
