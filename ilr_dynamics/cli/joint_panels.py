# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Panels under each other, one for each joint, and what is drawn into them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from ilr_dynamics.arrays import BoolArray, FloatArray
from ilr_dynamics.cli.decimation import Stretches, decimate
from ilr_dynamics.cli.shown_text import picture_text

__all__ = [
    "N_BINS",
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
# Inches: a panel as wide as a phone is read at, with room for numbers beside it and for the legend
# and the title of the axis above and below all.
WIDTH, PANEL, BETWEEN, ABOVE, BELOW, LEFT, RIGHT = 4.0, 0.95, 0.32, 0.4, 0.5, 0.66, 0.24
LEGEND_LINE = 0.22
OPAQUE, TRANSLUCENT = 1.0, 0.6
# Characters of a joint's name that fit above a panel.
LONGEST_NAME = 26
# Parts of the time that are told apart: a panel has about 650 pixels.
N_BINS = 600
# Values beyond are no angle or torque; Matplotlib fails at those near the largest number.
LARGEST = 1e9
# A limit is shown where the values reach this share of it: elsewhere it would flatten them.
NEAR_LIMIT = 0.6
# Percent of the time, below all that a histogram shows.
BELOW_AXIS = 1e-9


def joint_panels(
    joints: Sequence[str], unit: str, below: str, share: bool = False, legend_lines: int = 1
) -> tuple[Figure, list[Axes]]:
    """Panels under each other. Laid out by hand: Matplotlib's own layouts take seconds."""
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
        # Without y, Matplotlib looks for what the title might touch, which takes half of the time.
        axis.set_title(title, fontsize=10, loc="left", y=1.0)
        axis.locator_params(axis="x", nbins=5)
        axis.locator_params(axis="y", nbins=4)
        axis.grid(alpha=0.3)
        axis.margins(x=0.02, y=0.08)
    axes[-1].set_xlabel(below)
    return figure, axes


def legend_above(figure: Figure, axes: Sequence[Axes]) -> None:
    """One legend above all panels, of what any of them shows."""
    for axis in axes:
        # Each small tick of a logarithmic axis takes a millisecond.
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
    """Draw what a panel can show of values over time, in parts without gaps."""
    shown = decimate(time, sound(values), N_BINS, parts.begins)
    # Motion that is too fast for the picture fills it: what is behind shines through.
    alpha = OPAQUE if len(time) <= len(shown[0]) else TRANSLUCENT
    axis.plot(*shown, lw=1.0, alpha=alpha, **style)


def shade(
    axis: Axes, edges: FloatArray, shown: BoolArray, colour: str, hatch: str | None, label: str
) -> None:
    """Shade the parts of the time, between edges, that are to be shown."""
    if not shown.any():
        return
    # Edges of the runs of bins that are shown, two and two.
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
    """Show limits to which the values come near, without a change of scale for the others."""
    interval = axis.get_ylim() if horizontal else axis.get_xlim()
    draw = axis.axhline if horizontal else axis.axvline
    for limit in limits:
        nearest = interval[1] if limit > 0.0 else interval[0]
        if np.isfinite(limit) and nearest * np.sign(limit) >= NEAR_LIMIT * abs(limit):
            draw(limit, label="limit", **LIMIT)


def plot_histogram(axis: Axes, values: FloatArray, edges: FloatArray, **style: Any) -> None:
    """Draw how often values lie between edges, in percent of those that are known."""
    known = values[np.isfinite(values)]
    if len(known):
        percent = 100.0 * np.histogram(known, edges)[0] / len(known)
        # A logarithmic axis has no zero: empty bins end below it.
        axis.stairs(np.maximum(percent, BELOW_AXIS), edges, baseline=BELOW_AXIS, **style)


def histogram_edges(values: FloatArray) -> FloatArray:
    """Edges of a histogram's bins, NaN left out."""
    low, high = np.fmin.reduce(values), np.fmax.reduce(values)
    if not np.isfinite(low):
        low = high = 0.0
    room = 0.02 * (high - low) or 0.01
    return np.linspace(low - room, high + room, 61)


def sound(values: NDArray[np.floating]) -> FloatArray:
    """Return the values, NaN in place of those that Matplotlib cannot draw."""
    return np.where(np.abs(values) <= LARGEST, values, np.nan)
