# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Picture of what the watch sees while friction grows."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

__all__ = ["draw_warming"]


def draw_warming(path: Path, robot: str, run: Mapping[str, Any], factor: float) -> None:
    """
    Draw residuals and shares outside the interval over time, and when each joint was named.

    Parameters
    ----------
    path
        File of the picture.
    robot
        For the title.
    run
        With times, residuals, outside, joints and the times at which joints were named.
    factor
        By which friction is more in the end.
    """
    figure = Figure(figsize=(7.0, 4.6), layout="constrained")
    upper, lower = figure.subplots(2, sharex=True)
    minutes = np.array(run["times"]) / 60.0
    for index, joint in enumerate(run["joints"]):
        colour = f"C{index}"
        for axes, key, scale in ((upper, "residuals", 1.0), (lower, "outside", 100.0)):
            axes.plot(minutes, scale * np.array(run[key])[:, index], color=colour, label=joint)
            named = run[f"named_{joint}"]
            if named is not None:
                axes.axvline(named / 60.0, color=colour, ls=":", lw=1.0)
    lower.axhline(5.0, color="grey", lw=0.6)
    more = f"{100.0 * (factor - 1.0):.0f} %"
    upper.set(
        title=f"{robot}: friction grows by {more}; dotted: the joint's friction is named",
        ylabel="residual [predicted std]",
        ylim=(0.0, None),
    )
    lower.set(
        xlabel="time [min]",
        ylabel="outside the\n95 % interval [%]",
        ylim=(0.0, 100.0),
        xlim=(0.0, minutes[-1]),
    )
    upper.legend(loc="upper left", ncols=4, fontsize="small", frameon=False)
    figure.savefig(path, dpi=110)
