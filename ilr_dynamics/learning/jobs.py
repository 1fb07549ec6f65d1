# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Jobs of a learner process, each encoded as one line of JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from ilr_dynamics.exceptions import LearnerError
from ilr_dynamics.learning.settings import LearningSettings, from_fields

__all__ = ["Job", "LoadJob", "SaveJob", "UpdateJob", "decode_job", "encode_job"]


@dataclass(frozen=True)
class UpdateJob:
    """
    Job to update a model, or to learn a new one, from a recording.

    Attributes
    ----------
    bag_uri : str
        Folder or file of a rosbag2.
    directory : str
        Folder for the predictor file, and for the snapshot if it has no path of its own.
    settings : LearningSettings
        Settings of the arm and the model.
    snapshot : str or None
        Snapshot of the model to update; None for a new model.
    snapshot_uri : str
        Path of the new snapshot; empty: in `directory`.
    accept_worse : bool
        Whether to accept the new model even if it is worse on the newest samples.
    """

    bag_uri: str
    directory: str
    settings: LearningSettings
    snapshot: str | None = None
    snapshot_uri: str = ""
    accept_worse: bool = False


@dataclass(frozen=True)
class LoadJob:
    """
    Job to check a snapshot and to write its predictor file.

    Attributes
    ----------
    snapshot_uri : str
        Path of the snapshot.
    directory : str
        Folder for the predictor file and for a private copy of the snapshot.
    settings : LearningSettings
        Settings of the arm.
    """

    snapshot_uri: str
    directory: str
    settings: LearningSettings


@dataclass(frozen=True)
class SaveJob:
    """
    Job to save a snapshot under another path.

    Attributes
    ----------
    snapshot : str
        Snapshot of the present model.
    snapshot_uri : str
        Path to save it to.
    overwrite : bool
        Whether an existing file may be replaced.
    settings : LearningSettings
        Settings of the arm.
    """

    snapshot: str
    snapshot_uri: str
    settings: LearningSettings
    overwrite: bool = False


Job = UpdateJob | LoadJob | SaveJob

KINDS: dict[str, type[Job]] = {"update": UpdateJob, "load": LoadJob, "save": SaveJob}


def encode_job(job: Job) -> str:
    """Encode a job as one line of JSON."""
    (kind,) = (name for name, cls in KINDS.items() if isinstance(job, cls))
    return json.dumps({"kind": kind, **asdict(job)})


def decode_job(line: str) -> Job:
    """
    Decode a job from one line of JSON.

    Parameters
    ----------
    line : str
        Line to decode.

    Returns
    -------
    Job

    Raises
    ------
    LearnerError
        If the line is not a job.
    InvalidParameterError
        If a value of the job is unknown, missing or out of range.
    """
    try:
        values = json.loads(line)
    except ValueError as error:
        raise LearnerError(f"the job {line[:80]!r} is not JSON ({error})") from error
    arguments: dict[str, Any] = dict(values) if isinstance(values, Mapping) else {}
    kind = KINDS.get(str(arguments.pop("kind", None)))
    if kind is None:
        raise LearnerError(
            f"the job {line[:80]!r} is of no known kind; expected {', '.join(KINDS)}"
        )
    settings = arguments.get("settings")
    if not isinstance(settings, Mapping):
        raise LearnerError(f"the job has the settings {settings!r}; expected a mapping")
    return from_fields(kind, {**arguments, "settings": LearningSettings.from_json(settings)})
