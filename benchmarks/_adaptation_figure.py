# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Picture of the adaptation benchmark: errors before and after a change and its update."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

__all__ = ["draw_errors"]

BARS = {
    "T1_before": "before",
    "T1_after_change": "after the change",
    "T1_forgetting_nothing": "updated,\nforgetting nothing",
    "T1_after_update": "updated by default",
    "T1_own_inverse": "the arm's own inverse",
}


def draw_errors(path: Path, changed: Mapping[str, Any]) -> None:
    """
    Draw the error on T1 at each stage.

    Parameters
    ----------
    path
        File of the picture.
    changed
        Errors, rad^2, by the names in `BARS`; None after a fault.
    """
    figure = Figure(figsize=(7.0, 2.6), layout="constrained")
    axes = figure.add_subplot()
    labels, errors = zip(
        *((label, changed[name]) for name, label in BARS.items() if changed[name] is not None),
        strict=True,
    )
    colours = ["tab:blue" if label == BARS["T1_after_update"] else "0.7" for label in labels]
    bars = axes.barh(labels, errors, color=colours)
    axes.bar_label(bars, [f"{error:.1e}" for error in errors], padding=3)
    axes.invert_yaxis()
    axes.set(xscale="log", xlabel="mean squared error on T1 [rad²]")
    axes.margins(x=0.25)
    figure.savefig(path, dpi=130)
