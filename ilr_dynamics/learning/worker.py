# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""
Program of the learner process: one job on stdin, events on stdout, its log on stderr.

Events are lines of JSON: {"event": "progress", "stage", "fraction", "lower_bound"}, and last
either {"event": "result", ...} or {"event": "error", "message"}. Files are written atomically, so
a job that fails or is killed changes nothing.
"""

from __future__ import annotations

import json
import math
import os
import signal
import sys
import tempfile
import traceback
import uuid
from dataclasses import asdict
from pathlib import Path
from typing import IO, Any

from ilr_dynamics.exceptions import IlrDynamicsError, SnapshotError
from ilr_dynamics.file_access import resolve_allowed
from ilr_dynamics.inspection import inspect_recording, with_samples
from ilr_dynamics.inspection.finding import Severity
from ilr_dynamics.learning.jobs import Job, LoadJob, SaveJob, UpdateJob, decode_job
from ilr_dynamics.learning.learn import LearningReport, Progress, learn
from ilr_dynamics.learning.settings import LearningSettings, load_compatible_snapshot
from ilr_dynamics.process_lifetime import die_with_parent
from ilr_dynamics.regression.files.model_file import SNAPSHOT, is_of_kind
from ilr_dynamics.regression.mixture_regressor import MixtureRegressor

__all__ = ["main", "run_job"]

LESS_MEMORY = (
    "expected a shorter recording, a lower learning.sample_rate, fewer learning.n_components or a "
    "higher learning.memory_limit"
)
SUFFIX = ".npz"


def run_job(job: Job, progress: Progress) -> dict[str, Any]:
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
    dict
        "components" and "samples", the numbers of local models and of all samples learned from;
        "snapshot", its path, except for a `LoadJob`; "base" and "predictor", files in the job's
        directory for further use, except for a `SaveJob`; the fields of `LearningReport` for an
        `UpdateJob`. An update that is worse or implausible, and not accepted, leaves no files; the
        reason is "refusal", which is empty otherwise.

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


def _update(job: UpdateJob, progress: Progress) -> dict[str, Any]:
    folder = _folder(job.directory)
    snapshot = _new_target(job.snapshot_uri, job.settings) if job.snapshot_uri else None
    known = None
    if job.snapshot is not None:
        known = load_compatible_snapshot(job.snapshot, job.settings)
    inspection = inspect_recording(job.bag_uri, job.settings, progress)
    inspection = with_samples(inspection, job.settings)
    samples = inspection.required_samples()
    model, report = learn(samples, job.settings, known, progress, [job.bag_uri])
    findings = [
        str(finding) for finding in inspection.findings if finding.severity is not Severity.INFO
    ]
    refusal = report.implausible or inspection.refusal or (_worse(report) if report.worse else "")
    if refusal and not job.accept_worse:
        return {
            "refusal": refusal,
            "snapshot": "",
            "findings": findings,
            **_sizes(model),
            **asdict(report),
        }
    progress("saving", 0.0, math.nan)
    result = _save_for_use(model, folder)
    if snapshot is not None:
        try:
            model.save(snapshot)
        except SnapshotError:
            for name in ("base", "predictor"):
                Path(result[name]).unlink()
            raise
    progress("saving", 1.0, math.nan)
    snapshot = snapshot or Path(result["base"])
    return {
        "refusal": "",
        **result,
        "snapshot": str(snapshot),
        "findings": findings,
        "overridden": refusal,
        **asdict(report),
    }


def _worse(report: LearningReport) -> str:
    before, after = (
        ", ".join(f"{value:.3g}" for value in error)
        for error in (report.error_before, report.error_after)
    )
    return (
        "the new model is worse on the newest tenth of the recording, when fitted without it: "
        f"mean squared torque errors of {after} Nm^2 instead of {before}; "
        "expected none above, or accept_worse to be set"
    )


def _load(job: LoadJob) -> dict[str, Any]:
    folder = _folder(job.directory)
    if not job.snapshot_uri.strip():
        raise SnapshotError("the snapshot has no URI; expected a .npz file")
    snapshot = resolve_allowed(job.snapshot_uri, job.settings.directories)
    model = load_compatible_snapshot(snapshot, job.settings)
    return _save_for_use(model, folder)


def _save(job: SaveJob) -> dict[str, Any]:
    snapshot = _target(job.snapshot_uri, job.settings)
    if not job.overwrite:
        _check_new(snapshot)
    elif snapshot.exists() and not is_of_kind(snapshot, SNAPSHOT):
        raise SnapshotError(
            f"the file {snapshot} is not a snapshot, and only snapshots are overwritten; expected "
            "another name"
        )
    model = load_compatible_snapshot(job.snapshot, job.settings)
    model.save(snapshot)
    return {"snapshot": str(snapshot), **_sizes(model)}


def _save_for_use(model: MixtureRegressor, folder: Path) -> dict[str, Any]:
    """Write the predictor file for the control process and the snapshot for later jobs."""
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
    return {"base": str(base), "predictor": str(predictor), **_sizes(model)}


def _sizes(model: MixtureRegressor) -> dict[str, int]:
    return {"components": model.n_active_, "samples": model.n_samples_}


def _new_target(uri: str, settings: LearningSettings) -> Path:
    snapshot = _target(uri, settings)
    _check_new(snapshot)
    return snapshot


def _check_new(snapshot: Path) -> None:
    if snapshot.exists():
        raise SnapshotError(f"the snapshot {snapshot} exists; expected a new name, or overwrite")


def _folder(path: str) -> Path:
    folder = Path(path).expanduser()
    if not path or not folder.is_dir() or not os.access(folder, os.W_OK):
        raise SnapshotError(f"the folder {path!r} cannot be written; expected an existing folder")
    return folder


def _target(uri: str, settings: LearningSettings) -> Path:
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

    def report(stage: str, fraction: float, lower_bound: float) -> None:
        bound = lower_bound if math.isfinite(lower_bound) else None
        _send(channel, "progress", stage=stage, fraction=fraction, lower_bound=bound)

    try:
        job = decode_job(sys.stdin.readline())
        if isinstance(job, UpdateJob):
            # Files unpacked from a bag must not be left over if this process is killed.
            tempfile.tempdir = job.directory
        result = run_job(job, report)
    except IlrDynamicsError as error:
        _send(channel, "error", message=str(error))
    except MemoryError as error:
        _send(channel, "error", message=f"the learner ran out of memory ({error}); {LESS_MEMORY}")
    except Exception as error:
        traceback.print_exc()
        _send(channel, "error", message=f"learning failed: {type(error).__name__}: {error}")
    else:
        _send(channel, "result", **result)
        return 0
    return 1


def _claim_stdout() -> IO[str]:
    """Keep stdout for events; anything else that is printed goes to the log."""
    channel = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    return channel


def _send(channel: IO[str], event: str, **values: Any) -> None:
    channel.write(json.dumps({"event": event, **values}) + "\n")
    channel.flush()


if __name__ == "__main__":
    sys.exit(main())
