# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Pictures of an inspected recording, a panel for each joint, legible on a phone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from ilr_dynamics.cli.decimation import Stretches, decimate, stretches
from ilr_dynamics.cli.shown_text import picture_text
from ilr_dynamics.inspection import Finding, Severity
from ilr_dynamics.recording import Recording, Samples

__all__ = [
    "draw_positions",
    "draw_residual",
    "draw_spectrum",
    "draw_torque_scatter",
    "draw_torques",
    "draw_velocities",
]

MEASURED, MODEL = "black", "tab:red"
USED, REJECTED = "#d5ecd4", "#f6c9c3"
DERIVED: dict[str, Any] = {"color": MODEL, "label": "from positions"}
LIMIT: dict[str, Any] = {"color": "tab:purple", "ls": "--", "lw": 1.0}
FINDINGS = {Severity.WARNING: "tab:orange", Severity.ERROR: "tab:red"}

# Inches: a panel as wide as a phone is read at, with room for numbers beside it and for the legend
# and the title of the axis above and below all.
WIDTH, PANEL, BETWEEN, ABOVE, BELOW, LEFT, RIGHT = 4.0, 0.95, 0.32, 0.4, 0.5, 0.66, 0.24
LEGEND_LINE = 0.22
OPAQUE, TRANSLUCENT = 1.0, 0.6
# Characters of a joint's name that fit above a panel.
LONGEST_NAME = 26
# Parts of the time that are told apart: a panel has about 650 pixels.
N_BINS = 600
# Share of such a part that is shown as rejected.
LEAST_REJECTED = 0.1
# Points of a cloud.
N_POINTS = 3000
# Medians between neighbours that are no gap, as in `SampleSettings.max_gap`.
MAX_GAP = 3.5
# Values beyond are no angle or torque; Matplotlib fails at those near the largest number.
LARGEST = 1e9
# A limit is shown where the values reach this share of it: elsewhere it would flatten them.
NEAR_LIMIT = 0.6
MOST_MARKS = 100
# Of the time, in a bin of the histogram.
PERCENT, BELOW_AXIS = (0.05, 150.0), 1e-9

# The spectrum's states, at most: five minutes at 1 kHz.
SPECTRUM_STATES = 300_000
SPECTRUM_SECONDS = 4.0
LEAST_SPECTRUM_STATES = 32
# Shares of the power that are shown, and of the largest value: below is rounding.
SPECTRUM_RANGE, ROUNDING = 1e-14, 1e-12

Array = NDArray[np.float64]


def draw_positions(
    recording: Recording,
    samples: Samples | None,
    position_limits: Array | None,
    findings: Sequence[Finding] = (),
) -> Figure:
    """
    Draw positions over time, with the stretches that are used and those that are not.

    Parameters
    ----------
    recording : Recording
        Usable states.
    samples : Samples or None
        What is learned from; None: nothing.
    position_limits : ndarray of shape (n_joints, 2) or None
        rad.
    findings : sequence of Finding
        Warnings and errors with a time are marked at the lower edge.

    Returns
    -------
    Figure
    """
    figure, axes = _panels(recording.joint_names, "rad", "time [s]", share=True, legend_lines=2)
    recorded = stretches(recording.time, MAX_GAP, recording.breaks)
    edges = np.linspace(0.0, recording.time[-1], N_BINS + 1)
    here = recorded.share(edges)
    used = np.zeros(N_BINS)
    if samples is not None:
        used = stretches(samples.time, MAX_GAP).share(edges)
    rejected = here - used > LEAST_REJECTED
    for j, axis in enumerate(axes):
        _shade(axis, edges, (here > 0.0) & ~rejected, USED, None, "used")
        _shade(axis, edges, rejected, REJECTED, "///", "rejected")
        _plot_over_time(axis, recording.time, recording.position[:, j], recorded, color=MEASURED)
        if position_limits is not None:
            _show_limits(axis, position_limits[j], horizontal=True)
        _mark_findings(axis, findings, recording.joint_names[j], recording.time[-1])
        axis.set_xlim(0.0, recording.time[-1])
    _legend(figure, axes)
    return figure


def draw_torques(
    recording: Recording,
    samples: Samples | None,
    model_torque: Array | None,
    torque_limit: Array | None,
) -> Figure:
    """
    Draw the recorded torque over time, and the model's where there is one.

    Parameters
    ----------
    recording : Recording
        Usable states.
    samples : Samples or None
        Where the model's torque is known.
    model_torque : ndarray of shape (n, n_joints) or None
        Of the described rigid bodies at the samples, Nm.
    torque_limit : ndarray of shape (n_joints,) or None
        Nm.

    Returns
    -------
    Figure
    """
    figure, axes = _panels(recording.joint_names, "Nm", "time [s]", share=True)
    recorded = stretches(recording.time, MAX_GAP, recording.breaks)
    for j, axis in enumerate(axes):
        torque = recording.torque[:, j]
        _plot_over_time(axis, recording.time, torque, recorded, color=MEASURED, label="recorded")
        if samples is not None and model_torque is not None:
            used = stretches(samples.time, MAX_GAP)
            style = {"color": MODEL, "label": "rigid bodies"}
            _plot_over_time(axis, samples.time, model_torque[:, j], used, **style)
        if torque_limit is not None:
            _show_limits(axis, [-torque_limit[j], torque_limit[j]], horizontal=True)
        axis.set_xlim(0.0, recording.time[-1])
    _legend(figure, axes)
    return figure


