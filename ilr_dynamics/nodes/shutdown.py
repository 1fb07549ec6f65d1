# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Ends a node in its own time after a signal."""

from __future__ import annotations

import signal
from types import FrameType

__all__ = ["StopRequest"]


class StopRequest:
    """
    Becomes true with the first SIGINT or SIGTERM.

    For use with ``rclpy.init(signal_handler_options=SignalHandlerOptions.NO)``: rclpy's own
    handlers close the context at once, amid whatever the node is doing.
    """

    def __init__(self) -> None:
        self._asked = False
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._ask)

    def __bool__(self) -> bool:
        return self._asked

    def _ask(self, number: int, frame: FrameType | None) -> None:
        self._asked = True
