# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""What a learner process can be asked to do, as one line of JSON."""

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
    Learn from a recording, on top of a snapshot if there is one.

    Attributes
    ----------
    bag_uri : str
        Folder or file of a rosbag2.
    directory : str
        Where to leave the predictor, and the snapshot if it has no place of its own.
    settings : LearningSettings
        The arm and the model.
    snapshot : str or None
        What is known.
    snapshot_uri : str
        Where to save the new snapshot; empty: in `directory`.
    accept_worse : bool
        Whether the new model is wanted even if it is worse on the newest samples.
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
    Check a snapshot and prepare its predictor.

    Attributes
    ----------
    snapshot_uri : str
        The snapshot.
    directory : str
        Where to leave the predictor, and a copy of the snapshot that nobody else touches.
    settings : LearningSettings
        The arm.
    """

    snapshot_uri: str
    directory: str
    settings: LearningSettings


@dataclass(frozen=True)
class SaveJob:
    """
    Save a snapshot elsewhere.

    Attributes
    ----------
    snapshot : str
        What is known.
    snapshot_uri : str
        Where to save it.
    overwrite : bool
        Whether a file that is there may be replaced.
    settings : LearningSettings
        The arm.
    """

    snapshot: str
    snapshot_uri: str
    settings: LearningSettings
    overwrite: bool = False


Job = UpdateJob | LoadJob | SaveJob

KINDS: dict[str, type[Job]] = {"update": UpdateJob, "load": LoadJob, "save": SaveJob}


def encode_job(job: Job) -> str:
    """Write a job as one line of JSON."""
    (kind,) = (name for name, cls in KINDS.items() if isinstance(job, cls))
    return json.dumps({"kind": kind, **asdict(job)})


def decode_job(line: str) -> Job:
    """
    Read a job from one line of JSON.

    Raises
    ------
    LearnerError
        The line is no job.
    InvalidParameterError
        A value of the job is unknown, missing or out of range.
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
