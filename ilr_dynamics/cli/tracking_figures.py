# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Figures of how an arm tracked: errors and torques of each joint, and the gate."""

from __future__ import annotations

from matplotlib.figure import Figure

from ilr_dynamics.cli.decimation import stretches
from ilr_dynamics.cli.joint_panels import (
    fill_over_time,
    joint_panels,
    legend_above,
    plot_over_time,
)
from ilr_dynamics.cli.tracking_evaluation import DEVIATIONS, Tracking

__all__ = ["draw_gate", "draw_tracking_errors", "draw_tracking_torques"]

# Gap that a curve does not cross, in median intervals.
GAP = 5.0


def draw_tracking_errors(tracking: Tracking) -> Figure:
    """Draw the error of each joint over time, mrad."""
    record = tracking.record
    figure, axes = joint_panels(tracking.joint_names, "mrad", "time [s]", share=True)
    error = 1e3 * (record.desired - record.measured)
    parts = stretches(record.time, GAP)
    for j, axis in enumerate(axes):
        style = {"color": "tab:orange", "label": "desired - measured position"}
        plot_over_time(axis, record.time, error[:, j], parts, **style)
    legend_above(figure, axes)
    return figure


def draw_tracking_torques(tracking: Tracking) -> Figure:
    """Draw commanded torque, feed-forward with its interval, and feedback over time."""
    record = tracking.record
    figure, axes = joint_panels(tracking.joint_names, "Nm", "time [s]", share=True, legend_lines=2)
    parts = stretches(record.time, GAP)
    for j, axis in enumerate(axes):
        mean, half = record.feedforward[:, j], DEVIATIONS * record.predicted_std[:, j]
        style = {"color": "tab:blue", "alpha": 0.3, "label": "95% interval"}
        fill_over_time(axis, record.time, mean - half, mean + half, parts, **style)
        for values, colour, label in (
            (record.commanded, "black", "commanded"),
            (record.feedforward, "tab:blue", "feed-forward"),
            (record.pd, "tab:orange", "PD"),
        ):
            plot_over_time(axis, record.time, values[:, j], parts, color=colour, label=label)
    legend_above(figure, axes)
    return figure


def draw_gate(tracking: Tracking) -> Figure:
    """Draw the gate, and the time that a cycle takes, over time."""
    record = tracking.record
    figure, axes = joint_panels(("gate", "loop time"), "", "time [s]", share=True)
    parts = stretches(record.time, GAP)
    for axis, values, title, colour in (
        (axes[0], record.gate, "gate", "tab:green"),
        (axes[1], 1e3 * record.loop_time, "loop time [ms]", "tab:grey"),
    ):
        axis.set_title(title, fontsize=10, loc="left", y=1.0)
        plot_over_time(axis, record.time, values, parts, color=colour)
    axes[0].set_ylim(-0.05, 1.05)
    return figure
