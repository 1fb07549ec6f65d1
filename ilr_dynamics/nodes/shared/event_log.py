# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Event log: throttled by kind of event, and never blocking."""

from __future__ import annotations

import os
import select
import time
from collections import deque
from collections.abc import Callable

from rclpy.impl.implementation_singleton import rclpy_implementation as _rclpy
from rclpy.impl.rcutils_logger import RcutilsLogger
from rclpy.logging import LoggingSeverity

__all__ = ["EventLog"]

Text = str | Callable[[], str]

# Shortest time between lines about events of one kind, s.
_PERIOD = 1.0
# Largest number of lines that wait for a reader, and largest length of one in bytes. With the
# prefix by ROS it must not exceed what a pipe accepts in one piece (PIPE_BUF, 4096).
_MAX_WAITING = 100
_MAX_LINE = 3000


class EventLog:
    """
    Logs the first event of each kind at once, then one per second with a count of the others.

    The output of a process may have no reader, such as a stopped terminal or a hung launch file.
    rclpy's logger then blocks, in any thread, as it keeps the interpreter's lock. Therefore a line
    is written only when the stream accepts it at once; otherwise it waits for the next line or
    `flush`.

    For an event that may occur in every cycle the text is a function, called only if the line is
    written.

    rclpy's own throttle is by the place in the code and has no count.

    Parameters
    ----------
    logger : RcutilsLogger
        Logger of a node.
    """

    def __init__(self, logger: RcutilsLogger) -> None:
        self._logger = logger
        self._last: dict[str, float] = {}
        self._suppressed: dict[str, int] = {}
        self._waiting: deque[tuple[int, str, float]] = deque()
        self._lost = 0
        self._stream = select.poll()
        use_stdout = os.environ.get("RCUTILS_LOGGING_USE_STDOUT") == "1"
        self._stream.register(1 if use_stdout else 2, select.POLLOUT)

    def info(self, kind: str, text: Text) -> None:
        """Log an event in normal operation."""
        if self._is_due(kind):
            self._write(LoggingSeverity.INFO, self._line(kind, text))

    def warning(self, kind: str, text: Text) -> None:
        """Log a problem that was tolerated."""
        if self._is_due(kind):
            self._write(LoggingSeverity.WARN, self._line(kind, text))

    def error(self, kind: str, text: Text) -> None:
        """Log a refusal or a fault."""
        if self._is_due(kind):
            self._write(LoggingSeverity.ERROR, self._line(kind, text))

    def flush(self) -> None:
        """Write the waiting lines, as far as the stream accepts them at once."""
        # A stream whose reader has gone is ready too: it fails at once.
        while self._waiting and self._stream.poll(0):
            severity, line, since = self._waiting.popleft()
            late = time.monotonic() - since
            if late > _PERIOD:
                line += f" ({late:.1f} s ago)"
            if self._lost and not self._waiting:
                line += f" ({self._lost} lines after this one were lost)"
                self._lost = 0
            if self._logger.is_enabled_for(severity):
                # Called directly, as the logger's methods first spend half a millisecond on the
                # search for the line of code that called them.
                _rclpy.rclpy_logging_rcutils_log(
                    severity, self._logger.name, line, "flush", __file__, 0
                )

    def _write(self, severity: int, line: str) -> None:
        if len(line) > _MAX_LINE // 4:
            line = line.encode()[:_MAX_LINE].decode(errors="ignore")
        self.flush()
        if len(self._waiting) < _MAX_WAITING:
            self._waiting.append((severity, line, time.monotonic()))
            self.flush()
        else:
            self._lost += 1

    def _is_due(self, kind: str) -> bool:
        now = time.monotonic()
        if now - self._last.get(kind, -_PERIOD) < _PERIOD:
            self._suppressed[kind] = self._suppressed.get(kind, 0) + 1
            return False
        self._last[kind] = now
        return True

    def _line(self, kind: str, text: Text) -> str:
        count = self._suppressed.pop(kind, 0)
        line = text if isinstance(text, str) else text()
        return line + (f" ({count} more like this meanwhile)" if count else "")
