# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Times at which messages were received, in half of their memory."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ilr_dynamics.recording.growing_array import GrowingArray

__all__ = ["Receipts"]


class Receipts:
    """
    Times of receipt in the order of writing, kept as their differences.

    They are needed only where clocks were set or files merged, and differ by less than the two
    seconds that 32 bits hold. The few other differences are kept beside.

    Attributes
    ----------
    in_order : bool
        Whether none lies before the one written before it.
    """

    def __init__(self) -> None:
        self.in_order = True
        self._last = np.int64(0)
        self._small = GrowingArray(np.int32)
        self._at, self._large = GrowingArray(np.int64), GrowingArray(np.int64)

    @property
    def nbytes(self) -> int:
        """Memory taken, bytes."""
        return self._small.nbytes + self._at.nbytes + self._large.nbytes

    def append(self, received: Sequence[int]) -> None:
        """Append times, ns, each of 64 bits."""
        times = np.array([self._last, *received], dtype=np.int64)
        first = 0 if len(self._small) else 1
        self.in_order &= bool((times[first + 1 :] >= times[first:-1]).all())
        # Differences that overflow do so back again where they are summed up.
        step = times[1:] - times[:-1]
        small = step.astype(np.int32)
        large = np.flatnonzero(small != step)
        self._at.append(large + len(self._small))
        self._large.append(step[large])
        self._small.append(small)
        self._last = times[-1]

    def times(self) -> NDArray[np.int64]:
        """Return the times, shape (n,), ns; nothing can be appended any more."""
        step = self._small.finish().astype(np.int64)
        step[self._at.finish()] = self._large.finish()
        return np.cumsum(step)
