# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Picture of how the estimates of payloads settle."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

__all__ = ["draw_estimates"]

COLOURS = {0.25: "tab:green", 0.5: "tab:orange", 1.0: "tab:purple"}


def draw_estimates(
    path: Path, robot: str, runs: Mapping[str, Mapping[str, Any]], duration: float
) -> None:
    """
    Draw most probable masses with two standard deviations over the time since the pick-up.

    Parameters
    ----------
    path
        File of the picture.
    robot
        For the title.
    runs
        By name, with times, masses, stds and the true mass.
    duration
        Last time to show, s.
    """
    figure = Figure(figsize=(7.0, 3.6), layout="constrained")
    axes = figure.add_subplot()
    for name, of_run in runs.items():
        times = np.array(of_run["times"])
        shown = times > -3.0
        masses, stds = (np.array(of_run[key])[shown] for key in ("masses", "stds"))
        colour = COLOURS[of_run["true_mass"]]
        style = "-" if "amid" in name else "--"
        axes.plot(times[shown], masses, style, color=colour, label=name.replace("_", " "))
        axes.fill_between(
            times[shown], masses - 2.0 * stds, masses + 2.0 * stds, color=colour, alpha=0.12, lw=0
        )
        axes.axhline(of_run["true_mass"], color=colour, lw=0.6)
    axes.set(
        title=f"{robot} takes something up",
        xlabel="time since the first motion with it [s]",
        ylabel="estimated mass [kg]",
        xlim=(-3.0, duration),
        ylim=(0.0, 1.3),
    )
    axes.legend(loc="upper right", ncols=3, fontsize="small", frameon=False)
    figure.savefig(path, dpi=110)
