# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Runs of states in which the torque of a joint has the same value, to the last bit."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ilr_dynamics.arrays import BoolArray, IndexArray
from ilr_dynamics.recording import Recording
from ilr_dynamics.recording.position_tracks import encoder_steps
from ilr_dynamics.recording.topic_series import BLOCK

__all__ = ["TorqueRuns", "torque_runs", "torque_steps"]

# A joint that is slower may stick, rad/s, and its torque stay; by its positions over as long, s,
# in which noise of an encoder is no motion.
SLIPS, NOISE_S = 0.03, 0.1
# States of which a standard deviation is taken, at least.
MANY = 100_000


@dataclass(frozen=True)
class TorqueRuns:
    """
    Runs of two states and more with the same torque of a joint.

    Attributes
    ----------
    first, last : ndarray of shape (n_runs,)
        First and last state of each run.
    n_moving : ndarray of shape (n_runs,)
        Number of its states in which the joint moves.
    all_moving : int
        Number of all states in which the joint moves.
    usual : float
        Number of states for which a value stays usually (median) while the joint moves; 1 where
        each state has a value of its own.
    """

    first: IndexArray
    last: IndexArray
    n_moving: IndexArray
    all_moving: int
    usual: float


def torque_runs(recording: Recording, joint: int) -> TorqueRuns:
    """
    Find the runs of a joint's torque.

    Parameters
    ----------
    recording : Recording
    joint : int
    """
    first, last = _runs(recording.torque[:, joint])
    moves = _moves(recording, joint)
    all_moving = int(np.count_nonzero(moves))
    if not first.size:
        return TorqueRuns(first, last, first, all_moving, 1.0)
    before = np.append(np.int32(0), np.cumsum(moves, dtype=np.int32))
    n_moving = (before[last + 1] - before[first]).astype(np.intp)
    usual = _usual(last - first + 1, n_moving, all_moving - int(n_moving.sum()))
    return TorqueRuns(first, last, n_moving, all_moving, usual)


def torque_steps(recording: Recording, joint: int) -> tuple[float, float]:
    """
    Return the smallest change of a joint's torque and its standard deviation, both in Nm.

    The change is zero where the torque never changes.
    """
    torque = recording.torque[:, joint]
    parts = [
        float(encoder_steps(torque[start : start + BLOCK, np.newaxis].astype(np.float64))[0])
        for start in range(0, len(torque), BLOCK - 1)
    ]
    some = torque[:: max(1, len(torque) // MANY)].astype(np.float64)
    return min((part for part in parts if part > 0.0), default=0.0), float(some.std())


def _runs(torque: NDArray[np.floating]) -> tuple[IndexArray, IndexArray]:
    """First and last state of each run, in blocks: in most torques there are none."""
    same = np.concatenate(
        [
            start + np.flatnonzero(torque[start + 1 : start + BLOCK] == torque[start:end])
            for start in range(0, max(len(torque) - 1, 1), BLOCK - 1)
            for end in [min(start + BLOCK, len(torque)) - 1]
        ]
    )
    begins = np.diff(same, prepend=-2) > 1
    first = same[begins]
    return first, same[np.append(begins[1:], True)] + 1 if same.size else first


def _moves(recording: Recording, joint: int) -> BoolArray:
    """Whether the joint moves in each state, (n,)."""
    position = recording.position[:, joint]
    half = min(max(round(0.5 * NOISE_S / recording.period), 1), (len(position) - 1) // 2)
    moves = np.zeros(len(position), dtype=bool)
    least = SLIPS * 2 * half * recording.period
    for start in range(half, len(position) - half, BLOCK):
        end = min(start + BLOCK, len(position) - half)
        gone = position[start + half : end + half] - position[start - half : end - half]
        moves[start:end] = np.abs(gone) > least
    return moves


def _usual(length: IndexArray, n_moving: IndexArray, n_others: int) -> float:
    """Median length of the runs in which the joint moves, states beside runs counted as one."""
    length = np.sort(length[n_moving > 0.5 * length])
    place = (n_others + len(length)) // 2 - n_others
    return float(length[place]) if 0 <= place < len(length) else 1.0
