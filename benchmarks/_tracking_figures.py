# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Figures of the tracking experiments, in the paper's style."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from ilr_dynamics.arrays import FloatArray
from ilr_dynamics.control import TrackingResult
from ilr_dynamics.robot.rigid_body import RigidBodyModel

__all__ = ["draw_curves", "draw_shares", "draw_tracks", "keep_tracks", "kept_tracks"]

Tracks = Mapping[str, Mapping[str, TrackingResult]]
"""By controller and test trajectory."""

COLOURS = {
    "pd": "black",
    "analytic_pd": "tab:red",
    "identified_pd": "tab:purple",
    "physics_pd": "tab:brown",
    "ilr_pd": "tab:green",
    "hilr_pd": "tab:olive",
    "physics_ilr_pd": "tab:orange",
    "perfect_pd": "grey",
}
# Axes of the tool point that show most of each path.
PLANES = {"T1": (1, 0), "T2": (1, 2), "T3": (1, 0)}
AXES = "xyz"


def keep_tracks(path: Path, tracks: Mapping[str, TrackingResult]) -> None:
    """Write the tracks of the test trajectories, every fifth cycle; of none there is no file."""
    names = [field.name for field in fields(TrackingResult)]
    arrays = {
        f"{test}.{name}": getattr(track, name)[::5]
        for test, track in tracks.items()
        for name in names
    }
    if arrays:
        np.savez_compressed(path, **arrays)


def kept_tracks(path: Path) -> dict[str, TrackingResult]:
    """Read what `keep_tracks` wrote."""
    parts: dict[str, dict[str, FloatArray]] = {}
    with np.load(path, allow_pickle=False) as arrays:
        for key in arrays:
            test, name = key.split(".")
            parts.setdefault(test, {})[name] = arrays[key]
    return {test: TrackingResult(**of_test) for test, of_test in parts.items()}


def draw_tracks(path: Path, tracks: Tracks, model: RigidBodyModel, title: str) -> None:
    """Draw the tool point's tracks, a row a test trajectory and a column a controller."""
    tests = list(next(iter(tracks.values())))
    figure = Figure(figsize=(2.6 * len(tracks), 2.1 * len(tests)), layout="constrained")
    axes = figure.subplots(len(tests), len(tracks), sharex="row", sharey="row", squeeze=False)
    for row, test in zip(axes, tests, strict=True):
        across, up = PLANES[test]
        for axis, (controller, of_tests) in zip(row, tracks.items(), strict=True):
            track = of_tests[test]
            desired, measured = (_tool_points(model, q) for q in (track.desired, track.position))
            axis.plot(desired[:, across], desired[:, up], color="tab:blue", lw=3.0, alpha=0.4)
            axis.plot(measured[:, across], measured[:, up], color=COLOURS[controller], lw=0.8)
            axis.set_title(
                f"{test}, {controller.removesuffix('_pd')}: {track.mean_squared_error:.1e}",
                fontsize="small",
            )
            axis.set_aspect("equal")
            axis.grid(alpha=0.3)
        row[0].set_ylabel(f"{AXES[up]} [m]")
    figure.suptitle(f"{title}: desired (blue) and measured, error [rad$^2$]")
    figure.savefig(path, dpi=110)


def draw_curves(path: Path, curves: Mapping[str, FloatArray], tests: tuple[str, ...]) -> None:
    """Draw errors (n_seeds, n_batches, n_tests) of each controller's model over the batches."""
    figure = Figure(figsize=(3.7 * len(tests), 3.2), layout="constrained")
    axes = figure.subplots(1, len(tests), sharey=True)
    for index, (axis, test) in enumerate(zip(axes, tests, strict=True)):
        for controller, of_seeds in curves.items():
            errors = of_seeds[:, :, index]
            batches = np.arange(1, errors.shape[1] + 1)
            colour, label = COLOURS[controller], controller.removesuffix("_pd")
            axis.plot(batches, np.median(errors, axis=0), "o-", ms=3, color=colour, label=label)
            axis.fill_between(
                batches, errors.min(axis=0), errors.max(axis=0), color=colour, alpha=0.2, lw=0.0
            )
        axis.set_yscale("log")
        axis.set_title(test)
        axis.set_xlabel("batches of 2,000 samples")
        axis.grid(alpha=0.3)
    axes[0].set_ylabel("normalised error of the torque")
    axes[-1].legend(fontsize="small")
    figure.suptitle("Error on motions that are never learned (median and range of the seeds)")
    figure.savefig(path, dpi=110)


def draw_shares(path: Path, tracks: Tracks, joints: tuple[str, ...], test: str) -> None:
    """Draw what feed-forward and feedback contribute, a row a joint and a column a controller."""
    size = (3.4 * len(tracks), 1.6 * len(joints))
    figure = Figure(figsize=size, layout="constrained")
    axes = figure.subplots(len(joints), len(tracks), sharex=True, sharey="row", squeeze=False)
    for column, (controller, of_tests) in enumerate(tracks.items()):
        track = of_tests[test]
        share = track.mean_pd_torque / float(np.mean(np.abs(track.torque)))
        axes[0, column].set_title(f"{controller}: PD {100 * share:.0f} %", fontsize="small")
        axes[-1, column].set_xlabel("time [s]")
        for j, axis in enumerate(axes[:, column]):
            axis.plot(track.time, track.feedforward[:, j], color="tab:green", lw=0.9)
            axis.plot(track.time, track.pd[:, j], color="tab:orange", lw=0.7)
            axis.grid(alpha=0.3)
    for axis, joint in zip(axes[:, 0], joints, strict=True):
        axis.set_ylabel(f"{joint} [Nm]")
    figure.suptitle(f"{test}: torque of feed-forward (green) and PD (orange)")
    figure.savefig(path, dpi=110)


def _tool_points(model: RigidBodyModel, positions: FloatArray) -> FloatArray:
    return np.array([model.tool_position(q) for q in positions])
