# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Event log: few lines, whatever happens how often, and never blocking."""

from __future__ import annotations

import os
import select
import time
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass, field

from rclpy.impl.implementation_singleton import rclpy_implementation as _rclpy
from rclpy.impl.rcutils_logger import RcutilsLogger
from rclpy.logging import LoggingSeverity

__all__ = ["EventLog"]

Text = str | Callable[[], str]

# Largest number of lines about events of one kind in a time, s.
_ROUTINE = (2, 120.0)
_EACH = (1, 1.0)
# Absence after which a recurring event is news again, s.
_ABSENCE = 60.0
_COUNTED = "; more like this are counted in /diagnostics"
# Age from which on a line says that it is late, s.
_LATE = 1.0
# Largest number of lines that wait for a reader, and largest length of one in bytes. With the
# prefix by ROS it must not exceed what a pipe accepts in one piece (PIPE_BUF, 4096).
_MAX_WAITING = 100
_MAX_LINE = 3000


@dataclass
class _Kind:
    """Events of one kind: times of the last lines and of the last event, and number unsaid, s."""

    lines: deque[float] = field(default_factory=deque)
    last: float = -_ABSENCE
    unsaid: int = 0


class EventLog:
    """
    Logs each kind of event when it occurs first, and counts what goes on.

    In two minutes there are at most two lines about one kind of normal operation, in a second one
    about one kind of problem; a line tells how many were left out before it. A condition that may
    recur with every joint state is a line once, and again when it was absent for a minute.

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
        self._kinds: dict[str, _Kind] = {}
        self._recurring: Counter[str] = Counter()
        self._waiting: deque[tuple[int, str, float]] = deque()
        self._lost = 0
        self._stream = select.poll()
        use_stdout = os.environ.get("RCUTILS_LOGGING_USE_STDOUT") == "1"
        self._stream.register(1 if use_stdout else 2, select.POLLOUT)

    @property
    def counts(self) -> dict[str, str]:
        """Number of recurring events of each kind so far, as texts for diagnostics."""
        return {kind: str(count) for kind, count in sorted(self._recurring.items())}

    def info(self, kind: str, text: Text) -> None:
        """Log an event in normal operation."""
        self._tell(LoggingSeverity.INFO, kind, text, *_ROUTINE)

    def warning(self, kind: str, text: Text) -> None:
        """Log a problem that was tolerated."""
        self._tell(LoggingSeverity.WARN, kind, text, *_EACH)

    def error(self, kind: str, text: Text) -> None:
        """Log a refusal or a fault."""
        self._tell(LoggingSeverity.ERROR, kind, text, *_EACH)

    def recurring(
        self, kind: str, text: Text, severity: LoggingSeverity = LoggingSeverity.WARN
    ) -> None:
        """
        Log and count a condition that may recur with every joint state.

        Parameters
        ----------
        kind : str
            Kind of the condition, which is its name in the `counts`.
        text : str or callable
            Line, or function that returns it.
        severity : LoggingSeverity
            Severity of the line.
        """
        self._recurring[kind] += 1
        known = self._kinds.setdefault(kind, _Kind())
        now = time.monotonic()
        absent, known.last = now - known.last, now
        if absent >= _ABSENCE:
            self._write(severity, _line(text) + _COUNTED)

    def flush(self) -> None:
        """Write the waiting lines, as far as the stream accepts them at once."""
        # A stream whose reader has gone is ready too: it fails at once.
        while self._waiting and self._stream.poll(0):
            severity, line, since = self._waiting.popleft()
            late = time.monotonic() - since
            if late > _LATE:
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

    def _tell(
        self, severity: LoggingSeverity, kind: str, text: Text, most: int, period: float
    ) -> None:
        """Write a line, unless there are the most about this kind within the period, s."""
        known = self._kinds.setdefault(kind, _Kind())
        now = time.monotonic()
        while known.lines and now - known.lines[0] >= period:
            known.lines.popleft()
        if len(known.lines) >= most:
            known.unsaid += 1
            return
        known.lines.append(now)
        count, known.unsaid = known.unsaid, 0
        more = f" ({count} more like this meanwhile)" if count else ""
        self._write(severity, _line(text) + more)


def _line(text: Text) -> str:
    return text if isinstance(text, str) else text()
