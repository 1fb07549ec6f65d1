# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""One log line an event, however often it happens."""

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

# Lines about events of one kind are at least this far apart, s.
_PERIOD = 1.0
# Lines that wait for a reader; and bytes of one, which with what ROS puts before it have to be no
# more than a pipe takes at once (PIPE_BUF, 4096).
_MAX_WAITING = 100
_MAX_LINE = 3000


class EventLog:
    """
    Logs the first event of each kind at once, then one a second with a count of the others.

    Nobody may read what a process says: a terminal that was stopped, a hung launch file. rclpy's
    logger would then wait for a reader, whichever thread it is called from, as it keeps the
    interpreter to itself meanwhile. So a line is said only when the stream takes it at once, and
    else waits for the next line or `flush`.

    Where an event may occur in every cycle its text is a function, called only if it is said.

    rclpy's own throttle goes by the place in the code and does not count.

    Parameters
    ----------
    logger : RcutilsLogger
        Of a node.
    """

    def __init__(self, logger: RcutilsLogger) -> None:
        self._logger = logger
        self._last: dict[str, float] = {}
        self._unsaid: dict[str, int] = {}
        self._waiting: deque[tuple[int, str, float]] = deque()
        self._lost = 0
        self._stream = select.poll()
        use_stdout = os.environ.get("RCUTILS_LOGGING_USE_STDOUT") == "1"
        self._stream.register(1 if use_stdout else 2, select.POLLOUT)

    def info(self, kind: str, text: Text) -> None:
        """Log what went as expected."""
        if self._is_due(kind):
            self._say(LoggingSeverity.INFO, self._line(kind, text))

    def warning(self, kind: str, text: Text) -> None:
        """Log what was put up with."""
        if self._is_due(kind):
            self._say(LoggingSeverity.WARN, self._line(kind, text))

    def error(self, kind: str, text: Text) -> None:
        """Log what was refused or led to a fault."""
        if self._is_due(kind):
            self._say(LoggingSeverity.ERROR, self._line(kind, text))

    def flush(self) -> None:
        """Say what waits, as far as the stream takes it at once."""
        # A stream whose reader is gone is ready too: it takes nothing, at once.
        while self._waiting and self._stream.poll(0):
            severity, line, since = self._waiting.popleft()
            late = time.monotonic() - since
            if late > _PERIOD:
                line += f" ({late:.1f} s ago)"
            if self._lost and not self._waiting:
                line += f" ({self._lost} lines after this one were lost)"
                self._lost = 0
            if self._logger.is_enabled_for(severity):
                # What the logger's own methods call, after half a millisecond of looking for the
                # line of code that called them.
                _rclpy.rclpy_logging_rcutils_log(
                    severity, self._logger.name, line, "flush", __file__, 0
                )

    def _say(self, severity: int, line: str) -> None:
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
            self._unsaid[kind] = self._unsaid.get(kind, 0) + 1
            return False
        self._last[kind] = now
        return True

    def _line(self, kind: str, text: Text) -> str:
        count = self._unsaid.pop(kind, 0)
        line = text if isinstance(text, str) else text()
        return line + (f" ({count} more like this meanwhile)" if count else "")
