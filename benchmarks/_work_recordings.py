# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Recordings of the same work by a simulated arm: eights at three speeds, as they come."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from _simulated_motion import Arm, samples_of_track

from ilr_dynamics.control import RigidBodyFeedForward, track
from ilr_dynamics.recording import Samples
from ilr_dynamics.robot.tool_paths import figure_eight, training_periods

__all__ = ["SECONDS", "work_recordings"]

# Nobody commands the same speed twice: each is within this share of one of the training's.
SPEED_SPREAD = 0.02
# Length of a recording, s, and of the pause between the two that are made of one track.
SECONDS, PAUSE = 7.0, 0.5


def work_recordings(arm: Arm, number: int, every: int, kept: Path) -> list[Samples]:
    """
    Record work twice; each time it begins anywhere in an eight.

    Parameters
    ----------
    arm
    number
        Of the track: with it the speed, and where in the eight the recordings begin.
    every
        One in so many of the samples is taken.
    kept
        Folder for what was recorded, or is there from an earlier run.
    """
    names = arm.description.joint_names
    file = kept / f"track_{number}.npz"
    generator = np.random.default_rng([17, number])
    period = float(generator.choice(training_periods()))
    period *= 1.0 + SPEED_SPREAD * generator.uniform(-1.0, 1.0)
    path = figure_eight(period)
    first = path.start_up + generator.uniform(0.0, period)
    if not file.exists():
        controller = arm.controller(RigidBodyFeedForward(arm.model))
        samples = samples_of_track(arm, track(arm.plant, controller, arm.joint_path(path)))
        np.savez(file, time=samples.time, X=samples.X, Y=samples.Y)
    stored = np.load(file)
    recordings = []
    for start in (first, first + SECONDS + PAUSE):
        within = (stored["time"] >= start) & (stored["time"] < start + SECONDS)
        rows = np.flatnonzero(within)[::every]
        parts = (stored[name][rows] for name in ("time", "X", "Y"))
        recordings.append(Samples(*parts, names, False, {}))
    return recordings
