# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Times of receipt of messages, stored as 32-bit differences to halve their memory."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ilr_dynamics.recording.growing_array import GrowingArray

__all__ = ["Receipts"]


class Receipts:
    """
    Times of receipt in the order of writing, stored as differences.

    They are needed only where clocks were set or files merged. Most differences are below the two
    seconds that fit into 32 bits; the few others are stored separately.

    Attributes
    ----------
    in_order : bool
        Whether the times never decrease.
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
        """Append times, ns, 64 bits each."""
        times = np.array([self._last, *received], dtype=np.int64)
        first = 0 if len(self._small) else 1
        self.in_order &= bool((times[first + 1 :] >= times[first:-1]).all())
        # Differences that overflow do no harm: their sums overflow back.
        step = times[1:] - times[:-1]
        small = step.astype(np.int32)
        large = np.flatnonzero(small != step)
        self._at.append(large + len(self._small))
        self._large.append(step[large])
        self._small.append(small)
        self._last = times[-1]

    def times(self) -> NDArray[np.int64]:
        """Return the times (n,), ns; nothing can be appended afterwards."""
        step = self._small.finish().astype(np.int64)
        step[self._at.finish()] = self._large.finish()
        return np.cumsum(step)
