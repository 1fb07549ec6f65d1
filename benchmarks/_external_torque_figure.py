# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Picture of external torques while something pushes at a moving arm."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from ilr_dynamics.arrays import FloatArray

__all__ = ["draw_pushes"]


def draw_pushes(
    path: Path, robot: str, joints: Sequence[str], shown: Mapping[str, FloatArray]
) -> None:
    """
    Draw external torques, thresholds and what pushes over time, a joint below the other.

    Parameters
    ----------
    path
        File of the picture.
    robot
        For the title.
    joints
        Names.
    shown
        Times (n,), s, and torque, threshold, push, each (n, n_joints), Nm.
    """
    figure = Figure(figsize=(8.0, 1.5 * len(joints) + 0.8), layout="constrained")
    rows = figure.subplots(len(joints), sharex=True)
    time = shown["time"] - shown["time"][0]
    for j, (axes, joint) in enumerate(zip(rows, joints, strict=True)):
        torque, threshold, push = (shown[name][:, j] for name in ("torque", "threshold", "push"))
        axes.fill_between(
            time, -threshold, threshold, color="0.9", lw=0, label="free motion explains it"
        )
        axes.plot(time, push, color="tab:orange", lw=2.5, alpha=0.6, label="what pushes")
        axes.plot(time, torque, color="tab:blue", lw=0.9, label="external torque")
        found = np.abs(torque) > threshold
        axes.plot(time[found], torque[found], ".", color="tab:red", ms=4, label="contact")
        axes.set_ylabel(f"{joint} [Nm]")
    rows[0].legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=4, frameon=False)
    rows[-1].set_xlabel("time [s]")
    figure.suptitle(f"{robot} in motion, pushed at one joint after the other")
    figure.savefig(path, dpi=110)
