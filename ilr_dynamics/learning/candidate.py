# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Recordings that are to be learned, each inspected before anything is learned from any."""

from __future__ import annotations

import math
import os
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from ilr_dynamics.exceptions import FileAccessError, IlrDynamicsError, RecordingError
from ilr_dynamics.inspection import Severity, inspect_recording, with_samples
from ilr_dynamics.inspection.inspect_recording import with_continuous_joints
from ilr_dynamics.learning.learn import Progress, ignore_progress, read_samples
from ilr_dynamics.learning.plausibility import implausible_torques
from ilr_dynamics.learning.settings import LearningSettings
from ilr_dynamics.recording import Samples, bag_digest

__all__ = ["Candidate", "digest_of", "inspect_candidates", "samples_of"]


@dataclass(frozen=True)
class Candidate:
    """
    Recording that was inspected.

    Attributes
    ----------
    uri : str
        Folder or file of a rosbag2.
    digest : str
        Of its content (`bag_digest`).
    findings : tuple of str
        Warnings and errors.
    objection : str
        Why it should not be learned, unless a person wants it all the same; empty without reason.
    unusable : IlrDynamicsError or None
        Why it cannot be learned.
    n_samples : int
        Number of samples.
    rejected : dict of str to int
        Number of joint states that gave no sample, by reason.
    samples : Samples or None
        Samples of the one that is learned first, so that a single one is read once. Those of
        others are read when their turn comes.
    """

    uri: str
    digest: str
    findings: tuple[str, ...] = ()
    objection: str = ""
    unusable: IlrDynamicsError | None = None
    n_samples: int = 0
    rejected: dict[str, int] = field(default_factory=dict)
    samples: Samples | None = None


def digest_of(uri: str, settings: LearningSettings, progress: Progress = ignore_progress) -> str:
    """Return the digest of a recording; its URI if it cannot be read, as inspection will tell."""
    try:
        return _digest(uri, settings, progress)
    except (RecordingError, FileAccessError):
        return uri


def inspect_candidates(
    recordings: Mapping[str, str],
    settings: LearningSettings,
    former: Collection[str],
    progress: Progress = ignore_progress,
) -> list[Candidate]:
    """
    Inspect recordings.

    Parameters
    ----------
    recordings : mapping of str to str
        URIs by digest.
    settings : LearningSettings
        Settings of the arm and the model.
    former : collection of str
        Paths, links followed, where the model has learned other recordings than these.
    progress : Progress
        Callback for progress.

    Returns
    -------
    list of Candidate
    """
    candidates: list[Candidate] = []
    for number, (digest, uri) in enumerate(recordings.items()):

        def report(stage: str, fraction: float, bound: float, before: int = number) -> None:
            progress(stage, (before + fraction) / len(recordings), bound)

        candidate = _inspected(uri, digest, settings, former, report)
        if any(earlier.samples for earlier in candidates):
            candidate = replace(candidate, samples=None)
        candidates.append(candidate)
    return candidates


def samples_of(
    candidate: Candidate, settings: LearningSettings, progress: Progress = ignore_progress
) -> Samples:
    """
    Return the samples of a recording, which is read now if they were not kept.

    Raises
    ------
    RecordingError, FileAccessError
        If it is gone, cannot be read any more or is not what was inspected.
    """
    if candidate.samples is not None:
        return candidate.samples
    if not os.path.exists(Path(candidate.uri).expanduser()):
        raise RecordingError(
            f"recording {candidate.uri} is gone since it was inspected; expected recordings that "
            "stay where they are"
        )
    if _digest(candidate.uri, settings, progress) != candidate.digest:
        raise RecordingError(
            f"recording {candidate.uri} has changed since it was inspected; expected recordings "
            "that nobody writes to"
        )
    description = None if settings.robot is None else settings.arm()
    return read_samples(candidate.uri, with_continuous_joints(settings, description), progress)


def _digest(uri: str, settings: LearningSettings, progress: Progress) -> str:
    try:
        return bag_digest(
            uri,
            settings.directories,
            settings.limits.max_bytes,
            lambda: progress("reading", 0.0, math.nan),
        )
    except OSError as error:
        raise RecordingError(
            f"recording {uri} cannot be read ({error}); expected files that may be read"
        ) from error


def _inspected(
    uri: str,
    digest: str,
    settings: LearningSettings,
    former: Collection[str],
    progress: Progress,
) -> Candidate:
    inspection = with_samples(inspect_recording(uri, settings, progress), settings)
    findings = tuple(
        str(finding) for finding in inspection.findings if finding.severity is not Severity.INFO
    )
    samples = inspection.samples
    if samples is None:
        unusable = inspection.unusable or RecordingError(f"recording {uri} gives no samples")
        return Candidate(uri, digest, findings, unusable=unusable)
    return Candidate(
        uri,
        digest,
        findings,
        implausible_torques(samples, settings) or inspection.refusal or _changed(uri, former),
        n_samples=samples.n_used,
        rejected=dict(samples.rejected),
        samples=samples,
    )


def _changed(uri: str, former: Collection[str]) -> str:
    path = str(Path(uri).expanduser().resolve())
    if path not in former:
        return ""
    return (
        f"recording {path} has changed since the model learned it, and what it still has of it "
        "would count twice; expected another recording, or accept_worse to be set"
    )