def draw_torque_scatter(samples: Samples, model_torque: Array) -> Figure:
    """
    Draw the recorded torque against that of the described rigid bodies.

    Parameters
    ----------
    samples : Samples
        What is learned from.
    model_torque : ndarray of shape (n, n_joints)
        Nm, at the samples.

    Returns
    -------
    Figure
    """
    figure, axes = _panels(samples.joint_names, "Nm", "torque of the rigid bodies [Nm]")
    rows = _some(samples.n_used)
    for j, axis in enumerate(axes):
        model, torque = _sound(model_torque[rows, j]), _sound(samples.Y[rows, j])
        axis.plot(model, torque, ".", ms=1.5, color=MEASURED, label="recorded")
        ends = [np.fmin.reduce(model), np.fmax.reduce(model)]
        axis.plot(ends, ends, color=MODEL, lw=1.2, label="equal")
    _legend(figure, axes)
    return figure


def draw_residual(samples: Samples, model_torque: Array) -> Figure:
    """
    Draw what the rigid bodies do not explain over the position, by direction of motion.

    Parameters
    ----------
    samples : Samples
        What is learned from.
    model_torque : ndarray of shape (n, n_joints)
        Nm, at the samples.

    Returns
    -------
    Figure
    """
    n_joints = len(samples.joint_names)
    figure, axes = _panels(samples.joint_names, "Nm", "position [rad]")
    rows = _some(samples.n_used)
    for j, axis in enumerate(axes):
        position, velocity = samples.X[rows, j], samples.X[rows, n_joints + j]
        residual = _sound(samples.Y[rows, j] - model_torque[rows, j])
        for forward, colour in ((True, "tab:orange"), (False, "tab:blue")):
            chosen = (velocity > 0.0) == forward
            label = "moving forward" if forward else "backward or still"
            shown = _sound(position[chosen]), residual[chosen]
            axis.plot(*shown, ".", ms=1.5, color=colour, label=label)
        axis.axhline(0.0, color="grey", lw=0.8)
    _legend(figure, axes)
    return figure


def draw_velocities(
    recording: Recording, samples: Samples | None, velocity_limit: Array | None
) -> Figure | None:
    """
    Draw how often which velocity occurs: as measured, and as positions change.

    Parameters
    ----------
    recording : Recording
        Usable states.
    samples : Samples or None
        Whose velocities are the derivatives of positions.
    velocity_limit : ndarray of shape (n_joints,) or None
        rad/s.

    Returns
    -------
    Figure or None
        None where nothing is known of velocities.
    """
    n_joints = len(recording.joint_names)
    if samples is None and not np.isfinite(recording.velocity).any():
        return None
    figure, axes = _panels(recording.joint_names, "% of time", "velocity [rad/s]")
    for j, axis in enumerate(axes):
        # Column by column: an hour's states take a quarter of a gigabyte.
        both = [_sound(recording.velocity[:, j])]
        if samples is not None:
            both.append(_sound(samples.X[:, n_joints + j]))
        edges = _edges(np.concatenate(both))
        styles = ({"fill": True, "color": "0.7", "label": "measured"}, DERIVED)
        for values, style in zip(both, styles, strict=False):
            _step(axis, values, edges, **style)
        axis.set_yscale("log")
        axis.set_ylim(*PERCENT)
        if velocity_limit is not None:
            _show_limits(axis, [-velocity_limit[j], velocity_limit[j]], horizontal=False)
    _legend(figure, axes)
    return figure


