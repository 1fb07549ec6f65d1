# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Shutdown request by SIGINT or SIGTERM, which a node polls to end cleanly."""

from __future__ import annotations

import signal
from types import FrameType

__all__ = ["StopRequest"]


class StopRequest:
    """
    Flag that becomes true with the first SIGINT or SIGTERM.

    For use with ``rclpy.init(signal_handler_options=SignalHandlerOptions.NO)``: rclpy's own
    handlers close the context at once, whatever the node is doing.
    """

    def __init__(self) -> None:
        self._requested = False
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._handle)

    def __bool__(self) -> bool:
        return self._requested

    def _handle(self, number: int, frame: FrameType | None) -> None:
        self._requested = True
