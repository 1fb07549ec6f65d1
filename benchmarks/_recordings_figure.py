# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Picture of a model that learns the same work again and again."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

__all__ = ["draw_growth"]


def draw_growth(path: Path, results: Mapping[str, Any]) -> None:
    """
    Draw local models, error and time of a query over the number of recordings.

    Parameters
    ----------
    path
        File of the picture.
    results
        Rows with recording, components and error; the time of a query by number of recordings.
    """
    rows, query = results["rows"], results["query"]
    numbers = [row["recording"] for row in rows]
    figure = Figure(figsize=(7.0, 5.4), layout="constrained")
    upper, middle, lower = figure.subplots(3, sharex=True)
    upper.plot(numbers, [row["components"] for row in rows], color="C0")
    upper.set(
        ylabel="local models", ylim=(0.0, None), title="The same work, recorded again and again"
    )
    middle.plot(numbers, [row["error"] for row in rows], color="C1")
    middle.set(ylabel="error on others\n[torque scales]", ylim=(0.0, None))
    lower.plot(list(query), list(query.values()), "o-", color="C2")
    lower.set(
        ylabel="query [us]", xlabel="recordings learned", ylim=(0.0, None), xlim=(0.0, numbers[-1])
    )
    figure.savefig(path, dpi=110)
