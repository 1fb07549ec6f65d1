# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Figures with one panel per joint: layout, legend, time series, limits and histograms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from ilr_dynamics.arrays import BoolArray, FloatArray
from ilr_dynamics.cli.decimation import Stretches, decimate, decimate_band
from ilr_dynamics.cli.shown_text import picture_text

__all__ = [
    "N_BINS",
    "fill_over_time",
    "histogram_edges",
    "joint_panels",
    "legend_above",
    "plot_histogram",
    "plot_over_time",
    "shade",
    "show_limits",
    "sound",
]

LIMIT: dict[str, Any] = {"color": "tab:purple", "ls": "--", "lw": 1.0}
# Sizes in inches: a panel as wide as is legible on a phone, with margins for the numbers at the
# sides and for the legend and the title of the axis above and below all panels.
WIDTH, PANEL, BETWEEN, ABOVE, BELOW, LEFT, RIGHT = 4.0, 0.95, 0.32, 0.4, 0.5, 0.66, 0.24
LEGEND_LINE = 0.22
OPAQUE, TRANSLUCENT = 1.0, 0.6
# Longest name of a joint that fits above a panel, in characters.
LONGEST_NAME = 26
# Number of bins of time that are distinguished: a panel has about 650 pixels.
N_BINS = 600
# Largest value that is drawn: no angle or torque is larger, and Matplotlib fails near the largest
# float.
LARGEST = 1e9
# A limit is shown if the values reach this share of it; otherwise it would flatten their curve.
NEAR_LIMIT = 0.6
# Bottom of a histogram, in percent of the time, below its axis.
BELOW_AXIS = 1e-9


def joint_panels(
    joints: Sequence[str], unit: str, below: str, share: bool = False, legend_lines: int = 1
) -> tuple[Figure, list[Axes]]:
    """Return stacked panels, with explicit layout: Matplotlib's automatic ones take seconds."""
    heights = PANEL + BETWEEN
    alone = 0.0 if share else 0.18  # the numbers below each panel
    above = ABOVE + legend_lines * LEGEND_LINE
    height = above + BELOW + len(joints) * (heights + alone) - BETWEEN - alone
    figure = Figure(figsize=(WIDTH, height))
    axes = figure.subplots(len(joints), 1, sharex=share, squeeze=False)[:, 0].tolist()
    figure.subplots_adjust(
        left=LEFT / WIDTH,
        right=1.0 - RIGHT / WIDTH,
        top=1.0 - above / height,
        bottom=BELOW / height,
        hspace=(BETWEEN + alone) / PANEL,
    )
    for axis, joint in zip(axes, joints, strict=True):
        title = f"{picture_text(joint, LONGEST_NAME)} [{unit}]"
        # With an explicit y, as the automatic position of a title takes half of the time.
        axis.set_title(title, fontsize=10, loc="left", y=1.0)
        axis.locator_params(axis="x", nbins=5)
        axis.locator_params(axis="y", nbins=4)
        axis.grid(alpha=0.3)
        axis.margins(x=0.02, y=0.08)
    axes[-1].set_xlabel(below)
    return figure, axes


def legend_above(figure: Figure, axes: Sequence[Axes]) -> None:
    """Add one legend for all panels above them."""
    for axis in axes:
        # Each minor tick of a logarithmic axis takes a millisecond.
        axis.minorticks_off()
    handles = {
        label: handle
        for axis in axes
        for handle, label in zip(*axis.get_legend_handles_labels(), strict=True)
    }
    figure.legend(
        handles.values(),
        handles.keys(),
        loc="upper center",
        ncols=3,
        frameon=False,
        columnspacing=1.2,
        markerscale=6.0,
    )


def plot_over_time(
    axis: Axes, time: FloatArray, values: NDArray[np.floating], parts: Stretches, **style: Any
) -> None:
    """Draw values over time, decimated and broken at gaps."""
    shown = decimate(time, sound(values), N_BINS, parts.begins)
    # A motion too fast for the resolution fills an area: keep curves behind it visible.
    alpha = OPAQUE if len(time) <= len(shown[0]) else TRANSLUCENT
    axis.plot(*shown, lw=1.0, alpha=alpha, **style)


def fill_over_time(
    axis: Axes,
    time: FloatArray,
    lower: FloatArray,
    upper: FloatArray,
    parts: Stretches,
    **style: Any,
) -> None:
    """Fill a band over time, decimated and broken at gaps."""
    shown = decimate_band(time, sound(lower), sound(upper), N_BINS, parts.begins)
    axis.fill_between(*shown, lw=0.0, **style)


def shade(
    axis: Axes, edges: FloatArray, shown: BoolArray, colour: str, hatch: str | None, label: str
) -> None:
    """Shade the bins of time, between edges, that are set in `shown`."""
    if not shown.any():
        return
    # Pairs of edges of the runs of bins that are set.
    change = np.flatnonzero(np.diff(shown, prepend=False, append=False))
    first, last = edges[change[::2]], edges[change[1::2]]
    axis.broken_barh(
        list(zip(first, last - first, strict=True)),
        (0.0, 1.0),
        transform=axis.get_xaxis_transform(),
        facecolor=colour,
        edgecolor="#d98880" if hatch else "none",
        hatch=hatch,
        lw=0.0,
        zorder=0,
        label=label,
    )


def show_limits(axis: Axes, limits: Sequence[float] | FloatArray, horizontal: bool) -> None:
    """Show limits that the values come close to, without rescaling the axis for others."""
    interval = axis.get_ylim() if horizontal else axis.get_xlim()
    draw = axis.axhline if horizontal else axis.axvline
    for limit in limits:
        nearest = interval[1] if limit > 0.0 else interval[0]
        if np.isfinite(limit) and nearest * np.sign(limit) >= NEAR_LIMIT * abs(limit):
            draw(limit, label="limit", **LIMIT)


def plot_histogram(axis: Axes, values: FloatArray, edges: FloatArray, **style: Any) -> None:
    """Draw a histogram in percent of the values that are not NaN."""
    known = values[np.isfinite(values)]
    if len(known):
        percent = 100.0 * np.histogram(known, edges)[0] / len(known)
        # A logarithmic axis has no zero: empty bins are drawn below the axis.
        axis.stairs(np.maximum(percent, BELOW_AXIS), edges, baseline=BELOW_AXIS, **style)


def histogram_edges(values: FloatArray) -> FloatArray:
    """Edges of a histogram's bins for the values that are not NaN."""
    low, high = np.fmin.reduce(values), np.fmax.reduce(values)
    if not np.isfinite(low):
        low = high = 0.0
    room = 0.02 * (high - low) or 0.01
    return np.linspace(low - room, high + room, 61)


def sound(values: NDArray[np.floating]) -> FloatArray:
    """Return the values, with NaN in place of those that Matplotlib cannot draw."""
    return np.where(np.abs(values) <= LARGEST, values, np.nan)
