# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""From parameter values to the settings of the learner."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ilr_dynamics.learning import LearningSettings
from ilr_dynamics.recording import SampleSettings

__all__ = ["learning_settings", "snapshot_folder"]


def learning_settings(values: Mapping[str, Any]) -> LearningSettings:
    """Build the learner's settings from values of all parameters.

    Raises
    ------
    InvalidParameterError
        If values do not fit each other.
    """
    return LearningSettings(
        joint_names=tuple(values["joints"]),
        driver_compensates_gravity=values["driver_compensates_gravity"],
        state_topic=values["learning.state_topic"],
        command_topic=values["learning.command_topic"] or None,
        model={
            "n_components": values["learning.n_components"],
            "random_state": values["learning.random_state"],
        },
        samples=SampleSettings(
            sample_rate=values["learning.sample_rate"] or None,
            torque_limit=list(values["limits.torque"]),
        ),
    )


def snapshot_folder(values: Mapping[str, Any]) -> Path:
    """Return the folder for snapshots without a place of their own."""
    named = values["learning.snapshot_directory"]
    if named:
        return Path(named).expanduser()
    return Path(os.environ.get("ROS_HOME", "~/.ros")).expanduser() / "ilr_dynamics"
