# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""From parameter values to the settings of the learner."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ilr_dynamics.exceptions import InvalidParameterError
from ilr_dynamics.learning import LearnerLimits, LearningSettings
from ilr_dynamics.recording import SampleSettings

__all__ = ["learner_limits", "learning_settings", "snapshot_folder"]


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
            "forgetting_factor": values["learning.forgetting_factor"],
            "input_scale": [
                *_scales(values, "position"),
                *_scales(values, "velocity"),
                *_scales(values, "acceleration"),
            ],
            "output_scale": _scales(values, "torque"),
        },
        samples=SampleSettings(
            sample_rate=values["learning.sample_rate"] or None,
            torque_limit=list(values["limits.torque"]),
            velocity_limit=list(values["supervision.velocity"]),
            # ROS 2 cannot tell the type of an empty list.
            continuous_joints=tuple(filter(None, values["learning.continuous_joints"])),
        ),
        directories=(*values["files.directories"], str(snapshot_folder(values))),
        robot=values["robot"] if values["learning.identify_dynamics"] else None,
        tool_frame=values["tool_frame"],
        effective_samples=values["learning.effective_samples"],
    )


def _scales(values: Mapping[str, Any], kind: str) -> list[float]:
    name, n_joints = f"learning.{kind}_scale", len(values["joints"])
    scales = list(values[name] or ())
    if len(scales) != n_joints or not all(0.0 < scale < math.inf for scale in scales):
        raise InvalidParameterError(
            f"parameter {name} is {scales}: expected {n_joints} positive numbers, one a joint"
        )
    return scales


def learner_limits(values: Mapping[str, Any]) -> LearnerLimits:
    """Return what the learner process may take."""
    megabytes = values["learning.memory_limit"]
    return LearnerLimits(values["learning.timeout"], 1e6 * megabytes if megabytes else math.inf)


def snapshot_folder(values: Mapping[str, Any]) -> Path:
    """Return the folder for snapshots without a place of their own."""
    named = values["learning.snapshot_directory"]
    if named:
        return Path(named).expanduser()
    return Path(os.environ.get("ROS_HOME", "~/.ros")).expanduser() / "ilr_dynamics"
