# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Learning of a model from recordings, in a separate process."""

from __future__ import annotations

from ilr_dynamics.learning.learn import learn, read_samples
from ilr_dynamics.learning.plausibility import implausible_torques
from ilr_dynamics.learning.process import LearnerLimits, LearnerProcess
from ilr_dynamics.learning.protocol import (
    Event,
    Failed,
    Job,
    LoadJob,
    Progressed,
    SaveJob,
    UpdateJob,
)
from ilr_dynamics.learning.report import LearningReport
from ilr_dynamics.learning.settings import (
    LearningSettings,
    load_compatible_snapshot,
    snapshot_metadata,
)

__all__ = [
    "Event",
    "Failed",
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
    "load_compatible_snapshot",
    "read_samples",
    "snapshot_metadata",
]
