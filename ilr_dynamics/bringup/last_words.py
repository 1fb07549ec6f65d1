# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""What is said when a program of a launch ends: which, why, and what to do."""

from __future__ import annotations

import re
import signal
from collections import deque

__all__ = ["LastWords"]

# A line of ROS's log: level, stamp and logger in any order of brackets, then the text.
_PROBLEM = re.compile(r"\[(?:ERROR|FATAL)\](?: \[[^\]]*\])*: (?P<text>.*)")
_TRACEBACK = "Traceback (most recent call last):"
# Longest part of a program's output that is kept, in lines.
_KEPT = 100
_AGAIN = "mend that and launch again"
_KILLED = "by a person, or by the kernel where memory is short (dmesg says so); launch again"


class LastWords:
    """Keeps the last lines of one program, and tells its end in one line.

    Parameters
    ----------
    node : str
        Full name of its node.
    """

    def __init__(self, node: str) -> None:
        self.node = node
        self._lines: deque[str] = deque(maxlen=_KEPT)
        self._unfinished = ""

    def hear(self, output: str) -> None:
        """Take a piece of the program's output, which may end within a line."""
        *lines, self._unfinished = (self._unfinished + output).split("\n")
        self._lines.extend(lines)

    @property
    def reason(self) -> str:
        """Last error in the output: of the log or, after a traceback, its exception; or ""."""
        lines = [line.rstrip() for line in (*self._lines, self._unfinished)]
        for number in range(len(lines) - 1, -1, -1):
            if match := _PROBLEM.search(lines[number]):
                return match["text"]
            if lines[number].endswith(_TRACEBACK):
                # What goes before the exception is indented.
                raised = [line for line in lines[number + 1 :] if line[:1].strip()]
                return raised[0] if raised else ""
        return ""

    def of_needed(self, code: int) -> str:
        """Tell the end, with an exit code, of a program without which the launch ends."""
        if code == -signal.SIGKILL:
            return f"{self._end(code)}: {_KILLED}"
        advice = _AGAIN if self._cause(code) else "its log says what it did last; launch again"
        return f"{self._end(code)}: {advice}"

    def of_accessory(self, code: int) -> str:
        """Tell the end, with an exit code, of a program without which the launch goes on."""
        return f"{self._end(code)}: the launch goes on without it"

    def _end(self, code: int) -> str:
        try:
            end = f"was ended by {signal.Signals(-code).name}"
        except ValueError:
            end = f"ended with exit code {code}"
        cause = self._cause(code)
        return f"{self.node} {end}" + (f" ({cause})" if cause else "")

    def _cause(self, code: int) -> str:
        """Return the reason of an end; an error before a signal, or a good end, is none of it."""
        return self.reason if code > 0 else ""
