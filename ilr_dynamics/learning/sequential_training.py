# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""
Learning of the recordings of a training one after the other.

Samples of one recording at a time are in memory. What has been learned is kept after each, so that
a training that was interrupted goes on after the last recording it has learned.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from ilr_dynamics.exceptions import FileAccessError, RecordingError
from ilr_dynamics.learning.candidate import samples_of
from ilr_dynamics.learning.learn import Progress, ignore_progress, learn
from ilr_dynamics.learning.learned_recording import LearnedRecording, remember
from ilr_dynamics.learning.report import LearningReport
from ilr_dynamics.learning.settings import LearningSettings
from ilr_dynamics.learning.training import Training, nothing_left
from ilr_dynamics.regression.mixture_regressor import MixtureRegressor

__all__ = ["learn_recordings"]


def learn_recordings(
    training: Training,
    settings: LearningSettings,
    progress: Progress = ignore_progress,
    stop_if_worse: bool = False,
    skip_bad: bool = False,
) -> tuple[MixtureRegressor, LearningReport]:
    """
    Learn the recordings of a training one after the other.

    Parameters
    ----------
    training : Training
        At least one recording to learn, or that was learned before an interruption.
    settings : LearningSettings
        Settings of the arm and the model.
    progress : Progress
        Callback for progress; "learning" is one stage for all, in which a sample counts like any
        other.
    stop_if_worse : bool
        Whether to stop at a recording that makes the model worse on its newest tenth.
    skip_bad : bool
        Whether to leave out recordings that have changed since they were inspected, or are gone;
        the notes of the report tell.

    Returns
    -------
    model : MixtureRegressor
        New model; its metadata name all its recordings.
    report : LearningReport
        Assessment of the new model, with what each recording added. If it is `worse` and
        `stop_if_worse` is set, the last of `gains` is the recording that made it so.

    Raises
    ------
    RecordingError, FileAccessError
        If a recording has changed since it was inspected or is gone.
    SnapshotError
        If the model cannot be kept between two recordings.
    LearnerError
        If there is nothing to learn, or the new model predicts torques that are not finite.
    """
    model, reports = training.model, []
    if not training.has_recordings:
        raise nothing_left()
    gains = {uri: entry.gain for uri, entry in training.learned.items()}
    total, done = sum(c.n_samples for c in training.candidates), 0
    *_, last = training.candidates or [None]
    for candidate in training.candidates:
        share = _part(progress, done / total, (done + candidate.n_samples) / total)
        done += candidate.n_samples
        try:
            samples = samples_of(
                candidate, settings, lambda *_, share=share: share("", 0.0, math.nan)
            )
        except (RecordingError, FileAccessError) as error:
            if not skip_bad:
                raise
            training = training.without({candidate.uri: str(error)})
            continue
        model, report = learn(samples, settings, model, share, [candidate.uri])
        reports.append(report)
        gains[candidate.uri] = report.gain
        if report.worse and stop_if_worse:
            break
        learned = LearnedRecording(
            str(Path(candidate.uri).expanduser().resolve()),
            report.samples_used,
            report.rejected,
            report.gain,
        )
        model.metadata_ = remember(model.metadata_, candidate.digest, learned)
        if candidate is not last:
            training.unfinished.save(model, report)
    if not training.has_recordings:
        raise nothing_left(training.notes)
    assert model is not None
    return model, _united(training, model, reports, gains)


def _part(progress: Progress, first: float, last: float) -> Progress:
    """Progress of a part of the stage "learning"."""

    def report(_: str, fraction: float, lower_bound: float) -> None:
        progress("learning", first + (last - first) * fraction, lower_bound)

    return report


def _united(
    training: Training,
    model: MixtureRegressor,
    reports: Sequence[LearningReport],
    gains: dict[str, float | None],
) -> LearningReport:
    """One report on several recordings."""
    # If nothing was left to learn, what was said before the interruption holds.
    told = reports or [training.newest]
    earlier = training.learned.values()
    rejected = Counter[str]()
    for counts in [*(e.rejected for e in earlier), *(part.rejected for part in reports)]:
        rejected.update(counts)
    return replace(
        told[-1],
        components_before=training.components_before,
        components_after=model.n_active_,
        samples_total=model.n_samples_,
        samples_used=sum(part.samples_used for part in reports) + sum(e.samples for e in earlier),
        rejected=dict(rejected),
        gains=gains,
        change=_changes(training, told),
        implausible=next((part.implausible for part in told if part.implausible), ""),
        unsettled="; ".join(dict.fromkeys(part.unsettled for part in told if part.unsettled)),
        learning_time=sum(part.learning_time for part in told),
        findings=training.findings,
        notes=list(training.notes),
    )


def _changes(training: Training, reports: Sequence[LearningReport]) -> str:
    """Say before which recordings something had changed; of several each with its URI."""
    if len(training.candidates) < 2:
        return "".join(report.change for report in reports)
    told = [
        f"{candidate.uri}: {report.change}"
        for candidate, report in zip(training.candidates, reports, strict=False)
        if report.forgotten
    ]
    return "; ".join(told) or next((each.change for each in reversed(reports)), "")
