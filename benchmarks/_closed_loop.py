# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Recording and tracking with the simulated arm and the controller in lock-step."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from _learners import LearnedTorque
from _plant_inverse import PlantInverse
from _simulated_motion import Arm, recorded_samples

from ilr_dynamics.arrays import FloatArray
from ilr_dynamics.control import (
    FeedForward,
    JointPath,
    RigidBodyFeedForward,
    TrackingResult,
    track,
)
from ilr_dynamics.robot.tool_paths import figure_eight, tool_path, training_periods

__all__ = [
    "N_ROUNDS",
    "TEST_PATHS",
    "given_feedforward",
    "joined",
    "record",
    "track_tests",
    "training_paths",
]

TEST_PATHS = ("T1", "T2", "T3")
N_ROUNDS = 3


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
) -> tuple[FloatArray, FloatArray]:
    """Inputs (m, 3 n) and torques (m, n) along a path, of one cycle in `every`."""
    samples = recorded_samples(arm, arm.controller(feedforward), path)
    return samples.X[::every], samples.Y[::every]


def joined(parts: Sequence[tuple[FloatArray, FloatArray]]) -> tuple[FloatArray, FloatArray]:
    """Samples of several recordings, one after the other."""
    return np.concatenate([X for X, _ in parts]), np.concatenate([Y for _, Y in parts])


def track_tests(arm: Arm, feedforward: FeedForward | None) -> dict[str, TrackingResult]:
    """Track each test trajectory."""
    return {
        name: track(arm.plant, arm.controller(feedforward), arm.joint_path(tool_path(name)))
        for name in TEST_PATHS
    }
