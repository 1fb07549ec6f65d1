# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Model of a training that is not finished, kept so that the same training can go on."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path

from ilr_dynamics.exceptions import SnapshotError
from ilr_dynamics.learning.settings import LearningSettings, load_compatible_snapshot
from ilr_dynamics.regression.mixture_regressor import MixtureRegressor

__all__ = ["Unfinished"]

# Settings of a request that say nothing about the model.
OF_ACCESS = ("directories", "limits")
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

    def load(self) -> MixtureRegressor | None:
        """Return the model; None if there is none that can be used."""
        if not self.path.exists():
            return None
        try:
            return load_compatible_snapshot(self.path, self._settings)
        except SnapshotError:
            return None

    def save(self, model: MixtureRegressor) -> None:
        """Keep a model in place of the one before, in one step; raise SnapshotError if not."""
        model.save(self.path)

    def remove(self) -> None:
        """Remove the file, if there is one: the training is finished."""
        self.path.unlink(missing_ok=True)
