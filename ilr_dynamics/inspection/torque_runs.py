# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Runs of states in which the torque of a joint has the same value, to the last bit."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ilr_dynamics.arrays import BoolArray, IndexArray
from ilr_dynamics.recording import Recording

__all__ = ["TorqueRuns", "torque_runs"]

# A joint that is slower may stick, rad/s, and its torque stay; by its positions over as long, s,
# in which noise of an encoder is no motion.
SLIPS, NOISE_S = 0.03, 0.1


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
    torque = recording.torque[:, joint]
    same = np.diff(torque[1:] == torque[:-1], prepend=False, append=False)
    first, last = np.flatnonzero(same).reshape(-1, 2).T
    moves = _moves(recording, joint)
    before = np.append(np.int32(0), np.cumsum(moves, dtype=np.int32))
    n_moving = (before[last + 1] - before[first]).astype(np.intp)
    usual = _usual(last - first + 1, n_moving, int(before[-1] - n_moving.sum()))
    return TorqueRuns(first, last, n_moving, int(before[-1]), usual)


def _moves(recording: Recording, joint: int) -> BoolArray:
    """Whether the joint moves in each state, (n,)."""
    position = recording.position[:, joint]
    half = min(max(round(0.5 * NOISE_S / recording.period), 1), (len(position) - 1) // 2)
    if half == 0:
        return np.zeros(len(position), dtype=bool)
    gone = np.abs(position[2 * half :] - position[: -2 * half])
    return np.pad(gone > SLIPS * 2 * half * recording.period, half, mode="edge")


def _usual(length: IndexArray, n_moving: IndexArray, n_others: int) -> float:
    """Median length of the runs in which the joint moves, states beside runs counted as one."""
    length = np.sort(length[n_moving > 0.5 * length])
    place = (n_others + len(length)) // 2 - n_others
    return float(length[place]) if 0 <= place < len(length) else 1.0
