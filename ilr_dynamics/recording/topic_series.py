# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Joint states of one topic as columns, with row selection in place to save memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ilr_dynamics.arrays import BoolArray, IndexArray

__all__ = ["BLOCK", "TopicSeries", "keep_rows", "rises", "take_rows"]

BLOCK = 1 << 14
"""Number of rows processed at a time, where all at once would take as much memory again."""


@dataclass(frozen=True)
class TopicSeries:
    """
    Columns of the joint states of a topic.

    Attributes
    ----------
    stamp : ndarray of shape (n,), int64
        Header stamp, ns.
    fields : dict of str to ndarray of shape (n, n_joints)
        Position, velocity and effort, those that are stored, rad, rad/s and Nm.
    rejection : ndarray of shape (n,), uint8
        Reason why the message cannot be used, as `Rejection`.
    written : ndarray of shape (n,), int64, or None
        Index of each message in the order of writing; None: the rows are in that order.
    """

    stamp: NDArray[np.int64]
    fields: dict[str, NDArray[Any]]
    rejection: NDArray[np.uint8]
    written: IndexArray | None = None


def rises(values: NDArray[Any]) -> bool:
    """Whether values strictly increase."""
    return bool((values[1:] > values[:-1]).all())


def take_rows(series: TopicSeries, rows: IndexArray) -> TopicSeries:
    """Return a copy of rows, in any order."""
    return TopicSeries(
        series.stamp[rows],
        {name: values[rows] for name, values in series.fields.items()},
        series.rejection[rows],
        rows if series.written is None else series.written[rows],
    )


def keep_rows(series: TopicSeries, kept: BoolArray) -> TopicSeries:
    """Return the rows that are kept; the given series is overwritten."""
    if kept.all():
        return series
    rows = np.flatnonzero(kept)
    return TopicSeries(
        _moved_up(series.stamp, rows),
        {name: _moved_up(values, rows) for name, values in series.fields.items()},
        _moved_up(series.rejection, rows),
        rows if series.written is None else _moved_up(series.written, rows),
    )


def _moved_up(values: NDArray[Any], rows: IndexArray) -> NDArray[Any]:
    """Move increasing rows to the front in place: no row is overwritten before it is moved."""
    for start in range(0, len(rows), BLOCK):
        block = rows[start : start + BLOCK]
        values[start : start + len(block)] = values[block]
    return values[: len(rows)]
