# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Model of a training that is not finished, kept so that the same training can go on."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from ilr_dynamics.exceptions import InvalidParameterError, SnapshotError
from ilr_dynamics.learning.report import LearningReport
from ilr_dynamics.learning.settings import (
    LearningSettings,
    from_fields,
    load_compatible_snapshot,
)
from ilr_dynamics.regression.mixture_regressor import MixtureRegressor

__all__ = ["Unfinished"]

# Settings of a request that say nothing about the model.
OF_ACCESS = ("directories", "limits")
# Name of the metadata with the report on the newest recording.
NEWEST = "newest_report"
# Name of the metadata with what must be the same, but is not in the file's name: so a person is
# told why it cannot be used.
LEARNED_WITH = "learned_with"
N_DIGITS = 12


class Unfinished:
    """
    File with the model of an unfinished training.

    Its name says which training: that with the same settings, patterns and old model.

    Parameters
    ----------
    folder : Path
        Folder of the file.
    settings : LearningSettings
        Settings of the arm and the model.
    patterns : sequence of str
        Paths, folders and globs of the recordings.
    snapshot : str, Path or None
        The old model.
    accept_worse : bool
        Whether recordings with errors are learned.

    Raises
    ------
    SnapshotError
        If the old model cannot be read.
    RobotDescriptionError
        If the description of the arm cannot be loaded.
    """

    def __init__(
        self,
        folder: Path,
        settings: LearningSettings,
        patterns: Sequence[str],
        snapshot: str | Path | None,
        accept_worse: bool,
    ) -> None:
        values = {k: v for k, v in settings.to_json().items() if k not in OF_ACCESS}
        places = [str(Path(pattern).expanduser().absolute()) for pattern in patterns]
        training = json.dumps([values, places, accept_worse], sort_keys=True, default=str)
        digest = hashlib.sha256(training.encode())
        if snapshot is not None:
            try:
                digest.update(Path(snapshot).expanduser().read_bytes())
            except OSError as error:
                raise SnapshotError(f"the snapshot {snapshot} cannot be read: {error}") from error
        self.path = folder / f"unfinished-{digest.hexdigest()[:N_DIGITS]}.npz"
        self._settings = settings
        self._learned_with = {"package ilr_dynamics": _version()}
        if settings.robot is not None:
            description = settings.arm().urdf_path
            content = hashlib.sha256(description.read_bytes()).hexdigest()
            self._learned_with[f"description {description}"] = content

    def load(self) -> tuple[MixtureRegressor, LearningReport] | None:
        """
        Return the model and the report on its newest recording; None if there is no file.

        Raises
        ------
        SnapshotError
            If the file cannot be used.
        """
        if not self.path.exists():
            return None
        model = load_compatible_snapshot(self.path, self._settings)
        metadata = dict(model.metadata_)
        before = metadata.pop(LEARNED_WITH, None)
        for what, expected in self._learned_with.items():
            if not isinstance(before, dict) or before.get(what) != expected:
                raise SnapshotError(
                    f"the {what} has changed since the snapshot {self.path} was learned; expected "
                    "the same"
                )
        report = self._report(metadata.pop(NEWEST, None))
        model.metadata_ = metadata
        return model, report

    def save(self, model: MixtureRegressor, newest: LearningReport) -> None:
        """
        Keep a model, and the report on its newest recording, in place of the one before.

        Raises
        ------
        SnapshotError
            If the file cannot be written; the one before is left then.
        """
        kept = {NEWEST: asdict(newest), LEARNED_WITH: self._learned_with}
        model.save(self.path, {**model.metadata_, **kept})

    def remove(self) -> None:
        """Remove the file, if there is one: the training is finished."""
        self.path.unlink(missing_ok=True)

    def _report(self, values: object) -> LearningReport:
        try:
            report = from_fields(LearningReport, dict(values))  # type: ignore[call-overload]
            complete = len(report.error_after) == len(self._settings.joint_names)
        except (TypeError, ValueError, InvalidParameterError) as error:
            raise SnapshotError(
                f"the snapshot {self.path} has no report on its newest recording: {error}"
            ) from error
        if not complete:
            raise SnapshotError(
                f"the snapshot {self.path} has errors {report.error_after}; expected one a joint"
            )
        return report


def _version() -> str:
    """Version of this package; empty where it is not installed."""
    try:
        return version("ilr_dynamics")
    except PackageNotFoundError:
        return ""
