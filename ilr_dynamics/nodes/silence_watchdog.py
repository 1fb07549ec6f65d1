# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Notices that messages have stopped coming."""

from __future__ import annotations

import time
from collections.abc import Callable

from rclpy.clock import Clock, ClockType
from rclpy.node import Node

__all__ = ["SilenceWatchdog"]

_PERIOD = 0.02
# What one tick counts at most, s; where nothing else wakes the executor every other one is missed.
_LONGEST = 3 * _PERIOD
_CLOCK_TOPIC = "/clock"


class SilenceWatchdog:
    """
    Calls somebody, again and again, while messages fail to come.

    The times from tick to tick are summed, by a steady clock, but of none more than a bit: when
    this process itself was held up, its ticks were too, and the messages that wait in its queues
    count as come. In a simulation that is slow or stands still, which is no silence, a tick counts
    as much of simulated time as it lasted. For that the simulation has to be seen:
    ``use_sim_time``, somebody who publishes a ``/clock`` that has been heard, and a last message
    that was stamped by it.

    Parameters
    ----------
    node : Node
        Whose executor runs the timer.
    timeout : float
        Longest silence that is passed over, s.
    on_silence : callable
        Called every 20 ms of a longer one with its length, s.
    """

    def __init__(self, node: Node, timeout: float, on_silence: Callable[[float], None]) -> None:
        self.timeout = timeout
        self.silence = 0.0
        """Time since the last message, s."""
        self._node = node
        self._on_silence = on_silence
        self._stamp: float | None = None
        self._simulated = 0.0
        self._ticked = time.monotonic()
        self._timer = node.create_timer(
            _PERIOD, self._tick, clock=Clock(clock_type=ClockType.STEADY_TIME)
        )

    def feed(self, stamp: float | None = None) -> None:
        """Note that a message came, and its stamp, s; None for none that anything is known of."""
        self.silence = 0.0
        self._stamp = stamp

    def destroy(self) -> None:
        """Watch no more."""
        self._node.destroy_timer(self._timer)

    def _tick(self) -> None:
        self.silence += self._elapsed()
        if self.silence > self.timeout:
            self._on_silence(self.silence)

    def _elapsed(self) -> float:
        """How long a tick lasted for those whose messages are waited for, s."""
        now = time.monotonic()
        elapsed = min(now - self._ticked, _LONGEST)
        self._ticked = now
        clock = self._node.get_clock()
        # As all nodes' clocks, a ROSClock.
        if not clock.ros_time_is_active:  # type: ignore[attr-defined]
            return elapsed
        before, self._simulated = self._simulated, 1e-9 * clock.now().nanoseconds
        if self._stamp is None or not self._node.count_publishers(_CLOCK_TOPIC):
            return elapsed
        if abs(self._simulated - self._stamp) > self.timeout + _LONGEST:
            return elapsed
        return min(max(self._simulated - before, 0.0), elapsed)
