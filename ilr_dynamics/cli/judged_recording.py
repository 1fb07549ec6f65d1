# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Recordings beside what a model predicts of them, and the table of its errors."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ilr_dynamics.arrays import FloatArray
from ilr_dynamics.cli.shown_text import shown_name
from ilr_dynamics.cli.torque_errors import (
    TorqueErrors,
    WorstSecond,
    covered_share,
    torque_errors,
)
from ilr_dynamics.recording import Samples
from ilr_dynamics.regression.mixture_regressor import MixtureRegressor

__all__ = ["COVERAGE", "UNKNOWN", "JudgedRecording", "covered", "error_table", "errors_of"]

COVERAGE = 0.95
UNKNOWN = "-"
# Samples whose intervals are computed at a time.
BLOCK_ROWS = 500


@dataclass(frozen=True, eq=False)
class JudgedRecording:
    """
    Samples of a recording, and what a model predicts of them.

    Attributes
    ----------
    uri : str
        Folder or file of a rosbag2.
    samples : Samples
        The m samples of n joints.
    mean : ndarray of shape (m, n)
        Predicted torques, Nm.
    lower, upper : ndarray of shape (m, n)
        Interval that holds the share `COVERAGE` of the torques by the model's own account, Nm.
    """

    uri: str
    samples: Samples
    mean: FloatArray
    lower: FloatArray
    upper: FloatArray

    @classmethod
    def of(
        cls,
        uri: str,
        samples: Samples,
        model: MixtureRegressor,
        progress: Callable[[float], None] = lambda share: None,
    ) -> JudgedRecording:
        """Predict the torques of samples, with calls of a callback for the share that is done."""
        mean = np.asarray(model.predict(samples.X))
        lower, upper = np.empty_like(mean), np.empty_like(mean)
        for begin in range(0, samples.n_used, BLOCK_ROWS):
            rows = slice(begin, begin + BLOCK_ROWS)
            lower[rows], upper[rows] = model.predict_interval(samples.X[rows], COVERAGE)
            progress(min(rows.stop, samples.n_used) / samples.n_used)
        return cls(uri, samples, mean, lower, upper)


def errors_of(recordings: Sequence[JudgedRecording]) -> TorqueErrors:
    """Errors of a model over recordings, which count by their samples."""
    return torque_errors(
        [recording.samples.time for recording in recordings],
        [recording.samples.Y for recording in recordings],
        [recording.mean for recording in recordings],
    )


def covered(recordings: Sequence[JudgedRecording]) -> FloatArray:
    """Share (n,) of the torques of recordings that lie in their intervals."""
    return covered_share(
        np.concatenate([recording.samples.Y for recording in recordings]),
        np.concatenate([recording.lower for recording in recordings]),
        np.concatenate([recording.upper for recording in recordings]),
    )


def error_table(recordings: Sequence[JudgedRecording]) -> tuple[list[str], list[list[object]]]:
    """
    Return the errors of a model over recordings as a table.

    Parameters
    ----------
    recordings : sequence of JudgedRecording
        At least one.

    Returns
    -------
    header : list of str
    rows : list of list of object
        One for each joint, and one for all.
    """
    errors = errors_of(recordings)
    shares = covered(recordings)
    joints = recordings[0].samples.joint_names
    several = len(recordings) > 1
    rows: list[list[object]] = [
        [
            shown_name(joint),
            float(errors.rms[k]),
            _number(float(errors.normalized[k])),
            errors.worst[k].rms,
            _when(errors.worst[k], several),
            f"{shares[k]:.1%}",
        ]
        for k, joint in enumerate(joints)
    ]
    worst = max(errors.worst, key=lambda second: second.rms)
    mean = _number(float(np.mean(errors.normalized)))
    found = [errors.total_rms, mean, worst.rms, _when(worst, several), f"{shares.mean():.1%}"]
    rows.append(["all", *found])
    header = ["joint", "rms error [Nm]", "nMSE", "worst second [Nm]", "begins at"]
    return [*header, f"in {COVERAGE:.0%} interval"], rows


def _number(value: float) -> float | str:
    return UNKNOWN if math.isnan(value) else value


def _when(second: WorstSecond, several: bool) -> str:
    place = f" in no. {second.recording + 1}" if several else ""
    return f"{second.begin:.2f} s{place}"
