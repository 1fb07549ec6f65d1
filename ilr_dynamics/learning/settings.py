# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Settings of learning: arm, recordings and model; compatibility of snapshots with them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, Self, TypeVar

from ilr_dynamics.exceptions import InvalidParameterError, SnapshotError
from ilr_dynamics.file_access import resolve_allowed
from ilr_dynamics.learning.learned_recording import learned_recordings
from ilr_dynamics.recording import BagLimits, SampleSettings
from ilr_dynamics.regression import load_snapshot
from ilr_dynamics.regression.mixture_regressor import MixtureRegressor
from ilr_dynamics.robot.description import STANDING, RobotDescription, load_description

__all__ = [
    "BEFORE",
    "ROBOT",
    "UNITS",
    "LearningSettings",
    "load_compatible_snapshot",
    "snapshot_metadata",
]

UNITS = {"position": "rad", "velocity": "rad/s", "acceleration": "rad/s^2", "torque": "Nm"}

ROBOT = "robot"
"""What the metadata call the package's arm or the URDF that a model was learned with, if any."""

BEFORE = {"gravity": list(STANDING)}
"""Metadata that snapshots of earlier releases lack."""

# Longest part of a file's content that an error message repeats, in characters.
MAX_SHOWN = 200

T = TypeVar("T")


@dataclass(frozen=True)
class LearningSettings:
    """
    Settings of the arm, its recordings and the model that learns from them.

    Parameters
    ----------
    joint_names : tuple of str
        Joints of the arm, without prefix, in the order of the model's columns.
    driver_compensates_gravity : bool
        Whether the driver adds the gravity torque to what it is sent.
    state_topic : str
        Topic of the measured joint states in recordings; without a leading slash it is in the
        arm's namespace.
    command_topic : str or None
        Topic of the commanded torques in recordings (`read_recording`), likewise.
    model : mapping
        Parameters of `ILR`.
    samples : SampleSettings
        Smoothing, selection and thinning of samples.
    limits : BagLimits
        Largest size of a recording.
    robot : str or None
        Name of an arm of the package, or path of a URDF file. Its dynamics are identified along
        with the local models and predict where these have no data. None: there the model
        predicts with its prior uncertainty.
    gravity : tuple of float
        Gravity in the axes of the arm's base, m/s^2 (`load_description`).
    tool_frame : str
        Link of the URDF whose origin is the tool point; empty: found by `load_description`.
    effective_samples : bool
        Whether samples are weighted by their information (`recording_weights`): a minute of
        standing still counts as one sample, and without identified dynamics a sample in which
        a joint sticks counts little.
    directories : tuple of str or None
        Allowed directories of recordings and snapshots that requests name (`resolve_allowed`);
        None: any.
    namespace : str
        ROS namespace of the arm's topics, where a recording does not say another.
    prefix : str
        What the joints' names begin with in messages, where a recording does not say another: of
        two arms alike each learns from recordings of both.
    controller_state_topic : str or None
        Topic of the controller's reports in recordings, as `state_topic`: what they say was
        guided by hand is not learned from.
    """

    joint_names: tuple[str, ...]
    driver_compensates_gravity: bool = False
    state_topic: str = "/joint_states"
    command_topic: str | None = "/joint_torque_command"
    model: Mapping[str, Any] = field(default_factory=dict)
    samples: SampleSettings = SampleSettings()
    limits: BagLimits = BagLimits()
    robot: str | None = None
    tool_frame: str = ""
    gravity: tuple[float, ...] = STANDING
    effective_samples: bool = True
    directories: tuple[str, ...] | None = None
    namespace: str = "/"
    prefix: str = ""
    controller_state_topic: str | None = "/inverse_dynamics/controller_state"

    def __post_init__(self) -> None:
        """Check names and directories."""
        names = self.joint_names
        named = isinstance(names, tuple) and all(isinstance(name, str) for name in names)
        if not named or not names or len(set(names)) != len(names):
            raise InvalidParameterError(
                f"joint_names are {names!r}; expected one or more different names"
            )
        if not isinstance(self.driver_compensates_gravity, bool):
            raise InvalidParameterError(
                f"driver_compensates_gravity is {self.driver_compensates_gravity!r}; "
                "expected true or false"
            )
        if not _is_vector(self.gravity):
            raise InvalidParameterError(
                f"gravity is {self.gravity!r}; expected three numbers, in m/s^2"
            )
        unknown = [name for name in self.samples.continuous_joints if name not in names]
        if unknown:
            raise InvalidParameterError(
                f"continuous_joints has {', '.join(unknown)}; expected some of {', '.join(names)}"
            )
        folders = self.directories
        if folders is not None and not (
            isinstance(folders, tuple) and all(isinstance(folder, str) for folder in folders)
        ):
            raise InvalidParameterError(f"directories are {folders!r}; expected names of folders")

    def arm(self) -> RobotDescription:
        """
        Load the description of the `robot`.

        Raises
        ------
        RobotDescriptionError
            If it cannot be loaded (`load_description`).
        """
        assert self.robot is not None
        return load_description(self.robot, self.tool_frame, self.gravity)

    def to_json(self) -> dict[str, Any]:
        """Return the settings as values that JSON can represent."""
        return asdict(self)

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Self:
        """
        Make settings from the values of `to_json`.

        Parameters
        ----------
        values : mapping
            Settings by name, as decoded from JSON.

        Returns
        -------
        LearningSettings

        Raises
        ------
        InvalidParameterError
            If a setting is unknown, missing or of the wrong type.
        """
        values = dict(values)
        for name in ("joint_names", "gravity", "directories"):
            if isinstance(values.get(name), list):
                values[name] = tuple(values[name])
        samples = dict(values.get("samples", {}))
        if isinstance(samples.get("continuous_joints"), list):
            samples["continuous_joints"] = tuple(samples["continuous_joints"])
        values["samples"] = from_fields(SampleSettings, samples)
        values["limits"] = from_fields(BagLimits, values.get("limits", {}))
        return from_fields(cls, values)


