# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Period of the joint states, estimated from their stamps."""

from __future__ import annotations

import math

__all__ = ["StatePeriod"]

# Intervals between joint states for each estimate: many enough that jitter averages out, few
# enough that a sort of them takes microseconds.
_BLOCK = 50
# Share of a period by which a joint state may be early or late. At 500 Hz the desired state is
# then 0.2 ms off, a tenth of what it changes in a cycle.
_TOLERANCE = 0.1


class StatePeriod:
    """
    Estimate of the time between joint states, from their stamps.

    The nominal period at first, then the median of each block of intervals, which lost states and
    outliers do not change.

    Parameters
    ----------
    nominal : float
        Nominal period, s.

    Attributes
    ----------
    tolerance : float
        Largest deviation at which a joint state counts as on time, s.
    """

    def __init__(self, nominal: float) -> None:
        self._nominal = nominal
        self._period = nominal
        self._regular = True
        self.tolerance = _TOLERANCE * nominal
        self._last = math.nan
        self._intervals: list[float] = []
        self._came_when_due = 0

    def add(self, time: float) -> None:
        """Add a joint state with the stamp ``time``, s."""
        interval = time - self._last
        self._last = time
        # No interval before the first state, nor where the clock has jumped back.
        if interval > 0.0:
            self._intervals.append(interval)
            self._came_when_due += abs(interval - self._period) <= self.tolerance
            if len(self._intervals) == _BLOCK:
                self._estimate()

    @property
    def next(self) -> float | None:
        """Time at which the next state is due, s; None if most of the last block were late."""
        return self._last + self._period if self._regular else None

    def _estimate(self) -> None:
        # By the period that was expected of them: the new one fits them in hindsight.
        self._regular = 2 * self._came_when_due > _BLOCK
        self._came_when_due = 0
        intervals = sorted(self._intervals)
        self._intervals.clear()
        self._period = intervals[_BLOCK // 2]
        self.tolerance = _TOLERANCE * min(self._period, self._nominal)
