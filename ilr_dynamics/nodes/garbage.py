# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""When Python's garbage collector runs in a process that has a rate to keep."""

from __future__ import annotations

import gc

__all__ = ["QuietCollector"]


class QuietCollector:
    """Collects at moments of our choosing instead of in the middle of a cycle.

    Left alone, the collector starts whenever enough objects were made, and goes through all that
    was ever imported: tens of milliseconds. rclpy makes reference cycles with every callback, so
    it cannot just be off. What exists at the start is therefore set aside, the collector is
    switched off, and what has come since is collected right after a torque went out, when the
    next joint state is furthest away.

    Parameters
    ----------
    interval : int
        Control cycles from one collection to the next.
    """

    def __init__(self, interval: int) -> None:
        self._interval = interval
        self._cycles = 0

    def start(self) -> None:
        """Take over."""
        gc.collect()
        gc.freeze()
        gc.disable()

    def stop(self) -> None:
        """Leave the collector to itself again."""
        gc.unfreeze()
        gc.enable()

    def cycle_done(self) -> None:
        """Collect if it is time to; call it when there is time to."""
        self._cycles += 1
        if self._cycles % self._interval == 0:
            gc.collect()
