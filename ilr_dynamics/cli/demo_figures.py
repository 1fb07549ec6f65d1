# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Pictures of the demo: tracks of the tool point, and torques."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from ilr_dynamics.cli.tracking_record import TrackingRecord
from ilr_dynamics.robot.rigid_body import RigidBodyModel

__all__ = ["draw_torques", "draw_tracks"]

COLOURS = {"desired": "tab:blue", "pd": "black", "analytic": "tab:red", "ilr": "tab:green"}
STANDARD_DEVIATIONS = 2.0


def draw_tracks(
    path: Path, records: Mapping[str, TrackingRecord], model: RigidBodyModel, title: str
) -> None:
    """
    Draw the tracks of the tool point in the plane of the figure-eight.

    Parameters
    ----------
    path : Path
        Picture to write.
    records : mapping of str to TrackingRecord
        Runs by the kind of controller: pd, analytic, ilr.
    model : RigidBodyModel
        Kinematics of the arm.
    title : str
        Title of the picture.
    """
    labels = {"pd": "PD", "analytic": "analytic + PD", "ilr": "ILR + PD"}
    figure = Figure(figsize=(11.0, 2.9), layout="constrained")
    axes = figure.subplots(1, len(records), sharex=True, sharey=True)
    for axis, (kind, record) in zip(np.atleast_1d(axes), records.items(), strict=True):
        desired = _tool_points(model, record.desired)
        measured = _tool_points(model, record.measured)
        axis.plot(desired[:, 1], desired[:, 0], color=COLOURS["desired"], lw=3.0, alpha=0.5)
        axis.plot(measured[:, 1], measured[:, 0], color=COLOURS[kind], lw=1.0)
        axis.set_title(f"{labels[kind]}: {record.mean_squared_error:.2e} rad$^2$")
        axis.set_xlabel("y [m]")
        axis.set_aspect("equal")
        axis.grid(alpha=0.3)
    np.atleast_1d(axes)[0].set_ylabel("x [m]")
    figure.suptitle(f"{title}: desired (wide, blue) and measured tracks of the tool point")
    figure.savefig(path, dpi=120)


def draw_torques(path: Path, record: TrackingRecord, joints: tuple[str, ...], title: str) -> None:
    """
    Draw commanded, feed-forward and PD torque and the predicted band of each joint over time.

    Parameters
    ----------
    path : Path
        Picture to write.
    record : TrackingRecord
        Run with the learned feed-forward.
    joints : tuple of str
        Names of the joints.
    title : str
        Title of the picture.
    """
    figure = Figure(figsize=(11.0, 8.0), layout="constrained")
    axes = figure.subplots(len(joints), 1, sharex=True)
    for j, (axis, joint) in enumerate(zip(axes, joints, strict=True)):
        band = STANDARD_DEVIATIONS * record.predicted_std[:, j]
        feedforward = record.feedforward[:, j]
        axis.fill_between(
            record.time,
            feedforward - band,
            feedforward + band,
            color="tab:green",
            alpha=0.25,
            lw=0.0,
            label=f"predicted, {STANDARD_DEVIATIONS:g} standard deviations",
        )
        axis.plot(record.time, record.commanded[:, j], color="black", lw=0.8, label="commanded")
        axis.plot(record.time, feedforward, color="tab:green", lw=1.2, label="feed-forward (ILR)")
        axis.plot(record.time, record.pd[:, j], color="tab:orange", lw=0.8, label="PD")
        axis.set_ylabel(f"{joint} [Nm]")
        axis.grid(alpha=0.3)
    axes[0].legend(loc="upper right", ncols=4, fontsize="small")
    axes[-1].set_xlabel("time [s]")
    figure.suptitle(title)
    figure.savefig(path, dpi=120)


def _tool_points(model: RigidBodyModel, positions: np.ndarray) -> np.ndarray:
    return np.array([model.tool_position(q) for q in positions])
