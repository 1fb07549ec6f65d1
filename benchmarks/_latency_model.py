# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""A large model of the simulated arm, and a recording to update it with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from _simulated_motion import Arm, inverse_dynamics_samples

from ilr_dynamics.control import RigidBodyFeedForward, track
from ilr_dynamics.learning import LearningSettings, learn
from ilr_dynamics.nodes.settings import learning_settings
from ilr_dynamics.recording import RecordingWriter, Samples
from ilr_dynamics.robot.tool_paths import figure_eight

__all__ = ["N_OCCUPIED", "make_snapshot", "write_recording"]

# As large as ILR makes them of a real arm's recording (benchmark real_data).
N_OCCUPIED = 1350
N_SAMPLES = 20000
UPDATE_PERIOD, UPDATE_POINTS = 3.8, 401
# Narrow components, many that are expected and few iterations, in which most keep their samples.
CROWDED = {
    "n_components": 1750,
    "input_spread": 0.05,
    "concentration": 1000.0,
    "max_iterations": 4,
}


def make_snapshot(path: Path, parameters: Mapping[str, Any]) -> int:
    """
    Learn a model with at least `N_OCCUPIED` occupied components.

    Parameters
    ----------
    path
        Where to save it.
    parameters
        Of /inverse_dynamics.

    Returns
    -------
    int
        Number of its components that hold samples.
    """
    settings = learning_settings(parameters)
    crowded: LearningSettings = replace(settings, model={**settings.model, **CROWDED})
    X, Y = inverse_dynamics_samples(N_SAMPLES, 0)
    samples = Samples(np.arange(len(X)) * 0.01, X, Y, settings.joint_names, False, {})
    model, _ = learn(samples, crowded)
    if model.n_active_ < N_OCCUPIED:
        raise RuntimeError(
            f"the model has {model.n_active_} occupied components, expected {N_OCCUPIED}"
        )
    model.save(path)
    return int(model.n_active_)


def write_recording(path: Path) -> None:
    """Write a bag of eight seconds of a training eight."""
    arm = Arm(0)
    eight = arm.joint_path(figure_eight(UPDATE_PERIOD))
    part = type(eight)(*(field[:UPDATE_POINTS] for field in (eight.times, *eight.fields)))
    result = track(arm.plant, arm.controller(RigidBodyFeedForward(arm.model)), part)
    joints = arm.description.joint_names
    rows = zip(result.time, result.position, result.velocity, result.torque, strict=True)
    with RecordingWriter(path) as writer:
        for time, position, velocity, torque in rows:
            stamp = round(1e9 * (1.0 + time))
            writer.write_joint_state("/joint_states", stamp, joints, position, velocity)
            writer.write_joint_state("/joint_torque_command", stamp, joints, effort=torque)
