# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Jobs and events of a learner process, each encoded as one line of JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, TypeVar

from ilr_dynamics.exceptions import LearnerError
from ilr_dynamics.learning.report import LearningReport
from ilr_dynamics.learning.settings import LearningSettings, from_fields

__all__ = [
    "Event",
    "Failed",
    "Job",
    "LoadJob",
    "Progressed",
    "SaveJob",
    "UpdateJob",
    "decode_event",
    "decode_job",
    "encode_event",
    "encode_job",
]

T = TypeVar("T")


@dataclass(frozen=True)
class UpdateJob:
    """
    Job to update a model, or to learn a new one, from recordings.

    Parameters
    ----------
    bag_uri : str
        Folder or file of a rosbag2, or a folder or a glob of such (`find_bags`).
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
    skip_bad : bool
        Whether recordings that are not fit to learn are left out; if not, nothing is learned.
    """

    bag_uri: str
    directory: str
    settings: LearningSettings
    snapshot: str | None = None
    snapshot_uri: str = ""
    accept_worse: bool = False
    skip_bad: bool = False


@dataclass(frozen=True)
class LoadJob:
    """
    Job to check a snapshot and to write its predictor file.

    Parameters
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

    Parameters
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


@dataclass(frozen=True)
class Progressed:
    """
    Progress of a running job.

    Attributes
    ----------
    stage : str
        "reading", "learning" or "saving".
    fraction : float
        Share of the stage that is done.
    lower_bound : float or None
        Lower bound of the marginal likelihood in the last iteration, nats per sample.
    """

    stage: str
    fraction: float
    lower_bound: float | None


@dataclass(frozen=True)
class Failed:
    """
    End of a failed job, which has changed nothing.

    Attributes
    ----------
    message : str
        Reason, for the user.
    """

    message: str


Job = UpdateJob | LoadJob | SaveJob
Event = Progressed | LearningReport | Failed
"""Any number of `Progressed`, and at last a report or `Failed`."""

JOBS: dict[str, type[Job]] = {"update": UpdateJob, "load": LoadJob, "save": SaveJob}
EVENTS: dict[str, type[Event]] = {
    "progress": Progressed,
    "result": LearningReport,
    "error": Failed,
}


def encode_job(job: Job) -> str:
    """Encode a job as one line of JSON."""
    return _encode(job, "kind", JOBS)


def encode_event(event: Event) -> str:
    """Encode an event as one line of JSON."""
    return _encode(event, "event", EVENTS)


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
    kind, values = _decode(line, "kind", JOBS)
    settings = values.get("settings")
    if not isinstance(settings, Mapping):
        raise LearnerError(f"the job has the settings {settings!r}; expected a mapping")
    return from_fields(kind, {**values, "settings": LearningSettings.from_json(settings)})


def decode_event(line: bytes) -> Event:
    """
    Decode an event from one line of JSON.

    Parameters
    ----------
    line : bytes
        Line to decode.

    Returns
    -------
    Event

    Raises
    ------
    LearnerError
        If the line is not an event.
    InvalidParameterError
        If a value of the event is unknown or missing.
    """
    return from_fields(*_decode(line, "event", EVENTS))


def _encode(value: Job | Event, tag: str, kinds: Mapping[str, type[Any]]) -> str:
    (kind,) = (name for name, cls in kinds.items() if type(value) is cls)
    return json.dumps({tag: kind, **asdict(value)})


def _decode(
    line: str | bytes, tag: str, kinds: Mapping[str, type[T]]
) -> tuple[type[T], dict[str, Any]]:
    """Return the class that the tag of a line names, and the values of its fields."""
    try:
        values = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise LearnerError(f"the line {line[:80]!r} is not JSON ({error})") from error
    fields: dict[str, Any] = dict(values) if isinstance(values, Mapping) else {}
    kind = kinds.get(str(fields.pop(tag, None)))
    if kind is None:
        raise LearnerError(
            f"the line {line[:80]!r} is of no known {tag}; expected {', '.join(kinds)}"
        )
    return kind, fields
