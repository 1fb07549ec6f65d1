# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""
Training from recordings, any number of them: which ones, and what an earlier training left.

All are inspected before anything is learned from any.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ilr_dynamics.exceptions import LearnerError, SnapshotError
from ilr_dynamics.learning.candidate import Candidate, digest_of, inspect_candidates
from ilr_dynamics.learning.learn import Progress, ignore_progress
from ilr_dynamics.learning.learned_recording import LearnedRecording, learned_recordings
from ilr_dynamics.learning.report import LearningReport
from ilr_dynamics.learning.settings import LearningSettings, load_compatible_snapshot
from ilr_dynamics.learning.unfinished import Unfinished
from ilr_dynamics.recording import find_bags
from ilr_dynamics.regression.mixture_regressor import MixtureRegressor

__all__ = ["Training", "nothing_left", "prepare_training"]


@dataclass(frozen=True)
class Training:
    """
    Recordings to learn, and the model that learns them.

    Attributes
    ----------
    model : MixtureRegressor or None
        Model so far; None for a new one.
    components_before : int
        Number of local models of the model before this training, interruptions included.
    candidates : tuple of Candidate
        Recordings to learn, in order.
    learned : dict of str to LearnedRecording
        Recordings that this training had learned before it was interrupted, by URI.
    newest : LearningReport
        Report on the last of these.
    notes : tuple of str
        What a person should know: what is left out, and where the training goes on.
    unfinished : Unfinished
        File for the model between two recordings.
    """

    model: MixtureRegressor | None
    components_before: int
    candidates: tuple[Candidate, ...]
    learned: dict[str, LearnedRecording]
    newest: LearningReport
    notes: tuple[str, ...]
    unfinished: Unfinished

    @property
    def findings(self) -> list[str]:
        """Warnings and errors on all recordings; of several each begins with its URI."""
        several = len(self.candidates) > 1
        return [
            f"{candidate.uri}: {finding}" if several else finding
            for candidate in self.candidates
            for finding in candidate.findings
        ]

    def unfit(self, accept_worse: bool) -> dict[str, str]:
        """
        Return why recordings must not be learned, by URI.

        Parameters
        ----------
        accept_worse : bool
            Whether only those are unfit that cannot be learned.
        """
        return {
            candidate.uri: str(candidate.unusable or candidate.objection)
            for candidate in self.candidates
            if candidate.unusable or (candidate.objection and not accept_worse)
        }

    @property
    def has_recordings(self) -> bool:
        """Whether there is anything to learn, or was before an interruption."""
        return bool(self.candidates or self.learned)

    def without(self, reasons: Mapping[str, str]) -> Training:
        """Return the training without the recordings of these URIs; its notes tell the reasons."""
        left = tuple(c for c in self.candidates if c.uri not in reasons)
        notes = [f"{uri} is left out: {reason}" for uri, reason in reasons.items()]
        return replace(self, candidates=left, notes=(*self.notes, *notes))


def nothing_left(notes: Sequence[str] = ()) -> LearnerError:
    """Return the error that no recording is left to learn from, with the notes that tell why."""
    reasons = f": {'; '.join(notes)}" if notes else ""
    return LearnerError(f"no recording is left to learn from; expected at least one{reasons}")


def prepare_training(
    patterns: Sequence[str],
    settings: LearningSettings,
    snapshot: str | Path | None,
    folder: Path,
    accept_worse: bool = False,
    progress: Progress = ignore_progress,
    *,
    goes_on: bool = True,
) -> Training:
    """
    Find and inspect the recordings that a model has not learned yet.

    Parameters
    ----------
    patterns : sequence of str
        Paths, folders and globs of recordings (`find_bags`).
    settings : LearningSettings
        Settings of the arm and the model.
    snapshot : str, Path or None
        Model to update; None for a new one.
    folder : Path
        Folder for the model between two recordings.
    accept_worse : bool
        Whether recordings with errors will be learned.
    progress : Progress
        Callback for progress.
    goes_on : bool
        Whether to go on after what an interrupted training has kept.

    Returns
    -------
    Training

    Raises
    ------
    SnapshotError
        If the model cannot be read or is of another arm.
    RecordingError, FileAccessError
        If a pattern stands for no recording, or for one outside the allowed directories.
    LearnerError
        If the model has learned all of them.
    """
    known = None if snapshot is None else load_compatible_snapshot(snapshot, settings)
    before = {} if known is None else learned_recordings(known.metadata_)
    recordings: dict[str, str] = {}
    notes: list[str] = []
    for uri in find_bags(patterns, settings.directories, notes.append):
        first = recordings.setdefault(digest_of(uri, settings, progress), uri)
        if first != uri:
            notes.append(f"{uri} is left out, as it is the same recording as {first}")
    # Of a changed arm a recording from before is known no more. But a folder that is named each
    # night would bring all of them back.
    again = {
        digest
        for digest, uri in recordings.items()
        if digest in before and before[digest].before_change and uri in map(str, patterns)
    }
    kept = before.keys() - again
    old = [uri for digest, uri in recordings.items() if digest in kept]
    if len(old) == len(recordings):
        raise LearnerError(_all_learned(recordings, before))
    notes += [f"{uri} is left out, as the model has learned it already" for uri in old]
    notes += [
        f"{recordings[digest]} is of before the arm changed, and learned again as it is named"
        for digest in recordings
        if digest in again
    ]
    unfinished = Unfinished(folder, settings, patterns, snapshot, accept_worse)
    model, newest = None, LearningReport()
    try:
        model, newest = (unfinished.load() if goes_on else None) or (model, newest)
    except SnapshotError as error:
        notes.append(f"begins anew: what it had learned cannot be used ({error})")
    so_far = {} if model is None else learned_recordings(model.metadata_)
    new = {d: entry for d, entry in so_far.items() if _is_new(entry, before.get(d))}
    gone = [entry.path for digest, entry in new.items() if digest not in recordings]
    if gone:
        notes.append(f"begins anew: it had learned {', '.join(gone)}, which changed or is gone")
        model, new, newest = None, {}, LearningReport()
    elif new:
        count = f"{len(new)} of {len(recordings) - len(old)}"
        notes.append(f"goes on after what it had learned, {count}: {unfinished.path}")
    left = {d: uri for d, uri in recordings.items() if d not in kept and d not in new}
    former = {before[digest].path for digest in kept}
    return Training(
        model=known if model is None else model,
        components_before=0 if known is None else known.n_active_,
        candidates=tuple(inspect_candidates(left, settings, former, progress)),
        learned={recordings[digest]: entry for digest, entry in new.items()},
        newest=newest,
        notes=tuple(notes),
        unfinished=unfinished,
    )


def _all_learned(recordings: Mapping[str, str], before: Mapping[str, LearnedRecording]) -> str:
    """Say that nothing is left to learn, and of which recordings that need not be so."""
    text = (
        f"the model has learned {', '.join(recordings.values())} already; expected another "
        "recording"
    )
    forgotten = [uri for digest, uri in recordings.items() if before[digest].before_change]
    if forgotten:
        text += (
            f", or the path of one from before the arm changed: {', '.join(forgotten)} will be "
            "learned again if named by itself, not by a folder or glob"
        )
    return text


def _is_new(entry: LearnedRecording, before: LearnedRecording | None) -> bool:
    """Whether an unfinished training has learned this recording, and not the model before it."""
    return before is None or entry != replace(before, before_change=entry.before_change)
