# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Progress of a stage, as a bar in a terminal or as one line in a log."""

from __future__ import annotations

from types import TracebackType
from typing import Self, TextIO

from tqdm import tqdm

__all__ = ["StageBar"]


class StageBar:
    """
    Line that shows the progress of a stage.

    In a terminal it is a moving bar. Elsewhere, as in a log, the label is written first, and the
    progress when the stage ends.

    Parameters
    ----------
    label : str
        Beginning of the line.
    file : text file
        Stream to write to.
    total : float or None
        Amount of work, in any unit; None if it is not known.
    count : str
        Format of the amount that is done, as for tqdm.
    bar : str
        Format of the bar after it, as for tqdm.
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
            # Without smoothing the time that is left follows from all of the stage so far.
            self._bar = tqdm(
                desc=label, total=total, bar_format=shape, mininterval=0.2, smoothing=0, file=file
            )
        else:
            print(label, end="", file=file, flush=True)

    def __call__(self, done: float) -> None:
        """Show the amount that is done, in the unit of the total."""
        self._done = done
        if self._bar is not None:
            self._bar.update(done - self._bar.n)

    def __enter__(self) -> Self:
        """Return this object, which is shown already."""
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
        """End the line with the amount that is done."""
        if self._bar is not None:
            self._bar.close()
        else:
            text = tqdm.format_meter(self._done, self._total, 0.0, bar_format=self._count)
            print(text, file=self._file, flush=True)
