# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Recordings and updates of the adaptation benchmark: bags, and the learner's jobs on them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from _learners import LearnedTorque
from _simulated_motion import Arm

from ilr_dynamics.control import FeedForward, JointPath, TrackingResult, track
from ilr_dynamics.exceptions import LearnerError, TrajectoryError
from ilr_dynamics.learning import LearningSettings, UpdateJob
from ilr_dynamics.learning.learn import ignore_progress
from ilr_dynamics.learning.report import LearningReport
from ilr_dynamics.learning.worker import run_job
from ilr_dynamics.recording.writer import RecordingWriter
from ilr_dynamics.regression import load_snapshot
from ilr_dynamics.robot.tool_paths import tool_path

__all__ = ["feedforward_of", "never_forgetting", "record_bag", "tracking_error", "update"]

# Time between two motions in one recording, s: the arm is somewhere else then.
PAUSE = 2.0


def record_bag(
    folder: Path,
    arm: Arm,
    feedforward: FeedForward | None,
    paths: Sequence[JointPath],
    seconds: float = math.inf,
) -> None:
    """
    Track paths one after the other, and write one recording of all that does not exist yet.

    Parameters
    ----------
    folder
        The recording.
    arm, feedforward, paths
        What is tracked by what.
    seconds
        Time after which no path is recorded any more, s.
    """
    if folder.exists():
        return
    partial = folder.with_name(folder.name + "_part")
    with RecordingWriter(partial) as writer:
        start = 1.0
        for path in paths:
            result = track(arm.plant, arm.controller(feedforward), path)
            _write(writer, arm, result, start, seconds)
            start += float(result.time[-1]) + PAUSE
    partial.rename(folder)


def _write(
    writer: RecordingWriter, arm: Arm, result: TrackingResult, start: float, seconds: float
) -> None:
    names = arm.description.joint_names
    recorded = result.time[result.time < seconds]
    stamps = np.rint(1e9 * (start + recorded)).astype(np.int64)
    rows = zip(stamps.tolist(), result.position, result.velocity, result.torque, strict=False)
    for stamp, position, velocity, torque in rows:
        writer.write_joint_state("/joint_states", stamp, names, position, velocity)
        writer.write_joint_state("/joint_torque_command", stamp, names, effort=torque)


def update(
    recordings: Path, settings: LearningSettings, known: Path | None, target: Path
) -> LearningReport | None:
    """
    Let the learner's job learn recordings on top of a model; None if the target exists already.

    Parameters
    ----------
    recordings
        A recording, or a folder of them.
    settings
        Those of the node.
    known
        Snapshot of the model to update; None for a new one.
    target
        Snapshot of the new model.
    """
    if target.exists():
        return None
    folder = target.parent
    job = UpdateJob(
        bag_uri=str(recordings),
        directory=str(folder),
        settings=replace(settings, directories=None),
        snapshot=None if known is None else str(known),
        snapshot_uri=str(target),
    )
    report = run_job(job, ignore_progress)
    if report.refusal:
        raise LearnerError(f"{recordings}: {report.refusal}")
    for left in (report.base, report.predictor):
        Path(left).unlink()
    return report


def never_forgetting(settings: LearningSettings) -> LearningSettings:
    """Return the node's settings with learning.adapt: false."""
    return replace(settings, model={**settings.model, "forgetting_factor": 1.0})


def feedforward_of(snapshot: Path) -> FeedForward:
    """Return the expected torque of a model as feed-forward."""
    predictor = load_snapshot(snapshot).predictor()
    return LearnedTorque(lambda x: predictor(x)[0])


def tracking_error(arm: Arm, feedforward: FeedForward | None) -> float | None:
    """Mean squared error on T1, rad^2; None if a fault ends it."""
    path = arm.joint_path(tool_path("T1"))
    try:
        return track(arm.plant, arm.controller(feedforward), path).mean_squared_error
    except TrajectoryError:
        return None
