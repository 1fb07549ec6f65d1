# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Progress of long work as `learning.Progress` reports it, a bar for each stage."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import Self

from ilr_dynamics.cli.stage_bar import StageBar

__all__ = ["ProgressBar"]

# With the time that the stage still takes.
BAR = " {bar} {remaining} left"


class ProgressBar:
    """Progress bars on stderr, one per stage."""

    def __init__(self) -> None:
        self._bar: StageBar | None = None
        self._stage = ""

    def __call__(self, stage: str, fraction: float, lower_bound: float = 0.0) -> None:
        """Show the progress of a stage (`learning.Progress`)."""
        if self._bar is None or stage != self._stage:
            self._finish()
            self._stage = stage
            self._bar = StageBar(
                f"{stage:10}", sys.stderr, total=100, count="{percentage:3.0f}%", bar=BAR
            )
        self._bar(100.0 * fraction)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close the last bar as it is."""
        if kind is None:
            self._finish()
        elif self._bar is not None:
            self._bar.close()

    def _finish(self) -> None:
        """Complete the bar of a stage, as learning may converge before its last iteration."""
        if self._bar is not None:
            self._bar(100.0)
            self._bar.close()
            self._bar = None
