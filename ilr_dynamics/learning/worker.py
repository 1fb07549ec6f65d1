# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""
Program of the learner process: one job on stdin, events on stdout, its log on stderr.

Files are written atomically, so a job that fails or is killed changes nothing.
"""

from __future__ import annotations

import math
import os
import signal
import sys
import tempfile
import traceback
import uuid
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

from ilr_dynamics.exceptions import IlrDynamicsError, SnapshotError
from ilr_dynamics.file_access import resolve_allowed
from ilr_dynamics.learning.learn import Progress
from ilr_dynamics.learning.protocol import (
    Event,
    Failed,
    Job,
    LoadJob,
    Progressed,
    SaveJob,
    UpdateJob,
    decode_job,
    encode_event,
)
from ilr_dynamics.learning.report import LearningReport
from ilr_dynamics.learning.sequential_training import learn_recordings
from ilr_dynamics.learning.settings import LearningSettings, load_compatible_snapshot
from ilr_dynamics.learning.training import Training, nothing_left, prepare_training
from ilr_dynamics.process_lifetime import die_with_parent
from ilr_dynamics.regression.files.model_file import SNAPSHOT, is_of_kind
from ilr_dynamics.regression.mixture_regressor import MixtureRegressor

__all__ = ["main", "run_job"]

LESS_MEMORY = (
    "expected a shorter recording, a lower learning.sample_rate, fewer learning.n_components or a "
    "higher learning.memory_limit"
)
SUFFIX = ".npz"


def run_job(job: Job, progress: Progress) -> LearningReport:
    """
    Run a job.

    Parameters
    ----------
    job : Job
        Job to run.
    progress : Progress
        Callback for progress.

    Returns
    -------
    LearningReport
        An update that is worse or implausible, and not accepted, leaves no files but, of several
        recordings, what it had learned until then (`Unfinished`); the report has its `refusal`.

    Raises
    ------
    IlrDynamicsError
        If the job cannot be done; nothing has changed then.
    """
    if isinstance(job, UpdateJob):
        return _update(job, progress)
    if isinstance(job, LoadJob):
        return _load(job)
    return _save(job)


def _update(job: UpdateJob, progress: Progress) -> LearningReport:
    folder = _folder(job.directory)
    target = _target(job.snapshot_uri, job.settings) if job.snapshot_uri else None
    training = prepare_training(
        [job.bag_uri],
        job.settings,
        job.snapshot,
        folder if target is None else target.parent,
        job.accept_worse,
        progress,
    )
    if unfit := training.unfit(job.accept_worse):
        if not job.skip_bad:
            return _refused(training, unfit)
        training = training.without(unfit)
    if not training.has_recordings:
        raise nothing_left(training.notes)
    model, report = learn_recordings(
        training, job.settings, progress, not job.accept_worse, job.skip_bad
    )
    if report.worse and not job.accept_worse:
        return replace(report, refusal=_worse(report))
    objections = [
        c.objection for c in training.candidates if c.objection and c.uri in report.gains
    ]
    if report.worse:
        objections.append(_worse(report))
    report = replace(report, overridden="; ".join(objections))
    progress("saving", 0.0, math.nan)
    report = _save_for_use(model, folder, report)
    if target is not None:
        try:
            model.save(target)
        except SnapshotError:
            for name in (report.base, report.predictor):
                Path(name).unlink()
            raise
    training.unfinished.remove()
    progress("saving", 1.0, math.nan)
    return replace(report, snapshot=str(target or report.base))


def _refused(training: Training, unfit: Mapping[str, str]) -> LearningReport:
    """Report on recordings of which nothing is learned; raise if the only one is unusable."""
    candidates = training.candidates
    if len(candidates) == 1 and candidates[0].unusable is not None:
        raise candidates[0].unusable
    reasons = list(unfit.values())
    if len(candidates) > 1:
        listed = "; ".join(f"{uri}: {reason}" for uri, reason in unfit.items())
        reasons = [f"{len(unfit)} of {len(candidates)} recordings are not fit to learn: {listed}"]
    return LearningReport(
        samples_used=sum(candidate.n_samples for candidate in candidates),
        rejected=dict(sum((Counter(c.rejected) for c in candidates), Counter[str]())),
        findings=training.findings,
        notes=list(training.notes),
        refusal=reasons[0],
    )


def _worse(report: LearningReport) -> str:
    before, after = (
        ", ".join(f"{value:.3g}" for value in error)
        for error in (report.error_before, report.error_after)
    )
    *_, newest = report.gains
    which = f"{newest}: " if len(report.gains) > 1 else ""
    return (
        f"{which}the new model is worse on the newest tenth of the recording, when fitted without "
        f"it: mean squared torque errors of {after} Nm^2 instead of {before}; "
        "expected none above, or accept_worse to be set"
    )


def _load(job: LoadJob) -> LearningReport:
    folder = _folder(job.directory)
    if not job.snapshot_uri.strip():
        raise SnapshotError("the snapshot has no URI; expected a .npz file")
    snapshot = resolve_allowed(job.snapshot_uri, job.settings.directories)
    model = load_compatible_snapshot(snapshot, job.settings)
    # As an update names it: one model has one name, however it was asked for.
    report = LearningReport(**_sizes(model), snapshot=str(snapshot))
    return _save_for_use(model, folder, report)


def _save(job: SaveJob) -> LearningReport:
    target = _target(job.snapshot_uri, job.settings, overwrite=job.overwrite)
    model = load_compatible_snapshot(job.snapshot, job.settings)
    model.save(target)
    return LearningReport(**_sizes(model), snapshot=str(target))


def _save_for_use(model: MixtureRegressor, folder: Path, report: LearningReport) -> LearningReport:
    """
    Write the predictor file for the control process and the snapshot for later jobs.

    Returns the report with both paths.
    """
    base = folder / f"{uuid.uuid4().hex}.npz"
    predictor = folder / f"{uuid.uuid4().hex}.predictor"
    try:
        model.predictor().save(predictor)
    except OSError as error:
        raise SnapshotError(f"cannot write the predictor {predictor}: {error}") from error
    try:
        model.save(base)
    except SnapshotError:
        predictor.unlink()
        raise
    return replace(report, base=str(base), predictor=str(predictor))


def _sizes(model: MixtureRegressor) -> dict[str, Any]:
    return {"components_after": model.n_active_, "samples_total": model.n_samples_}


def _folder(path: str) -> Path:
    folder = Path(path).expanduser()
    if not path or not folder.is_dir() or not os.access(folder, os.W_OK):
        raise SnapshotError(f"the folder {path!r} cannot be written; expected an existing folder")
    return folder


def _target(uri: str, settings: LearningSettings, *, overwrite: bool = False) -> Path:
    """Return the path to write, after a check, before any learning, that it can be written."""
    if not uri.strip():
        raise SnapshotError("the snapshot has no URI; expected a file to write")
    target = resolve_allowed(uri, settings.directories)
    if target.is_dir():
        raise SnapshotError(f"the snapshot {target} is a folder; expected a file to write")
    if target.suffix != SUFFIX:
        raise SnapshotError(
            f"the snapshot {target} has no name that ends in {SUFFIX}; expected a "
            "file of that type"
        )
    _folder(str(target.parent))
    if not target.exists():
        return target
    if not overwrite:
        raise SnapshotError(f"the snapshot {target} exists; expected a new name, or overwrite")
    if not is_of_kind(target, SNAPSHOT):
        raise SnapshotError(
            f"the file {target} is not a snapshot, and only snapshots are overwritten; expected "
            "another name"
        )
    return target


def main() -> int:
    """
    Run the job on stdin and return the exit code, 0 after a result.

    If the process id of the parent is given as an argument, the learner ends with the parent.
    """
    if len(sys.argv) > 1:
        die_with_parent(int(sys.argv[1]))
    channel = _claim_stdout()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))

    def send(event: Event) -> None:
        channel.write(encode_event(event) + "\n")
        channel.flush()

    def progress(stage: str, fraction: float, lower_bound: float) -> None:
        send(Progressed(stage, fraction, lower_bound if math.isfinite(lower_bound) else None))

    event = _end(progress)
    send(event)
    return int(isinstance(event, Failed))


def _end(progress: Progress) -> LearningReport | Failed:
    """Run the job on stdin and return its last event."""
    try:
        job = decode_job(sys.stdin.readline())
        if isinstance(job, UpdateJob):
            # Files unpacked from a bag must not be left over if this process is killed.
            tempfile.tempdir = job.directory
        return run_job(job, progress)
    except IlrDynamicsError as error:
        return Failed(str(error))
    except MemoryError as error:
        return Failed(f"the learner ran out of memory ({error}); {LESS_MEMORY}")
    except Exception as error:
        traceback.print_exc()
        return Failed(f"learning failed: {type(error).__name__}: {error}")


def _claim_stdout() -> IO[str]:
    """Keep stdout for events; anything else that is printed goes to the log."""
    channel = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    return channel


if __name__ == "__main__":
    sys.exit(main())
