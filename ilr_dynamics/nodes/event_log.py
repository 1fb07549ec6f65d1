# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""One log line an event, however often it happens."""

from __future__ import annotations

import time
from collections.abc import Callable

from rclpy.impl.rcutils_logger import RcutilsLogger

__all__ = ["EventLog"]

Text = str | Callable[[], str]

# Lines about events of one kind are at least this far apart, s.
_PERIOD = 1.0


class EventLog:
    """Logs the first event of each kind at once, then one a second with a count of the others.

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

    def info(self, kind: str, text: Text) -> None:
        """Log what went as expected."""
        if self._is_due(kind):
            self._logger.info(self._line(kind, text))

    def warning(self, kind: str, text: Text) -> None:
        """Log what was put up with."""
        if self._is_due(kind):
            self._logger.warning(self._line(kind, text))

    def error(self, kind: str, text: Text) -> None:
        """Log what was refused or led to a fault."""
        if self._is_due(kind):
            self._logger.error(self._line(kind, text))

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
