# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Recording and tracking with the simulated arm and the controller in lock-step."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from _learners import LearnedTorque, Learner
from _simulated_motion import Arm, recorded_samples
from numpy.typing import NDArray

from ilr_dynamics.control import (
    FeedForward,
    JointPath,
    RigidBodyFeedForward,
    TrackingResult,
    track,
)
from ilr_dynamics.exceptions import TrajectoryError
from ilr_dynamics.robot.plant_inverse import PlantInverse
from ilr_dynamics.robot.tool_paths import figure_eight, tool_path, training_periods

__all__ = [
    "N_ROUNDS",
    "TEST_PATHS",
    "Fault",
    "Tracked",
    "given_feedforward",
    "joined",
    "outcome",
    "record",
    "run_rounds",
    "table_rows",
    "track_tests",
    "training_paths",
]

Array = NDArray[np.float64]

TEST_PATHS = ("T1", "T2", "T3")
N_ROUNDS = 3


@dataclass(frozen=True)
class Tracked:
    """
    A controller on the test trajectories.

    Parameters
    ----------
    error : (n_paths,)
        Mean squared error, rad^2.
    pd_torque : (n_paths,)
        Mean magnitude of the feedback torque, Nm.
    """

    error: Array
    pd_torque: Array


@dataclass(frozen=True)
class Fault:
    """What ended a controller's motion."""

    reason: str


def given_feedforward(name: str, arm: Arm) -> FeedForward | None:
    """Return the feed-forward of a controller that learns nothing."""
    if name == "analytic_pd":
        return RigidBodyFeedForward(arm.model)
    if name == "perfect_pd":
        inverse = PlantInverse(arm.plant)
        return LearnedTorque(lambda x: inverse(*np.split(x, 3)))
    return None


def training_paths(arm: Arm) -> list[JointPath]:
    """Eights at all speeds that are recorded."""
    return [arm.joint_path(figure_eight(period)) for period in training_periods()]


def record(
    arm: Arm, feedforward: FeedForward | None, path: JointPath, *, every: int
) -> tuple[Array, Array]:
    """Inputs (m, 3 n) and torques (m, n) along a path, of one cycle in `every`."""
    samples = recorded_samples(arm, arm.controller(feedforward), path)
    return samples.X[::every], samples.Y[::every]


def joined(parts: Sequence[tuple[Array, Array]]) -> tuple[Array, Array]:
    """Samples of several recordings, one after the other."""
    return np.concatenate([X for X, _ in parts]), np.concatenate([Y for _, Y in parts])


def run_rounds(arm: Arm, learner: Learner, *, every: int = 5) -> None:
    """Three rounds of recording all training trajectories and learning from them."""
    feedforward: FeedForward | None = None
    for _ in range(N_ROUNDS):
        parts = [record(arm, feedforward, path, every=every) for path in training_paths(arm)]
        learner.learn(*joined(parts))
        feedforward = LearnedTorque(learner.predict_one)


def track_tests(arm: Arm, feedforward: FeedForward | None) -> dict[str, TrackingResult]:
    """Track each test trajectory."""
    return {
        name: track(arm.plant, arm.controller(feedforward), arm.joint_path(tool_path(name)))
        for name in TEST_PATHS
    }


def outcome(make_results: Callable[[], dict[str, TrackingResult]], run: str) -> Tracked | Fault:
    """
    Track the test trajectories, or find that a controller cannot.

    Parameters
    ----------
    make_results
        Does it (`track_tests`), and what has to happen before.
    run
        What this is, for the reader of a fault.
    """
    try:
        results = make_results().values()
    except TrajectoryError as error:
        return Fault(f"{run}: {error}")
    return Tracked(
        np.array([result.mean_squared_error for result in results]),
        np.array([result.mean_pd_torque for result in results]),
    )


def table_rows(
    name: str, outcomes: Sequence[Tracked | Fault]
) -> tuple[list[str], dict[str, dict[str, float]] | None]:
    """
    Rows of a table, and medians by path, of a controller's runs.

    A controller that ends in a fault once has no figures.
    """
    faults = [result for result in outcomes if isinstance(result, Fault)]
    if faults:
        return [f"{name:44}fault: {fault.reason}" for fault in faults], None
    errors = np.array([result.error for result in outcomes])
    torques = np.array([result.pd_torque for result in outcomes])
    error, torque = np.median(errors, axis=0), np.median(torques, axis=0)
    cells = (f"{e:.2e}, {t:.2f}" for e, t in zip(error, torque, strict=True))
    rows = [f"{name:44}" + "".join(f"{cell:>26}" for cell in cells)]
    if len(outcomes) > 1:
        ranges = zip(np.min(errors, axis=0), np.max(errors, axis=0), strict=True)
        cells = (f"({low:.2e} to {high:.2e})" for low, high in ranges)
        rows.append(f"{'':44}" + "".join(f"{cell:>26}" for cell in cells))
    return rows, {
        path: {"mse": float(f"{e:.4g}"), "pd_torque": float(f"{t:.4g}")}
        for path, e, t in zip(TEST_PATHS, error, torque, strict=True)
    }