def draw_spectrum(recording: Recording) -> Figure | None:
    """
    Draw the power spectral density of position and torque, each in shares of its own power.

    Parameters
    ----------
    recording : Recording
        Usable states; the longest stretch without gaps is taken, of a long one the beginning.

    Returns
    -------
    Figure or None
        None where no stretch is long enough.
    """
    rows = _longest_stretch(recording)
    if len(rows) < LEAST_SPECTRUM_STATES:
        return None
    length = max(LEAST_SPECTRUM_STATES, round(SPECTRUM_SECONDS / recording.period))
    length = min(len(rows), length)
    frequency = np.fft.rfftfreq(length, recording.period)[1:]
    figure, axes = _panels(recording.joint_names, "1/Hz", "frequency [Hz]", share=True)
    signals = (("position", recording.position, MEASURED), ("torque", recording.torque, MODEL))
    for j, axis in enumerate(axes):
        for label, signal, colour in signals:
            power = _spectrum(np.nan_to_num(_sound(signal[rows, j])), length)
            density = power / (power.sum() * frequency[0])
            shown = np.where(power > SPECTRUM_RANGE * power.sum(), density, np.nan)
            axis.loglog(frequency, shown, color=colour, lw=1.0, label=label)
        axis.set_xlim(frequency[0], frequency[-1])
        axis.set_xscale("log")
    _legend(figure, axes)
    return figure


def _panels(
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


def _legend(figure: Figure, axes: Sequence[Axes]) -> None:
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


def _plot_over_time(
    axis: Axes, time: Array, values: NDArray[np.floating], parts: Stretches, **style: Any
) -> None:
    shown = decimate(time, _sound(values), N_BINS, parts.begins)
    # Motion that is too fast for the picture fills it: what is behind shines through.
    alpha = OPAQUE if len(time) <= len(shown[0]) else TRANSLUCENT
    axis.plot(*shown, lw=1.0, alpha=alpha, **style)


def _shade(
    axis: Axes, edges: Array, shown: NDArray[np.bool_], colour: str, hatch: str | None, label: str
) -> None:
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


def _mark_findings(axis: Axes, findings: Sequence[Finding], joint: str, end: float) -> None:
    marked = [
        (finding.severity, finding.from_s, end if finding.to_s is None else finding.to_s)
        for finding in findings
        if finding.severity in FINDINGS
        and finding.joint in ("", joint)
        and finding.from_s is not None
        and np.isfinite(finding.from_s)
    ]
    for severity, first, last in marked[:MOST_MARKS]:
        style: dict[str, Any] = {"color": FINDINGS[severity], "lw": 1.5, "label": str(severity)}
        axis.axvspan(first, last, 0.0, 0.1, **style)


def _show_limits(axis: Axes, limits: Sequence[float] | Array, horizontal: bool) -> None:
    """Show limits to which the values come near, without a change of scale for the others."""
    interval = axis.get_ylim() if horizontal else axis.get_xlim()
    draw = axis.axhline if horizontal else axis.axvline
    for limit in limits:
        nearest = interval[1] if limit > 0.0 else interval[0]
        if np.isfinite(limit) and nearest * np.sign(limit) >= NEAR_LIMIT * abs(limit):
            draw(limit, label="limit", **LIMIT)


def _edges(values: Array) -> Array:
    """Edges of a histogram's bins, NaN left out."""
    low, high = np.fmin.reduce(values), np.fmax.reduce(values)
    if not np.isfinite(low):
        low = high = 0.0
    room = 0.02 * (high - low) or 0.01
    return np.linspace(low - room, high + room, 61)


def _step(axis: Axes, values: Array, edges: Array, **style: Any) -> None:
    known = values[np.isfinite(values)]
    if len(known):
        percent = 100.0 * np.histogram(known, edges)[0] / len(known)
        # A logarithmic axis has no zero: empty bins end below it.
        axis.stairs(np.maximum(percent, BELOW_AXIS), edges, baseline=BELOW_AXIS, **style)


def _sound(values: NDArray[np.floating]) -> Array:
    """Return the values, NaN in place of those that Matplotlib cannot draw."""
    return np.where(np.abs(values) <= LARGEST, values, np.nan)


def _some(n_rows: int) -> NDArray[np.intp]:
    """Rows for a cloud: drawn by lot, as equal steps may fit a motion that repeats."""
    if n_rows <= N_POINTS:
        return np.arange(n_rows)
    return np.sort(np.random.default_rng(0).choice(n_rows, N_POINTS, replace=False))


def _spectrum(values: Array, length: int) -> Array:
    """Power at each frequency but zero, the mean of windows that overlap by half (Welch)."""
    parts = np.lib.stride_tricks.sliding_window_view(values, length)[:: max(1, length // 2)]
    parts = parts - parts.mean(axis=1, keepdims=True)
    # Of a value that does not change there is rounding alone.
    parts[np.ptp(parts, axis=1) <= ROUNDING * np.abs(values).max()] = 0.0
    return np.mean(np.abs(np.fft.rfft(parts * np.hanning(length))) ** 2, axis=0)[1:]


def _longest_stretch(recording: Recording) -> NDArray[np.intp]:
    parts = stretches(recording.time, MAX_GAP, recording.breaks)
    ends = np.append(parts.begins[1:], len(recording.time))
    longest = int(np.argmax(ends - parts.begins))
    first = int(parts.begins[longest])
    return np.arange(first, min(int(ends[longest]), first + SPECTRUM_STATES))
