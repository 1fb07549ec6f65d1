# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Figures of an inspected recording, with a panel per joint, legible on a phone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ilr_dynamics.arrays import FloatArray, IndexArray
from ilr_dynamics.cli.decimation import stretches
from ilr_dynamics.cli.joint_panels import (
    N_BINS,
    histogram_edges,
    joint_panels,
    legend_above,
    plot_histogram,
    plot_over_time,
    shade,
    show_limits,
    sound,
)
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
FINDINGS = {Severity.WARNING: "tab:orange", Severity.ERROR: "tab:red"}

# Smallest share of rejected states from which on a bin of time (`N_BINS`) is shown as rejected.
MIN_REJECTED = 0.1
# Number of points of a scatter plot.
N_POINTS = 3000
# Longest time between neighbours that is not a gap, in periods, as in `SampleSettings.max_gap`.
MAX_GAP = 3.5
MAX_MARKS = 100
# Range of a histogram's axis, in percent of the time.
PERCENT = (0.05, 150.0)

# Largest number of states for a spectrum, five minutes at 1 kHz; window; smallest number.
SPECTRUM_STATES = 300_000
SPECTRUM_SECONDS = 4.0
MIN_SPECTRUM_STATES = 32
# Range of a spectrum's axis, relative to the largest power, and rounding error relative to the
# largest value.
SPECTRUM_RANGE, ROUNDING = 1e-14, 1e-12


def draw_positions(
    recording: Recording,
    samples: Samples | None,
    position_limits: FloatArray | None,
    findings: Sequence[Finding] = (),
) -> Figure:
    """
    Draw positions over time, with the stretches that are used and those that are rejected.

    Parameters
    ----------
    recording : Recording
        Usable states.
    samples : Samples or None
        Training samples; None if there are none.
    position_limits : ndarray of shape (n_joints, 2) or None
        Position limits, rad.
    findings : sequence of Finding
        Findings; warnings and errors with a time are marked at the lower edge.

    Returns
    -------
    Figure
    """
    figure, axes = joint_panels(
        recording.joint_names, "rad", "time [s]", share=True, legend_lines=2
    )
    recorded = stretches(recording.time, MAX_GAP, recording.breaks)
    edges = np.linspace(0.0, recording.time[-1], N_BINS + 1)
    here = recorded.share(edges)
    used = np.zeros(N_BINS)
    if samples is not None:
        used = stretches(samples.time, MAX_GAP).share(edges)
    rejected = here - used > MIN_REJECTED
    for j, axis in enumerate(axes):
        shade(axis, edges, (here > 0.0) & ~rejected, USED, None, "used")
        shade(axis, edges, rejected, REJECTED, "///", "rejected")
        plot_over_time(axis, recording.time, recording.position[:, j], recorded, color=MEASURED)
        if position_limits is not None:
            show_limits(axis, position_limits[j], horizontal=True)
        _mark_findings(axis, findings, recording.joint_names[j], recording.time[-1])
        axis.set_xlim(0.0, recording.time[-1])
    legend_above(figure, axes)
    return figure


def draw_torques(
    recording: Recording,
    samples: Samples | None,
    model_torque: FloatArray | None,
    torque_limit: FloatArray | None,
) -> Figure:
    """
    Draw the recorded torque over time, and the model's where there is one.

    Parameters
    ----------
    recording : Recording
        Usable states.
    samples : Samples or None
        Training samples.
    model_torque : ndarray of shape (n, n_joints) or None
        Torque of the rigid-body model at the samples, Nm.
    torque_limit : ndarray of shape (n_joints,) or None
        Torque limits, Nm.

    Returns
    -------
    Figure
    """
    figure, axes = joint_panels(recording.joint_names, "Nm", "time [s]", share=True)
    recorded = stretches(recording.time, MAX_GAP, recording.breaks)
    for j, axis in enumerate(axes):
        torque = recording.torque[:, j]
        plot_over_time(axis, recording.time, torque, recorded, color=MEASURED, label="recorded")
        if samples is not None and model_torque is not None:
            used = stretches(samples.time, MAX_GAP)
            style = {"color": MODEL, "label": "rigid bodies"}
            plot_over_time(axis, samples.time, model_torque[:, j], used, **style)
        if torque_limit is not None:
            show_limits(axis, [-torque_limit[j], torque_limit[j]], horizontal=True)
        axis.set_xlim(0.0, recording.time[-1])
    legend_above(figure, axes)
    return figure


def draw_torque_scatter(samples: Samples, model_torque: FloatArray) -> Figure:
    """
    Draw the recorded torque against that of the rigid-body model.

    Parameters
    ----------
    samples : Samples
        Training samples.
    model_torque : ndarray of shape (n, n_joints)
        Torque of the rigid-body model at the samples, Nm.

    Returns
    -------
    Figure
    """
    figure, axes = joint_panels(samples.joint_names, "Nm", "torque of the rigid bodies [Nm]")
    rows = _some(samples.n_used)
    for j, axis in enumerate(axes):
        model, torque = sound(model_torque[rows, j]), sound(samples.Y[rows, j])
        axis.plot(model, torque, ".", ms=1.5, color=MEASURED, label="recorded")
        ends = [np.fmin.reduce(model), np.fmax.reduce(model)]
        axis.plot(ends, ends, color=MODEL, lw=1.2, label="equal")
    legend_above(figure, axes)
    return figure


