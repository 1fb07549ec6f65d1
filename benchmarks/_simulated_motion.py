# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""The simulated arms for benchmarks: controller and plant in lock-step, samples as recorded."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from ilr_dynamics.arrays import FloatArray
from ilr_dynamics.control import (
    FeedForward,
    Gains,
    JointLimits,
    JointPath,
    RigidBodyFeedForward,
    Supervision,
    TrackingController,
    TrackingResult,
    track,
)
from ilr_dynamics.recording import Recording, Samples, training_samples
from ilr_dynamics.robot.description import load_description
from ilr_dynamics.robot.plant import WamPlant
from ilr_dynamics.robot.plant_config import load_plant_config
from ilr_dynamics.robot.rigid_body import RigidBodyModel
from ilr_dynamics.robot.tool_paths import ToolPath, figure_eight, joint_path, training_periods

__all__ = ["Arm", "inverse_dynamics_samples", "recorded_samples", "samples_of_track"]

# The frozen gains of the tracking experiments, and those of config/wam7.yaml.
GAINS = {
    "wam4": Gains([40.0, 60.0, 25.0, 15.0], [3.0, 5.0, 1.5, 1.0]),
    "wam7": Gains([40.0, 60.0, 25.0, 15.0, 5.0, 5.0, 2.0], [3.0, 5.0, 1.5, 1.0, 0.2, 0.2, 0.04]),
}
# Of a joint's torque limit in a second; the wrist, as in config/wam7.yaml, turns friction round.
TORQUE_RATE = np.array([5.0] * 4 + [12.0, 12.0, 15.0])
KNOT_RATE = 50.0


class Arm:
    """
    A simulated arm with its models.

    Parameters
    ----------
    seed
        Of encoder and ripple phases and of the joint offset.
    name
        "wam4" or "wam7".
    """

    def __init__(self, seed: int, name: str = "wam4") -> None:
        self.description = load_description(name)
        self.model = RigidBodyModel(self.description)
        self.plant = WamPlant(self.description, load_plant_config(name), seed=seed)
        self._gains = GAINS[name]

    def controller(self, feedforward: FeedForward | None) -> TrackingController:
        """Return the low-gain PD controller with a feed-forward torque."""
        arm, n = self.description, self.description.n_joints
        limits = JointLimits(
            arm.joint_names,
            arm.position_lower,
            arm.position_upper,
            arm.velocity_limit,
            arm.torque_limit,
            torque_rate=TORQUE_RATE[:n] * arm.torque_limit,
        )
        supervision = Supervision(np.full(n, 0.2), np.full(n, 0.5), np.full(n, 3.0))
        return TrackingController(limits, self._gains, supervision, feedforward)

    def joint_path(self, path: ToolPath) -> JointPath:
        """Return the joint motion whose tool point follows a path."""
        return JointPath(*joint_path(path, self.model, rate=KNOT_RATE))


def recorded_samples(arm: Arm, controller: TrackingController, path: JointPath) -> Samples:
    """Track a path and make training samples of it as of a recording."""
    return samples_of_track(arm, track(arm.plant, controller, path))


def samples_of_track(arm: Arm, result: TrackingResult) -> Samples:
    """Make training samples of a track as of a recording."""
    recording = Recording(
        joint_names=arm.description.joint_names,
        stamp=np.round(1e9 * result.time).astype(np.int64),
        position=result.position,
        velocity=result.velocity,
        torque=result.torque,
        commanded=True,
        driver_compensates_gravity=False,
        rejected=Counter(),
    )
    return training_samples(recording)


def inverse_dynamics_samples(
    n_samples: int, seed: int, name: str = "wam4", periods: Sequence[float] | None = None
) -> tuple[FloatArray, FloatArray]:
    """
    Inputs [q, qd, qdd] and torques of figure-eights at several speeds, one after the other.

    Tracked by the analytic model and the low-gain PD controller; an equal share of the samples is
    of each speed, in the order of time, from when the motion has its full size. (What comes before
    is the same for all: each speed again begins in the same posture, with whatever friction held
    the arm there, and batches of it disagree about the torque.)

    Parameters
    ----------
    n_samples
        As many as each speed has, at most.
    seed
        Of the arm.
    name
        Of the arm.
    periods
        Time for one eight, s; by default all of the training.

    Returns
    -------
    X : (n_samples, 3 n_joints)
    Y : (n_samples, n_joints)
    """
    arm = Arm(seed, name)
    periods = training_periods() if periods is None else periods
    parts = []
    for period in periods:
        path = figure_eight(period)
        controller = arm.controller(RigidBodyFeedForward(arm.model))
        samples = recorded_samples(arm, controller, arm.joint_path(path))
        moving = np.flatnonzero(samples.time >= path.start_up)
        chosen = moving[: n_samples // len(periods)]
        parts.append((samples.X[chosen], samples.Y[chosen]))
    return np.concatenate([X for X, _ in parts]), np.concatenate([Y for _, Y in parts])
