# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Recordings of the same work by a simulated arm: eights at three speeds, as they come."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from _simulated_motion import Arm, samples_of_track

from ilr_dynamics.arrays import FloatArray
from ilr_dynamics.control import RigidBodyFeedForward, track
from ilr_dynamics.recording import Samples
from ilr_dynamics.robot.tool_paths import figure_eight, training_periods

__all__ = ["work_recording"]

# Nobody commands the same speed twice: each is within this share of one of the training's.
SPEED_SPREAD = 0.05


def work_recording(
    arm: Arm, number: int, seconds: float, every: int, kept: Path | None = None
) -> Samples:
    """
    Record work that begins anywhere in an eight.

    Parameters
    ----------
    arm
    number
        Of the recording: with it the speed, and where in the eight it begins.
    seconds
        Its length, s.
    every
        One in so many of the samples of a recording is taken.
    kept
        File of an earlier run, or for later ones.
    """
    joints = arm.description.joint_names
    if kept is not None and kept.exists():
        stored = np.load(kept)
        return _samples(stored["time"], stored["X"], stored["Y"], joints)
    generator = np.random.default_rng([17, number])
    period = float(generator.choice(training_periods()))
    period *= 1.0 + SPEED_SPREAD * generator.uniform(-1.0, 1.0)
    path = figure_eight(period)
    motion = arm.joint_path(path)
    result = track(arm.plant, arm.controller(RigidBodyFeedForward(arm.model)), motion)
    samples = samples_of_track(arm, result)
    first = path.start_up + generator.uniform(0.0, period)
    chosen = np.flatnonzero((samples.time >= first) & (samples.time < first + seconds))[::every]
    time, X, Y = samples.time[chosen], samples.X[chosen], samples.Y[chosen]
    if kept is not None:
        np.savez(kept, time=time, X=X, Y=Y)
    return _samples(time, X, Y, joints)


def _samples(time: FloatArray, X: FloatArray, Y: FloatArray, joints: tuple[str, ...]) -> Samples:
    return Samples(time, X, Y, joints, False, {})
