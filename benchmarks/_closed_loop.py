# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""
The tracking experiments with the simulated arm and the controller in lock-step.

A round tracks all training trajectories with the newest model, adds the data, and updates the
model; after the rounds the test trajectories are tracked.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np
from _simulated_motion import Arm, recorded_samples
from numpy.typing import NDArray

from ilr_dynamics.control import FeedForward, FeedForwardTorque, track
from ilr_dynamics.robot.tool_paths import figure_eight, tool_path, training_periods

__all__ = ["TEST_PATHS", "Learner", "LearnedTorque", "run_rounds", "track_tests"]

Array = NDArray[np.float64]

TEST_PATHS = ("T1", "T2", "T3")
N_ROUNDS = 3


class Learner(Protocol):
    """A model that learns in rounds."""

    def learn(self, X: Array, Y: Array) -> None:
        """Add samples [q, qd, qdd] (n, 3 n_joints) and torques (n, n_joints)."""

    def predict_one(self, x: Array) -> Array:
        """Torque (n_joints,) at one input."""


class LearnedTorque:
    """A learner's torque at the desired state as feed-forward, whatever its confidence."""

    def __init__(self, predict: Callable[[Array], Array]) -> None:
        self._predict = predict

    def __call__(self, reference) -> FeedForwardTorque:
        """Torque for the desired position, velocity and acceleration."""
        x = np.concatenate([reference.position, reference.velocity, reference.acceleration])
        torque = self._predict(x)
        return FeedForwardTorque(torque, np.zeros_like(torque))


def run_rounds(arm: Arm, learner: Learner, *, sample_every: int = 5) -> None:
    """Three rounds of recording all training trajectories and learning from them."""
    feedforward: FeedForward | None = None
    for _ in range(N_ROUNDS):
        parts = []
        for period in training_periods():
            path = arm.joint_path(figure_eight(period))
            samples = recorded_samples(arm, arm.controller(feedforward), path)
            parts.append((samples.X[::sample_every], samples.Y[::sample_every]))
        learner.learn(np.concatenate([X for X, _ in parts]), np.concatenate([Y for _, Y in parts]))
        feedforward = LearnedTorque(learner.predict_one)


def track_tests(arm: Arm, feedforward: FeedForward | None) -> dict[str, tuple[float, float]]:
    """Mean squared error (rad^2) and mean feedback torque (Nm) on each test trajectory."""
    results = {}
    for name in TEST_PATHS:
        result = track(arm.plant, arm.controller(feedforward), arm.joint_path(tool_path(name)))
        results[name] = (result.mean_squared_error, result.mean_pd_torque)
    return results
