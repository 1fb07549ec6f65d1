# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""From parameter values to the settings of the learner."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ilr_dynamics.learning import LearnerLimits, LearningSettings
from ilr_dynamics.nodes.parameter_table import check
from ilr_dynamics.nodes.parameters import INVERSE_DYNAMICS
from ilr_dynamics.recording import SampleSettings

__all__ = ["learner_limits", "learning_settings", "snapshot_folder"]


def learning_settings(values: Mapping[str, Any]) -> LearningSettings:
    """Build the learner's settings from values of all parameters of /inverse_dynamics.

    Those per joint may be None where nobody knows them: scales are then estimated from the
    recording, and limits are those of any arm.

    Raises
    ------
    InvalidParameterError
        If the node would refuse a value, or values do not fit each other.
    """
    check(values, INVERSE_DYNAMICS)
    return LearningSettings(
        joint_names=tuple(values["joints"]),
        driver_compensates_gravity=values["driver_compensates_gravity"],
        state_topic=values["learning.state_topic"],
        command_topic=values["learning.command_topic"] or None,
        model={
            "n_components": values["learning.n_components"],
            "random_state": values["learning.random_state"],
            "forgetting_factor": values["learning.forgetting_factor"],
            "input_scale": _scales(values, "position", "velocity", "acceleration"),
            "output_scale": _scales(values, "torque"),
        },
        samples=SampleSettings(
            sample_rate=values["learning.sample_rate"] or None,
            torque_limit=_list(values["limits.torque"]),
            velocity_limit=_list(values["supervision.velocity"]),
            # ROS 2 cannot tell the type of an empty list.
            continuous_joints=tuple(filter(None, values["learning.continuous_joints"])),
        ),
        directories=(*values["files.directories"], str(snapshot_folder(values))),
        robot=values["robot"] if values["learning.identify_dynamics"] else None,
        tool_frame=values["tool_frame"],
        effective_samples=values["learning.effective_samples"],
    )


def _scales(values: Mapping[str, Any], *kinds: str) -> list[float] | None:
    """Scales of each joint, one kind after the other."""
    scales = [values[f"learning.{kind}_scale"] for kind in kinds]
    return None if None in scales else [scale for of_kind in scales for scale in of_kind]


def _list(values: Sequence[float] | None) -> list[float] | None:
    """Return a list, which JSON can hold, of the array that ROS has."""
    return None if values is None else list(values)


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
