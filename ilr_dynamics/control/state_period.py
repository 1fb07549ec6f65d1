# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""When the next joint state is due."""

from __future__ import annotations

import math

__all__ = ["StatePeriod"]

# Intervals between joint states for each estimate: many enough that jitter averages out, few
# enough that a sort of them takes microseconds.
_BLOCK = 50
# Share of a period by which a joint state may miss the time at which it was due. The desired state
# is then 0.2 ms away at 500 Hz, a share as small of what it changes in a cycle.
_TOLERANCE = 0.1


class StatePeriod:
    """
    Time between joint states, by their stamps.

    Nominal at first, then the median of each block of intervals, whatever the nominal rate: lost
    states and outliers do not move it.

    Parameters
    ----------
    nominal : float
        In s.

    Attributes
    ----------
    tolerance : float
        By how much a joint state counts as having come when it was due, s.
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
        """Count a joint state with the stamp ``time``, s."""
        interval = time - self._last
        self._last = time
        # Not of the first one, nor where the clock has jumped back.
        if interval > 0.0:
            self._intervals.append(interval)
            self._came_when_due += abs(interval - self._period) <= self.tolerance
            if len(self._intervals) == _BLOCK:
                self._estimate()

    @property
    def next(self) -> float | None:
        """When the next joint state is due, s; None if most of the last block came otherwise."""
        return self._last + self._period if self._regular else None

    def _estimate(self) -> None:
        # Judged by what was expected of them: a period of their own would fit afterwards.
        self._regular = 2 * self._came_when_due > _BLOCK
        self._came_when_due = 0
        intervals = sorted(self._intervals)
        self._intervals.clear()
        self._period = intervals[_BLOCK // 2]
        self.tolerance = _TOLERANCE * min(self._period, self._nominal)
