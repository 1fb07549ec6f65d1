# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Subset of a long recording's states, spread evenly over it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ilr_dynamics.arrays import FloatArray
from ilr_dynamics.recording import Recording, SampleSettings
from ilr_dynamics.recording.sample_settings import half_window
from ilr_dynamics.recording.topic_series import BLOCK

__all__ = ["SpreadStates", "spread_states"]

# Around a state, s: what a joint did before it, and where its torque may come from.
BEFORE, AFTER = 0.16, 0.06


@dataclass(frozen=True)
class SpreadStates:
    """
    Some of a recording's states.

    Attributes
    ----------
    recording : Recording
        Stretches around them; the whole one where these would be most of it.
    centres : ndarray of shape (n,), int64, or None
        Stamps of the states, spread over the recording, ns; None if all states are there.
    """

    recording: Recording
    centres: NDArray[np.int64] | None


def spread_states(recording: Recording, settings: SampleSettings, enough: int) -> SpreadStates:
    """
    Take stretches around states that are spread over a recording.

    Where a joint is at an end of its range and where it is fastest, there is one too: so much of
    the motion is known of the whole recording.

    Parameters
    ----------
    recording : Recording
    settings : SampleSettings
        With the filter that smooths the stretches.
    enough : int
        How many states.
    """
    n = len(recording.stamp)
    half = half_window(settings, recording.period)
    before = half + round(BEFORE / recording.period)
    after = half + round(AFTER / recording.period)
    # Fewer may be apart, but stretches that touch save nothing.
    if n < 2 * enough * (before + after):
        return SpreadStates(recording, None)
    centres = np.linspace(0, n - 1, enough).round().astype(np.intp)
    taken = np.zeros(n, dtype=bool)
    for row in [*centres.tolist(), *_extremes(recording, half)]:
        taken[max(row - before, 0) : row + after + 1] = True
    rows = np.flatnonzero(taken)
    begins = np.unique(np.searchsorted(rows, recording.breaks))
    stretches = replace(
        recording,
        stamp=recording.stamp[rows],
        position=recording.position[rows],
        # Not looked at there, and it would take as much again.
        velocity=np.broadcast_to(np.float32(np.nan), (len(rows), recording.position.shape[1])),
        torque=recording.torque[rows],
        breaks=tuple(begins[(begins > 0) & (begins < len(rows))].tolist()),
    )
    return SpreadStates(stretches, recording.stamp[centres])


def _extremes(recording: Recording, half: int) -> Iterator[int]:
    """States at which a joint is at an end of its range, or fastest over a filter's window."""
    n, width, stamp = len(recording.stamp), 2 * half, recording.stamp
    for position in recording.position.T:

        def place(rows: slice, position: FloatArray = position) -> FloatArray:
            return position[rows]

        def other_way(rows: slice, position: FloatArray = position) -> FloatArray:
            return -position[rows]

        def speed(rows: slice, position: FloatArray = position) -> FloatArray:
            later = slice(rows.start + width, rows.stop + width)
            return np.abs(position[later] - position[rows]) / (stamp[later] - stamp[rows])

        yield _largest(n, place)
        yield _largest(n, other_way)
        yield half + _largest(n - width, speed)


def _largest(n: int, values: Callable[[slice], FloatArray]) -> int:
    """Row of the largest of n values, of which a block is made at a time."""
    largest, where = -np.inf, 0
    for start in range(0, n, BLOCK):
        block = values(slice(start, min(start + BLOCK, n)))
        at = int(np.argmax(block))
        if block[at] > largest:
            largest, where = float(block[at]), start + at
    return where
