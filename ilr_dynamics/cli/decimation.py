# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Long tracks with as many points as a picture can show."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ilr_dynamics.arrays import FloatArray, IndexArray

__all__ = ["Stretches", "decimate", "stretches"]


@dataclass(frozen=True)
class Stretches:
    """
    Times at which something is there: intervals that follow each other.

    Attributes
    ----------
    begins : ndarray of shape (n,), int
        Place of each one's first time among all.
    first, last : ndarray of shape (n,)
        When each begins and ends, s, in order.
    """

    begins: IndexArray
    first: FloatArray
    last: FloatArray

    def share(self, edges: FloatArray) -> FloatArray:
        """
        Say how much of the time between neighbouring edges lies in the stretches.

        Parameters
        ----------
        edges : ndarray of shape (n + 1,)
            Increasing times, s.

        Returns
        -------
        ndarray of shape (n,)
            In [0, 1].
        """
        if not len(self.first):
            return np.zeros(len(edges) - 1)
        length = np.column_stack([np.zeros(len(self.first)), self.last - self.first])
        ends = np.column_stack([self.first, self.last])
        until = np.interp(edges, ends.ravel(), np.cumsum(length.ravel()))
        return np.diff(until) / np.diff(edges)


def stretches(time: FloatArray, most_periods: float, breaks: Sequence[int] = ()) -> Stretches:
    """
    Find the stretches in which times follow each other without a gap.

    Parameters
    ----------
    time : ndarray of shape (n,)
        Increasing, s.
    most_periods : float
        Median periods between neighbours that are no gap.
    breaks : sequence of int
        Places at which a stretch begins all the same.

    Returns
    -------
    Stretches
    """
    step = np.diff(time)
    begins = np.zeros(len(time), dtype=bool)
    begins[:1] = True
    begins[1:] = step > most_periods * np.median(step) if len(step) else False
    begins[[place for place in breaks if place < len(time)]] = True
    rows = np.flatnonzero(begins)
    return Stretches(rows, time[rows], time[np.append(rows[1:], len(time)) - 1])


def decimate(
    time: FloatArray, values: FloatArray, n_bins: int, begins: IndexArray
) -> tuple[FloatArray, FloatArray]:
    """
    Keep the least and the largest value of each of many equal parts of the time.

    A line through the result covers what a line through all values does, without those across
    gaps: NaN breaks it where a part holds no value, or where values are few.

    Parameters
    ----------
    time : ndarray of shape (n,)
        Increasing, s.
    values : ndarray of shape (n,)
        May be NaN.
    n_bins : int
        Number of parts.
    begins : ndarray of shape (n_stretches,), int
        Places at which a stretch without gaps begins.

    Returns
    -------
    time, values : ndarray
        About two for each part at most.
    """
    if len(time) <= 2 * n_bins:
        return np.insert(time, begins, np.nan), np.insert(values, begins, np.nan)
    edges = np.linspace(time[0], time[-1], n_bins + 1)
    start = np.searchsorted(time, edges[:-1])
    filled = np.diff(np.append(start, len(time))) > 0
    extremes = np.full((n_bins, 2), np.nan)
    # From one start to the next: those of empty bins would repeat the value that follows.
    extremes[filled, 0] = np.fmin.reduceat(values, start[filled])
    extremes[filled, 1] = np.fmax.reduceat(values, start[filled])
    return np.repeat(0.5 * (edges[1:] + edges[:-1]), 2), extremes.ravel()
