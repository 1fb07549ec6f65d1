# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Picture of a model that learns the same work again and again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

__all__ = ["draw_growth"]


def draw_growth(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    """
    Draw local models and the error on other recordings over the number of recordings.

    Parameters
    ----------
    path
        File of the picture.
    rows
        One a recording, with recording, components and error.
    """
    numbers = [row["recording"] for row in rows]
    figure = Figure(figsize=(7.0, 4.2), layout="constrained")
    upper, lower = figure.subplots(2, sharex=True)
    upper.plot(numbers, [row["components"] for row in rows], color="C0")
    upper.set(ylabel="local models", ylim=(0.0, None))
    upper.set_title("The same work, recorded again and again")
    lower.plot(numbers, [row["error"] for row in rows], color="C1")
    lower.set(
        ylabel="error on others\n[torque scales]",
        xlabel="recordings learned",
        ylim=(0.0, None),
        xlim=(1, numbers[-1]),
    )
    figure.savefig(path, dpi=110)
