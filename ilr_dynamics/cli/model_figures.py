# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Figures of a model: torques with intervals, friction curves, doubt in the workspace."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure
from scipy.stats import binned_statistic_2d

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

__all__ = ["draw_friction", "draw_torques", "draw_workspace", "draw_worst_seconds"]

MEASURED, PREDICTED, FORMER = "black", "tab:blue", "tab:orange"
BAND: dict[str, Any] = {"color": PREDICTED, "alpha": 0.3}
# Half the width of a 95 % interval of a normal distribution, in standard deviations.
DEVIATIONS = 1.96
# Longest time between neighbours that is not a gap, in periods.
MAX_GAP = 3.5
# What is shown before and after the worst second, s.
AROUND = 0.5
# Of the views of the workspace: fields of the larger side, and range of the colours.
N_FIELDS = 32
COLOURS = LogNorm(1e-3, 1e-1)
VIEW_WIDTH, VIEW_HEIGHT = 4.0, 6.6


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
            label = "recorded, less the rest"
            axis.plot(*shown, ".", ms=1.2, color="0.65", label=label, zorder=1)
        axis.fill_between(speed, *band, lw=0.0, label=f"{COVERAGE:.0%} interval", **BAND)
        axis.plot(speed, sound(torque), color=PREDICTED, lw=1.2, label="identified")
        if former is not None:
            line = sound(former.torque[:, j])
            axis.plot(former.speed[:, j], line, "--", color=FORMER, lw=1.0, label="before")
        axis.set_xlim(speed[0], speed[-1])
        axis.axhline(0.0, color="grey", lw=0.6)
    legend_above(figure, axes)
    return figure


def draw_workspace(found: WorkspaceDoubt, track: FloatArray) -> Figure:
    """
    Draw the doubt of a model over the workspace, from the side and from above.

    Parameters
    ----------
    found : WorkspaceDoubt
        Doubt at postures all over the workspace.
    track : ndarray of shape (m, 3)
        Tool points of recordings, m.

    Returns
    -------
    Figure
    """
    figure = Figure(figsize=(VIEW_WIDTH, VIEW_HEIGHT), layout="constrained")
    side, above = figure.subplots(2, 1)
    x, y, z = found.tool.T
    u, v, w = track.T
    _show_view(side, np.hypot(x, y), z, found.relative)
    side.plot(np.hypot(u, v), w, ".", ms=1.0, color="black", label="recorded")
    side.set_xlabel("distance from the base's axis [m]")
    side.set_ylabel("height z [m]")
    shown = _show_view(above, x, y, found.relative)
    above.plot(u, v, ".", ms=1.0, color="black", label="recorded")
    above.set_xlabel("x [m]")
    above.set_ylabel("y [m]")
    bar = figure.colorbar(shown, ax=[side, above], location="bottom", extend="both", aspect=30)
    bar.set_ticks([0.001, 0.01, 0.1], labels=["0.1 %", "1 %", "10 %"])
    bar.minorticks_off()
    bar.set_label("doubt of the worst joint, of its torque limit")
    return figure


def _show_view(axis: Axes, x: FloatArray, y: FloatArray, values: FloatArray) -> Any:
    """Median value in each square field of a view; fields without values stay white."""
    width = max(np.ptp(x), np.ptp(y), 1e-6) / N_FIELDS
    edges = [
        np.arange(along.min(), along.max() + width + 1e-9, width) for along in (x, y)
    ]
    median = binned_statistic_2d(x, y, values, "median", bins=edges).statistic
    axis.set_aspect("equal")
    return axis.pcolormesh(*edges, median.T, norm=COLOURS, cmap="viridis_r", rasterized=True)
