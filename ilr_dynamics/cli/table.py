# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Plain-text tables for terminals."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["format_table"]


def format_table(header: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """
    Format a table, with the first column aligned to the left and the others to the right.

    Parameters
    ----------
    header : sequence of str
        Titles of the columns.
    rows : sequence of sequence of object
        Cells; floats are shown with three significant digits.

    Returns
    -------
    str
        Lines without a newline at the end.
    """
    cells = [list(header), *([_show(cell) for cell in row] for row in rows)]
    widths = [max(len(line[column]) for line in cells) for column in range(len(header))]
    lines = [
        "  ".join([line[0].ljust(widths[0]), *(map(str.rjust, line[1:], widths[1:]))]).rstrip()
        for line in cells
    ]
    lines.insert(1, "  ".join("-" * width for width in widths))
    return "\n".join(lines)


def _show(cell: object) -> str:
    return f"{cell:.3g}" if isinstance(cell, float) else str(cell)
