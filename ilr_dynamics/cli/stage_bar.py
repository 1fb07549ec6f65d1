# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""How far a stage is: a bar in a terminal, one line in a log."""

from __future__ import annotations

from types import TracebackType
from typing import Self, TextIO

from tqdm import tqdm

__all__ = ["StageBar"]


class StageBar:
    """
    One line that says how far a stage is.

    In a terminal it is a bar that moves. Elsewhere, as in a log, it begins with the label and goes
    on, when the stage ends, with how far that came.

    Parameters
    ----------
    label
        What the line begins with.
    file
        Where it is shown.
    total
        What there is to do, in any unit; None if nobody knows.
    count
        How what is done is written, in tqdm's terms.
    bar
        How the bar is written behind it, in the same terms.
    """

    def __init__(
        self, label: str, file: TextIO, *, total: float | None, count: str, bar: str = ""
    ) -> None:
        self._file = file
        self._total = total
        self._count = count
        self._done = 0.0
        self._bar: tqdm | None = None
        if file.isatty():
            shape = "{desc}" + count + bar
            self._bar = tqdm(desc=label, total=total, bar_format=shape, mininterval=0.2, file=file)
        else:
            print(label, end="", file=file, flush=True)

    def __call__(self, done: float) -> None:
        """Show how much is done, in the unit of the total."""
        self._done = done
        if self._bar is not None:
            self._bar.update(done - self._bar.n)

    def __enter__(self) -> Self:
        """It is shown already."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End the line."""
        self.close()

    def close(self) -> None:
        """End the line, with as much as is done."""
        if self._bar is not None:
            self._bar.close()
        else:
            text = tqdm.format_meter(self._done, self._total, 0.0, bar_format=self._count)
            print(text, file=self._file, flush=True)
