# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Notices that messages have stopped coming."""

from __future__ import annotations

from collections.abc import Callable

from rclpy.node import Node

__all__ = ["SilenceWatchdog"]

_PERIOD = 0.02


class SilenceWatchdog:
    """Calls somebody, again and again, while messages fail to come.

    Its ticks are counted instead of reading a clock: when this process itself was held up, they
    were too, and the messages that wait in its queues count as come. They go by the node's clock,
    so that a paused simulation (``use_sim_time``) is no silence.

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
        self._node = node
        self._on_silence = on_silence
        self._ticks = 0
        self._timer = node.create_timer(_PERIOD, self._tick)

    @property
    def silence(self) -> float:
        """Time since the last message, s."""
        return self._ticks * _PERIOD

    def feed(self) -> None:
        """Note that a message came."""
        self._ticks = 0

    def destroy(self) -> None:
        """Watch no more."""
        self._node.destroy_timer(self._timer)

    def _tick(self) -> None:
        self._ticks += 1
        if self.silence > self.timeout:
            self._on_silence(self.silence)
