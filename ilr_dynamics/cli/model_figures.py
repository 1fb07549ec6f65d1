# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Figures of a model: torques with intervals, friction curves, doubt in the workspace."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Any

import numpy as np
import scipy
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, PercentFormatter

from ilr_dynamics.arrays import FloatArray
from ilr_dynamics.cli.decimation import stretches
from ilr_dynamics.cli.joint_panels import (
    fill_over_time,
    joint_panels,
    legend_above,
    plot_over_time,
    sound,
)
from ilr_dynamics.cli.judged_recording import COVERAGE, JudgedRecording
from ilr_dynamics.cli.torque_errors import WINDOW, WorstSecond
from ilr_dynamics.cli.workspace_doubt import WorkspaceDoubt
from ilr_dynamics.robot.friction_curves import FrictionCurves

__all__ = ["View", "draw_friction", "draw_torques", "draw_workspace", "draw_worst_seconds"]

MEASURED, PREDICTED, FORMER = "black", "tab:red", "tab:blue"
BAND: dict[str, Any] = {"color": PREDICTED, "alpha": 0.25}
# Half the width of a 95 % interval of a normal distribution, in standard deviations.
DEVIATIONS = 1.96
# Longest time between neighbours that is not a gap, in periods.
MAX_GAP = 3.5
# What is shown before and after the worst second, s.
AROUND = 0.5
# Of the views of the workspace: size in inches, fields of the larger side, steps of the colours,
# share of the doubts on either side that may lie beyond them, and least and largest of interest.
VIEW_SIZE = (4.0, 4.4)
N_FIELDS = 25
STEPS = (1.0, 2.0, 5.0)
OUTER = (0.02, 0.98)
LEAST_DOUBT, LARGEST_DOUBT = 1e-6, 10.0
ROUNDING = 1e-9