def _is_vector(value: object) -> bool:
    """Whether a value is three finite numbers."""
    return (
        isinstance(value, tuple)
        and len(value) == 3
        and all(type(entry) in (int, float) and math.isfinite(entry) for entry in value)
    )


def from_fields(kind: type[T], values: Mapping[str, Any]) -> T:
    """
    Make a dataclass from the values of its fields.

    Parameters
    ----------
    kind : type
        Dataclass to make.
    values : mapping
        Values by the names of the fields.

    Raises
    ------
    InvalidParameterError
        If a field is unknown or missing.
    """
    known = [entry.name for entry in fields(kind)]  # type: ignore[arg-type]
    unknown = [name for name in values if name not in known]
    if unknown:
        raise InvalidParameterError(
            f"unknown {kind.__name__} {', '.join(unknown)}; expected {', '.join(known)}"
        )
    try:
        return kind(**values)
    except TypeError as error:
        raise InvalidParameterError(f"incomplete {kind.__name__}: {error}") from error


def snapshot_metadata(settings: LearningSettings, recordings: list[str]) -> dict[str, Any]:
    """
    Return the metadata of a snapshot: the arm it was learned for and its recordings.

    Parameters
    ----------
    settings : LearningSettings
        Settings of the arm.
    recordings : list of str
        URIs of all recordings the model has learned from.

    Returns
    -------
    dict
        Values for `MixtureRegressor.save`.
    """
    return {
        "joint_names": list(settings.joint_names),
        "driver_compensates_gravity": settings.driver_compensates_gravity,
        "gravity": list(settings.gravity),
        "units": UNITS,
        ROBOT: settings.robot,
        "recordings": recordings,
    }


def load_compatible_snapshot(path: str | Path, settings: LearningSettings) -> MixtureRegressor:
    """
    Load a snapshot and check that it belongs to this arm.

    Parameters
    ----------
    path : str or Path
        Snapshot file.
    settings : LearningSettings
        Settings of the arm.

    Returns
    -------
    MixtureRegressor

    Raises
    ------
    SnapshotError
        If the file cannot be read, or the model is for other joints, another gravity or the
        other setting of its compensation, in other units or of another size.
    FileAccessError
        If the path is not valid.
    """
    if not str(path).strip():
        raise SnapshotError("the snapshot has no URI; expected a .npz file")
    path = resolve_allowed(path, None)
    model = load_snapshot(path)
    for name, expected in snapshot_metadata(settings, []).items():
        found = model.metadata_.get(name, BEFORE.get(name))
        if name not in ("recordings", ROBOT) and found != expected:
            raise SnapshotError(
                f"the snapshot {path} is for {name} = {str(found)[:MAX_SHOWN]}; "
                f"expected {expected}"
            )
    recordings = model.metadata_.get("recordings", [])
    if not isinstance(recordings, list) or not all(isinstance(uri, str) for uri in recordings):
        raise SnapshotError(
            f"the snapshot {path} was learned from {str(recordings)[:MAX_SHOWN]}; expected URIs"
        )
    try:
        learned_recordings(model.metadata_)
    except ValueError as error:
        raise SnapshotError(f"the snapshot {path} cannot be used: {error}") from error
    n_joints = len(settings.joint_names)
    if (model.n_features_in_, model.n_outputs_) != (3 * n_joints, n_joints):
        raise SnapshotError(
            f"the snapshot {path} maps {model.n_features_in_} inputs to {model.n_outputs_} "
            f"outputs; expected {3 * n_joints} to {n_joints} for {n_joints} joints"
        )
    return model
