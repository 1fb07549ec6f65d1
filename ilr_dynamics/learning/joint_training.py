# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""
Learning of all recordings of a training at once, by one process or a cluster.

Each recording becomes files of samples, which take up as much disk as the numbers in them; what
is learned from them needs only sums over each. As of one recording (`learn`), a first model has
not seen the newest tenth of each and is tested on it; the second begins where the first ended, and
learns all.
"""

from __future__ import annotations

import copy
import math
import os
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from ilr_dynamics.arrays import FloatArray
from ilr_dynamics.exceptions import FileAccessError, LearnerError, RecordingError
from ilr_dynamics.learning.candidate import Candidate, samples_of
from ilr_dynamics.learning.learn import NEWEST_SHARE, Progress, ignore_progress
from ilr_dynamics.learning.learned_recording import LearnedRecording, remember
from ilr_dynamics.learning.noted_warnings import noted_convergence
from ilr_dynamics.learning.prior import INFERENCE, model_to_update
from ilr_dynamics.learning.recording_weights import recording_weights
from ilr_dynamics.learning.report import LearningReport
from ilr_dynamics.learning.settings import LearningSettings, snapshot_metadata
from ilr_dynamics.learning.training import Training, nothing_left
from ilr_dynamics.regression import SampleFile, StochasticInference, fit_files, write_samples
from ilr_dynamics.regression.inference.inference import Inference
from ilr_dynamics.regression.mixture_regressor import MixtureRegressor
from ilr_dynamics.regression.shared.map_reduce import Mapper

__all__ = ["STOCHASTIC", "learn_together"]

# Rows of a file at most: the memory of a process grows with them, and the cost of a file is some
# milliseconds an iteration.
FILE_ROWS = 20_000
# Minibatches of eight files, so that some workers share one.
STOCHASTIC = StochasticInference(fit_scales=INFERENCE.fit_scales, batch_size=8 * FILE_ROWS)
# Shares of the stage "learning" at which the samples are written, and the first model is learned.
WRITTEN, TESTED = 0.1, 0.7


@dataclass(frozen=True)
class _Written:
    """Files of a recording: all but the newest tenth of its samples, and these."""

    older: list[SampleFile]
    newest: list[SampleFile]


@dataclass(frozen=True)
class _Unfit:
    """Why a recording cannot be learned, and whether that is as the process does not see it."""

    error: RecordingError | FileAccessError
    is_gone: bool


def learn_together(
    training: Training,
    settings: LearningSettings,
    mapper: Mapper,
    folder: Path,
    progress: Progress = ignore_progress,
    inference: Inference | None = None,
    *,
    skip_bad: bool = False,
) -> tuple[MixtureRegressor, LearningReport]:
    """
    Learn a new model from all recordings of a training at once.

    Parameters
    ----------
    training : Training
        At least one recording, and no model to update.
    settings : LearningSettings
        Settings of the arm and the model.
    mapper : Mapper
        Who computes.
    folder : Path
        Empty folder for the samples, which all who compute can read and write.
    progress : Progress
        Callback for progress: one stage, "learning".
    inference : Inference, optional
        Scheme in place of the settings'.
    skip_bad : bool
        Whether to leave out recordings that have changed since they were inspected, or are gone;
        the notes of the report tell.

    Returns
    -------
    model : MixtureRegressor
        New model; its metadata name all its recordings.
    report : LearningReport
        Assessment of the new model; what a recording added to others is not known.

    Raises
    ------
    RecordingError, FileAccessError
        If a recording has changed since it was inspected or is gone, or not all who compute see
        it.
    LearnerError
        If there is nothing to learn, or there is a model; if a cluster fails, or the new model
        predicts torques that are not finite.
    """
    # Not by their names or places: the model does not depend on these.
    candidates = sorted(training.candidates, key=lambda candidate: candidate.digest)
    if not candidates:
        raise nothing_left()
    if training.model is not None:
        raise LearnerError("learning all recordings at once begins anew; expected no model")
    new_model = model_to_update(None, settings)
    if inference is not None:
        new_model.set_params(inference=inference)
    progress("learning", 0.0, math.nan)
    written, reasons = _write_recordings(candidates, settings, mapper, folder, skip_bad)
    named = [candidate.uri for candidate in training.candidates if candidate.uri in reasons]
    training = training.without({uri: reasons[uri] for uri in named})
    candidates = [candidate for candidate in candidates if candidate.uri not in reasons]
    if not candidates:
        raise nothing_left(training.notes)
    start = time.perf_counter()
    older = [file for files in written for file in files.older]
    newest = [file for files in written for file in files.newest]
    with noted_convergence():
        trial = fit_files(
            copy.copy(new_model), older, mapper=mapper, callback=_part(progress, WRITTEN, TESTED)
        )
    squared = mapper.sum(_squared_errors, newest, trial)
    error_after = squared / sum(file.n_rows for file in newest)
    with noted_convergence() as unsettled:
        model = fit_files(
            new_model,
            [*older, *newest],
            mapper=mapper,
            start=trial,
            callback=_part(progress, TESTED, 1.0),
        )
    learning_time = time.perf_counter() - start
    if not np.isfinite(error_after).all():
        raise LearnerError(
            f"the new model's torque errors are {error_after}; expected finite numbers"
        )
    model.metadata_ = snapshot_metadata(settings, [c.uri for c in training.candidates])
    for candidate in candidates:
        path = str(Path(candidate.uri).expanduser().resolve())
        learned = LearnedRecording(path, candidate.n_samples, dict(candidate.rejected), None)
        model.metadata_ = remember(model.metadata_, candidate.digest, learned)
    return model, LearningReport(
        samples_used=model.n_samples_,
        samples_total=model.n_samples_,
        rejected=dict(sum((Counter(c.rejected) for c in candidates), Counter[str]())),
        components_after=model.n_active_,
        error_after=error_after.tolist(),
        gains={candidate.uri: None for candidate in candidates},
        unsettled="".join(unsettled),
        learning_time=learning_time,
        findings=training.findings,
        notes=list(training.notes),
    )


def _write_recordings(
    candidates: Sequence[Candidate],
    settings: LearningSettings,
    mapper: Mapper,
    folder: Path,
    skip_bad: bool,
) -> tuple[list[_Written], dict[str, str]]:
    """Have files of samples written; return them, and by URI why others are left out."""
    # Their samples, where they are in memory, are read again by who writes them, wherever it runs.
    numbered = [
        (n, replace(c, samples=None, uri=str(Path(c.uri).expanduser().absolute())))
        for n, c in enumerate(candidates)
    ]
    written, reasons = [], {}
    answers = mapper.map(_write_recording, numbered, (settings, folder))
    for candidate, (_, named), answer in zip(candidates, numbered, answers, strict=True):
        if isinstance(answer, _Written):
            written.append(answer)
        elif os.path.exists(named.uri) and answer.is_gone:
            raise RecordingError(
                f"a process that learns does not see the recording {named.uri}; expected "
                "recordings that all machines of the cluster have under the same name"
            )
        elif not skip_bad:
            raise answer.error
        else:
            reasons[candidate.uri] = str(answer.error)
    return written, reasons


def _write_recording(
    item: tuple[int, Candidate], given: tuple[LearningSettings, Path]
) -> _Written | _Unfit:
    """Write the samples of a recording to files."""
    number, candidate = item
    settings, folder = given
    try:
        samples = samples_of(candidate, settings)
    except (RecordingError, FileAccessError) as error:
        return _Unfit(error, is_gone=not os.path.exists(candidate.uri))
    weights = np.ones(samples.n_used)
    if settings.effective_samples:
        weights = recording_weights(samples.X, model_to_update(None, settings))
    n_older = samples.n_used - math.ceil(NEWEST_SHARE * samples.n_used)

    def files(name: str, rows: slice) -> list[SampleFile]:
        X, Y, w = samples.X[rows], samples.Y[rows], weights[rows]
        n_files = math.ceil(len(X) / FILE_ROWS)
        # Each is a small picture of the whole, so that a minibatch is one too.
        return [
            write_samples(
                folder / f"{number:05d}-{name}-{part:04d}.npy",
                X[part::n_files],
                Y[part::n_files],
                w[part::n_files],
            )
            for part in range(n_files)
        ]

    return _Written(files("older", slice(n_older)), files("newest", slice(n_older, None)))


def _squared_errors(file: SampleFile, model: MixtureRegressor) -> FloatArray:
    X, Y, _ = file.read()
    return np.asarray(np.sum((model.predict(X) - Y) ** 2, axis=0))


def _part(progress: Progress, first: float, last: float) -> Callable[[int, int, float], None]:
    def iteration_done(iteration: int, max_iterations: int, lower_bound: float) -> None:
        fraction = first + (last - first) * iteration / max_iterations
        progress("learning", fraction, lower_bound)

    return iteration_done