def draw_residual(samples: Samples, model_torque: FloatArray) -> Figure:
    """
    Draw the residual of the rigid-body model over the position, by direction of motion.

    Parameters
    ----------
    samples : Samples
        Training samples.
    model_torque : ndarray of shape (n, n_joints)
        Torque of the rigid-body model at the samples, Nm.

    Returns
    -------
    Figure
    """
    n_joints = len(samples.joint_names)
    figure, axes = joint_panels(samples.joint_names, "Nm", "position [rad]")
    rows = _some(samples.n_used)
    for j, axis in enumerate(axes):
        position, velocity = samples.X[rows, j], samples.X[rows, n_joints + j]
        residual = sound(samples.Y[rows, j] - model_torque[rows, j])
        for forward, colour in ((True, "tab:orange"), (False, "tab:blue")):
            chosen = (velocity > 0.0) == forward
            label = "moving forward" if forward else "backward or still"
            shown = sound(position[chosen]), residual[chosen]
            axis.plot(*shown, ".", ms=1.5, color=colour, label=label)
        axis.axhline(0.0, color="grey", lw=0.8)
    legend_above(figure, axes)
    return figure


def draw_velocities(
    recording: Recording, samples: Samples | None, velocity_limit: FloatArray | None
) -> Figure | None:
    """
    Draw histograms of the measured velocities and of the derivatives of the positions.

    Parameters
    ----------
    recording : Recording
        Usable states.
    samples : Samples or None
        Training samples, whose velocities are the derivatives of the positions.
    velocity_limit : ndarray of shape (n_joints,) or None
        Velocity limits, rad/s.

    Returns
    -------
    Figure or None
        None if there are no velocities of either kind.
    """
    n_joints = len(recording.joint_names)
    if samples is None and not np.isfinite(recording.velocity).any():
        return None
    figure, axes = joint_panels(recording.joint_names, "% of time", "velocity [rad/s]")
    for j, axis in enumerate(axes):
        # Joint by joint, as all joints in an hour's states would take a quarter of a gigabyte.
        both = [sound(recording.velocity[:, j])]
        if samples is not None:
            both.append(sound(samples.X[:, n_joints + j]))
        edges = histogram_edges(np.concatenate(both))
        styles = ({"fill": True, "color": "0.7", "label": "measured"}, DERIVED)
        for values, style in zip(both, styles, strict=False):
            plot_histogram(axis, values, edges, **style)
        axis.set_yscale("log")
        axis.set_ylim(*PERCENT)
        if velocity_limit is not None:
            show_limits(axis, [-velocity_limit[j], velocity_limit[j]], horizontal=False)
    legend_above(figure, axes)
    return figure


def draw_spectrum(recording: Recording) -> Figure | None:
    """
    Draw the power spectral densities of position and torque, normalised to unit power.

    Parameters
    ----------
    recording : Recording
        Usable states, of which the longest stretch without gaps is used, or its beginning.

    Returns
    -------
    Figure or None
        None if no stretch is long enough.
    """
    rows = _longest_stretch(recording)
    if len(rows) < MIN_SPECTRUM_STATES:
        return None
    length = max(MIN_SPECTRUM_STATES, round(SPECTRUM_SECONDS / recording.period))
    length = min(len(rows), length)
    frequency = np.fft.rfftfreq(length, recording.period)[1:]
    figure, axes = joint_panels(recording.joint_names, "1/Hz", "frequency [Hz]", share=True)
    signals = (("position", recording.position, MEASURED), ("torque", recording.torque, MODEL))
    for j, axis in enumerate(axes):
        for label, signal, colour in signals:
            power = _spectrum(np.nan_to_num(sound(signal[rows, j])), length)
            density = power / (power.sum() * frequency[0])
            shown = np.where(power > SPECTRUM_RANGE * power.sum(), density, np.nan)
            axis.loglog(frequency, shown, color=colour, lw=1.0, label=label)
        axis.set_xlim(frequency[0], frequency[-1])
        axis.set_xscale("log")
    legend_above(figure, axes)
    return figure


def _mark_findings(axis: Axes, findings: Sequence[Finding], joint: str, end: float) -> None:
    marked = [
        (finding.severity, finding.from_s, end if finding.to_s is None else finding.to_s)
        for finding in findings
        if finding.severity in FINDINGS
        and finding.joint in ("", joint)
        and finding.from_s is not None
        and np.isfinite(finding.from_s)
    ]
    for severity, first, last in marked[:MAX_MARKS]:
        style: dict[str, Any] = {"color": FINDINGS[severity], "lw": 1.5, "label": str(severity)}
        axis.axvspan(first, last, 0.0, 0.1, **style)


def _some(n_rows: int) -> IndexArray:
    """Random rows for a scatter plot: equal steps could coincide with a periodic motion."""
    if n_rows <= N_POINTS:
        return np.arange(n_rows)
    return np.sort(np.random.default_rng(0).choice(n_rows, N_POINTS, replace=False))


def _spectrum(values: FloatArray, length: int) -> FloatArray:
    """Power at each frequency except zero by Welch's method, with windows overlapping by half."""
    parts = np.lib.stride_tricks.sliding_window_view(values, length)[:: max(1, length // 2)]
    parts = parts - parts.mean(axis=1, keepdims=True)
    # A constant signal has only rounding error.
    parts[np.ptp(parts, axis=1) <= ROUNDING * np.abs(values).max()] = 0.0
    return np.mean(np.abs(np.fft.rfft(parts * np.hanning(length))) ** 2, axis=0)[1:]


def _longest_stretch(recording: Recording) -> IndexArray:
    parts = stretches(recording.time, MAX_GAP, recording.breaks)
    ends = np.append(parts.begins[1:], len(recording.time))
    longest = int(np.argmax(ends - parts.begins))
    first = int(parts.begins[longest])
    return np.arange(first, min(int(ends[longest]), first + SPECTRUM_STATES))
