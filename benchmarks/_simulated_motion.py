# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""The simulated arm for benchmarks: controller and plant in lock-step, samples as recorded."""

from __future__ import annotations

from collections import Counter

import numpy as np
from numpy.typing import NDArray

from ilr_dynamics.control import (
    FeedForward,
    Gains,
    JointLimits,
    JointPath,
    RigidBodyFeedForward,
    Supervision,
    TrackingController,
    track,
)
from ilr_dynamics.recording import Recording, Samples, training_samples
from ilr_dynamics.robot.description import load_description
from ilr_dynamics.robot.plant import WamPlant
from ilr_dynamics.robot.plant_config import load_plant_config
from ilr_dynamics.robot.rigid_body import RigidBodyModel
from ilr_dynamics.robot.tool_paths import ToolPath, figure_eight, joint_path, training_periods

__all__ = ["Arm", "inverse_dynamics_samples", "recorded_samples"]

Array = NDArray[np.float64]

# The frozen gains of the tracking experiments.
GAINS = Gains([40.0, 60.0, 25.0, 15.0], [3.0, 5.0, 1.5, 1.0])
KNOT_RATE = 50.0


class Arm:
    """
    The simulated four-joint arm with its models.

    Parameters
    ----------
    seed
        Of encoder and ripple phases and of the joint offset.
    """

    def __init__(self, seed: int) -> None:
        self.description = load_description("wam4")
        self.model = RigidBodyModel(self.description)
        self.plant = WamPlant(self.description, load_plant_config("wam4"), seed=seed)

    def controller(self, feedforward: FeedForward | None) -> TrackingController:
        """Return the low-gain PD controller with a feed-forward torque."""
        arm = self.description
        limits = JointLimits(
            arm.joint_names,
            arm.position_lower,
            arm.position_upper,
            arm.velocity_limit,
            arm.torque_limit,
            torque_rate=arm.torque_limit / 0.2,
        )
        supervision = Supervision(np.full(4, 0.2), np.full(4, 0.5), np.full(4, 3.0))
        return TrackingController(limits, GAINS, supervision, feedforward)

    def joint_path(self, path: ToolPath) -> JointPath:
        """Return the joint motion whose tool point follows a path."""
        return JointPath(*joint_path(path, self.model, rate=KNOT_RATE))


def recorded_samples(arm: Arm, controller: TrackingController, path: JointPath) -> Samples:
    """Track a path and make training samples of it as of a recording."""
    result = track(arm.plant, controller, path)
    recording = Recording(
        joint_names=controller.limits.joints,
        stamp=np.round(1e9 * result.time).astype(np.int64),
        position=result.position,
        velocity=result.velocity,
        torque=result.torque,
        commanded=True,
        driver_compensates_gravity=False,
        rejected=Counter(),
    )
    return training_samples(recording)


def inverse_dynamics_samples(n_samples: int, seed: int) -> tuple[Array, Array]:
    """
    Inputs [q, qd, qdd] and torques of figure-eights at all training speeds, one after the other.

    Tracked by the analytic model and the low-gain PD controller; an equal share of the samples is
    of each speed, in the order of time, from when the motion has its full size. (What comes before
    is the same for all: each speed again begins in the same posture, with whatever friction held
    the arm there, and batches of it disagree about the torque.)

    Returns
    -------
    X : (n_samples, 12)
    Y : (n_samples, 4)
    """
    arm = Arm(seed)
    periods = training_periods()
    parts = []
    for period in periods:
        path = figure_eight(period)
        controller = arm.controller(RigidBodyFeedForward(arm.model))
        samples = recorded_samples(arm, controller, arm.joint_path(path))
        moving = np.flatnonzero(samples.time >= path.start_up)
        chosen = moving[: n_samples // len(periods)]
        parts.append((samples.X[chosen], samples.Y[chosen]))
    return np.concatenate([X for X, _ in parts]), np.concatenate([Y for _, Y in parts])
