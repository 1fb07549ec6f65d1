# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Learning from recordings, in a process of its own."""

from __future__ import annotations

from .events import Event, Failed, Finished, Progressed
from .jobs import Job, LoadJob, SaveJob, UpdateJob
from .learn import LearningReport, learn, learn_from_recording, read_samples
from .plausibility import implausible_torques
from .process import LearnerLimits, LearnerProcess
from .settings import LearningSettings, load_compatible_snapshot, snapshot_metadata

__all__ = [
    "Event",
    "Failed",
    "Finished",
    "Job",
    "LearnerLimits",
    "LearnerProcess",
    "LearningReport",
    "LearningSettings",
    "LoadJob",
    "Progressed",
    "SaveJob",
    "UpdateJob",
    "implausible_torques",
    "learn",
    "learn_from_recording",
    "load_compatible_snapshot",
    "read_samples",
    "snapshot_metadata",
]
