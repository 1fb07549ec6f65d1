# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Watch over the programs of a launch: whose end is the end of all, and what is said last."""

from __future__ import annotations

from collections.abc import Iterable

from ilr_dynamics.bringup.last_words import LastWords
from ilr_dynamics.bringup.plan import Program

__all__ = ["Watch"]


class Watch:
    """
    Decides what the ends of programs mean for a launch.

    Parameters
    ----------
    programs : iterable of Program
        Those of the plan.

    Attributes
    ----------
    failure : str
        Why the launch has to end; empty while it has not.
    """

    def __init__(self, programs: Iterable[Program]) -> None:
        self._needed = {program.node: program.needed for program in programs}
        self._words = {node: LastWords(node) for node in self._needed}
        self._n_running = 0
        self.failure = ""

    @property
    def last_line(self) -> str:
        """What is to be said now, after a failure, as all programs have ended; or ""."""
        return "" if self._n_running else self.failure

    def heard(self, node: str, output: str) -> None:
        """Take a piece of a program's output."""
        if node in self._words:
            self._words[node].hear(output)

    def started(self) -> None:
        """Take notice of the start of any program, also of another plan of the launch."""
        self._n_running += 1

    def ended(self, node: str, code: int, *, asked: bool) -> str:
        """
        Take notice of the end of any program.

        Parameters
        ----------
        node : str
            Full name of its node; unknown ones are of another plan.
        code : int
            Exit code; negative: the signal that ended it.
        asked : bool
            Whether all are ending.

        Returns
        -------
        str
            Line about a program without which the launch goes on; or empty.
        """
        self._n_running -= 1
        if asked or node not in self._words:
            return ""
        if self._needed[node]:
            # What follows from a failure is no news.
            self.failure = self.failure or self._words[node].of_needed(code)
            return ""
        return self._words[node].of_accessory(code) if code else ""
