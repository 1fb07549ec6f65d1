# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Decimation of long time series to the resolution of a picture, with gaps kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ilr_dynamics.arrays import FloatArray, IndexArray

__all__ = ["Stretches", "decimate", "decimate_band", "stretches"]


@dataclass(frozen=True)
class Stretches:
    """
    Disjoint intervals of time without gaps, in order.

    Attributes
    ----------
    begins : ndarray of shape (n,), int
        Index of each stretch's first time among all times.
    first, last : ndarray of shape (n,)
        Begin and end of each stretch, s.
    """

    begins: IndexArray
    first: FloatArray
    last: FloatArray

    def share(self, edges: FloatArray) -> FloatArray:
        """
        Return the share of the time between neighbouring edges that the stretches cover.

        Parameters
        ----------
        edges : ndarray of shape (n + 1,)
            Increasing times, s.

        Returns
        -------
        ndarray of shape (n,)
            Shares in [0, 1].
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
        Increasing times, s.
    most_periods : float
        Longest time between neighbours that is not a gap, in median periods.
    breaks : sequence of int
        Indices at which a stretch begins even without a gap.

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
    Keep the smallest and the largest value in each of many equal bins of time.

    A line through the result covers the same area as a line through all values, but does not cross
    gaps: it is broken by NaN where a bin has no value, and at gaps where values are few.

    Parameters
    ----------
    time : ndarray of shape (n,)
        Increasing times, s.
    values : ndarray of shape (n,)
        Values, which may be NaN.
    n_bins : int
        Number of bins.
    begins : ndarray of shape (n_stretches,), int
        Index of the begin of each stretch without gaps.

    Returns
    -------
    time, values : ndarray
        About two points for each bin at most.
    """
    if len(time) <= 2 * n_bins:
        return np.insert(time, begins, np.nan), np.insert(values, begins, np.nan)
    edges = np.linspace(time[0], time[-1], n_bins + 1)
    start = np.searchsorted(time, edges[:-1])
    filled = np.diff(np.append(start, len(time))) > 0
    extremes = np.full((n_bins, 2), np.nan)
    # Filled bins only: for an empty bin reduceat would return the value that follows.
    extremes[filled, 0] = np.fmin.reduceat(values, start[filled])
    extremes[filled, 1] = np.fmax.reduceat(values, start[filled])
    return np.repeat(0.5 * (edges[1:] + edges[:-1]), 2), extremes.ravel()


def decimate_band(
    time: FloatArray, lower: FloatArray, upper: FloatArray, n_bins: int, begins: IndexArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """
    Keep the outer ends of a band in each of many equal bins of time, as `decimate` does.

    Parameters
    ----------
    time, lower, upper : ndarray of shape (n,)
        Increasing times, s, and ends of the band.
    n_bins, begins
        As for `decimate`.

    Returns
    -------
    time, lower, upper : ndarray
    """
    shown, low = decimate(time, lower, n_bins, begins)
    _, high = decimate(time, upper, n_bins, begins)
    if len(time) > 2 * n_bins:
        # Pairs of the smallest and the largest value of a bin.
        low, high = np.repeat(low[::2], 2), np.repeat(high[1::2], 2)
    return shown, low, high