class View(Enum):
    """From where to look at the workspace."""

    SIDE = "from the side"
    ABOVE = "from above"

    @property
    def titles(self) -> tuple[str, str]:
        """Titles of both axes."""
        side = ("distance from the base's axis [m]", "height z [m]")
        return side if self is View.SIDE else ("x [m]", "y [m]")

    def plane(self, points: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Coordinates (m,) of points (m, 3) in the plane of the view."""
        x, y, z = points.T
        return (np.hypot(x, y), z) if self is View.SIDE else (x, y)


def draw_torques(recording: JudgedRecording) -> Figure:
    """
    Draw measured and predicted torque of each joint over time, with the interval.

    Parameters
    ----------
    recording : JudgedRecording
        Samples with what a model predicts.

    Returns
    -------
    Figure
    """
    samples = recording.samples
    figure, axes = joint_panels(samples.joint_names, "Nm", "time [s]", share=True)
    for j, axis in enumerate(axes):
        _show_torques(axis, recording, j, slice(None))
        axis.set_xlim(samples.time[0], samples.time[-1])
    legend_above(figure, axes)
    return figure


def draw_worst_seconds(recording: JudgedRecording, worst: Sequence[WorstSecond]) -> Figure:
    """
    Draw the second in which the torque of each joint is predicted worst.

    Parameters
    ----------
    recording : JudgedRecording
        Samples with what a model predicts.
    worst : sequence of WorstSecond
        Worst second of each joint in this recording.

    Returns
    -------
    Figure
    """
    samples = recording.samples
    figure, axes = joint_panels(samples.joint_names, "Nm", "time [s]")
    for j, (axis, second) in enumerate(zip(axes, worst, strict=True)):
        first, last = second.begin - AROUND, second.begin + WINDOW + AROUND
        rows = slice(*np.searchsorted(samples.time, [first, last]).tolist())
        axis.axvspan(second.begin, second.begin + WINDOW, color="0.9", zorder=0)
        _show_torques(axis, recording, j, rows)
        axis.set_xlim(first, last)
    legend_above(figure, axes)
    return figure


def _show_torques(axis: Axes, recording: JudgedRecording, j: int, rows: slice) -> None:
    time = recording.samples.time[rows]
    parts = stretches(time, MAX_GAP)
    band = (recording.lower[rows, j], recording.upper[rows, j])
    fill_over_time(axis, time, *band, parts, label=f"{COVERAGE:.0%} interval", **BAND)
    measured = recording.samples.Y[rows, j]
    plot_over_time(axis, time, measured, parts, color=MEASURED, label="measured")
    plot_over_time(axis, time, recording.mean[rows, j], parts, color=PREDICTED, label="predicted")


def draw_friction(
    joints: Sequence[str],
    curves: FrictionCurves,
    former: FrictionCurves | None,
    recorded: tuple[FloatArray, FloatArray] | None,
) -> Figure:
    """
    Draw the friction of each joint over its speed, with its uncertainty.

    Parameters
    ----------
    joints : sequence of str
        Names of n joints.
    curves : FrictionCurves
        Identified friction.
    former : FrictionCurves or None
        That of another model.
    recorded : tuple of ndarray of shape (m, n), or None
        Speeds, rad/s, and what is left of recorded torques without all but this friction, Nm.

    Returns
    -------
    Figure
    """
    figure, axes = joint_panels(joints, "Nm", "speed [rad/s]", legend_lines=2)
    for j, axis in enumerate(axes):
        speed, torque = curves.speed[:, j], curves.torque[:, j]
        half = DEVIATIONS * curves.std[:, j]
        band = (sound(torque - half), sound(torque + half))
        if recorded is not None:
            shown = recorded[0][:, j], sound(recorded[1][:, j])
            axis.plot(*shown, ".", ms=1.2, color="0.65", label="recorded", zorder=1)
        axis.fill_between(speed, *band, lw=0.0, label=f"{COVERAGE:.0%} interval", **BAND)
        axis.plot(speed, sound(torque), color=PREDICTED, lw=1.2, label="identified")
        if former is not None:
            line = sound(former.torque[:, j])
            axis.plot(former.speed[:, j], line, "--", color=FORMER, lw=1.0, label="before")
        axis.set_xlim(speed[0], speed[-1])
        axis.axhline(0.0, color="grey", lw=0.6)
    legend_above(figure, axes)
    return figure


def draw_workspace(found: WorkspaceDoubt, recorded: WorkspaceDoubt, view: View) -> Figure:
    """
    Draw the doubt of a model over a view of the workspace.

    Parameters
    ----------
    found : WorkspaceDoubt
        Doubt at postures all over the workspace; each field has their median.
    recorded : WorkspaceDoubt
        Doubt at recorded postures, which are points.
    view : View
        From where to look.

    Returns
    -------
    Figure
    """
    figure = Figure(figsize=VIEW_SIZE, layout="constrained")
    axis = figure.subplots()
    x, y = view.plane(found.tool)
    width = max(np.ptp(x), np.ptp(y), 1e-6) / N_FIELDS
    edges = [np.arange(along.min(), along.max() + 1.01 * width, width) for along in (x, y)]
    median = scipy.stats.binned_statistic_2d(x, y, found.relative, "median", bins=edges).statistic
    style: dict[str, Any] = {"norm": _colours(found, recorded), "cmap": "viridis_r"}
    shown = axis.pcolormesh(*edges, median.T, **style)
    points = view.plane(recorded.tool)
    axis.scatter(*points, s=22.0, color="white", lw=0.0)
    axis.scatter(*points, s=7.0, c=recorded.relative, lw=0.0, **style)
    axis.set_aspect("equal")
    axis.set_xlabel(view.titles[0])
    axis.set_ylabel(view.titles[1])
    bar = figure.colorbar(shown, ax=axis, location="bottom", extend="both", aspect=30)
    bar.ax.xaxis.set_major_locator(LogLocator(10.0, STEPS))
    bar.ax.xaxis.set_major_formatter(PercentFormatter(1.0))
    bar.minorticks_off()
    bar.set_label("doubt of the worst joint, of its torque limit")
    return figure


def _colours(*found: WorkspaceDoubt) -> LogNorm:
    """Range of the colours: steps around all but the farthest doubts."""
    relative = np.concatenate([part.relative for part in found])
    # A model without a global one may know nothing where it has no data.
    relative = np.clip(relative, LEAST_DOUBT, LARGEST_DOUBT)
    low, high = np.quantile(relative, OUTER)
    decades = 10.0 ** np.arange(np.floor(np.log10(low)), np.ceil(np.log10(high)) + 2.0)
    steps = np.outer(decades, STEPS).ravel()
    least = steps[steps <= low * (1.0 + ROUNDING)].max()
    return LogNorm(least, steps[(steps >= high) & (steps > least)].min())
