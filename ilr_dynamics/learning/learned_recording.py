# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""What a model remembers of each recording that it has learned, in its metadata."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

__all__ = [
    "LEARNED",
    "LearnedRecording",
    "learned_before_change",
    "learned_recordings",
    "remember",
]

LEARNED = "learned"
"""Name of the metadata: recordings by the digest of their content (`bag_digest`)."""


@dataclass(frozen=True)
class LearnedRecording:
    """
    Recording that a model has learned.

    Attributes
    ----------
    path : str
        Where it was, links followed.
    samples : int
        Number of samples.
    rejected : dict of str to int
        Number of joint states that gave no sample, by reason.
    gain : float or None
        What it added (`LearningReport.gain`), nats per effective sample; None for the first.
    before_change : bool
        Whether the arm had changed by a later recording, so that what this one said of the change
        was forgotten.
    """

    path: str
    samples: int
    rejected: dict[str, int]
    gain: float | None
    before_change: bool = False


def learned_recordings(metadata: Mapping[str, Any]) -> dict[str, LearnedRecording]:
    """
    Return the recordings that a model has learned, by digest.

    Models of earlier releases, and those that were given samples without a recording, do not say.

    Raises
    ------
    ValueError
        If the metadata are of another form.
    """
    try:
        return {
            str(digest): LearnedRecording(
                str(values["path"]),
                int(values["samples"]),
                {str(reason): int(count) for reason, count in values["rejected"].items()},
                None if values["gain"] is None else float(values["gain"]),
                bool(values.get("before_change", False)),
            )
            for digest, values in metadata.get(LEARNED, {}).items()
        }
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        raise ValueError(f"{LEARNED} is not of the form that models remember") from error


def remember(
    metadata: Mapping[str, Any], digest: str, recording: LearnedRecording
) -> dict[str, Any]:
    """Return metadata with one more recording, the newest last."""
    earlier = {name: entry for name, entry in metadata.get(LEARNED, {}).items() if name != digest}
    return {**metadata, LEARNED: {**earlier, digest: asdict(recording)}}


def learned_before_change(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is remembered of all recordings, now that the arm has changed since."""
    return {
        digest: {**entry, "before_change": True}
        for digest, entry in metadata.get(LEARNED, {}).items()
    }
