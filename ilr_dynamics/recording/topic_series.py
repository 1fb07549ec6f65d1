# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Joint states of one topic in an order, whose rows are left out without a second copy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ilr_dynamics.arrays import BoolArray, IndexArray

__all__ = ["BLOCK", "TopicSeries", "keep_rows", "rises", "take_rows"]

BLOCK = 1 << 14
"""Rows that are worked on at a time, where all at once would take as much memory again."""


@dataclass(frozen=True)
class TopicSeries:
    """
    Numbers of the joint states of a topic.

    Attributes
    ----------
    stamp : ndarray of shape (n,), int64
        Header stamp, ns.
    fields : dict of str to ndarray of shape (n, n_joints)
        Position, velocity, effort, as far as they are kept: rad, rad/s, Nm.
    rejection : ndarray of shape (n,), uint8
        Why the message cannot be used, as `Rejection`.
    written : ndarray of shape (n,), int64, or None
        Which one of the topic's messages each was in the order of writing; None: as they stand.
    """

    stamp: NDArray[np.int64]
    fields: dict[str, NDArray[Any]]
    rejection: NDArray[np.uint8]
    written: IndexArray | None = None


def rises(values: NDArray[Any]) -> bool:
    """Whether each value is larger than the one before."""
    return bool((values[1:] > values[:-1]).all())


def take_rows(series: TopicSeries, rows: IndexArray) -> TopicSeries:
    """Copy rows, in any order."""
    return TopicSeries(
        series.stamp[rows],
        {name: values[rows] for name, values in series.fields.items()},
        series.rejection[rows],
        rows if series.written is None else series.written[rows],
    )


def keep_rows(series: TopicSeries, kept: BoolArray) -> TopicSeries:
    """Leave out the other rows; the series itself is used up."""
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
    """Rows in their order, moved to the front: each comes from where it goes or from behind."""
    for start in range(0, len(rows), BLOCK):
        block = rows[start : start + BLOCK]
        values[start : start + len(block)] = values[block]
    return values[: len(rows)]
