# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""What is found of a model: by recordings, of its arm, and beside an earlier model."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ilr_dynamics.arrays import FloatArray, IndexArray
from ilr_dynamics.cli.described_arm import NOT_IDENTIFIED
from ilr_dynamics.cli.judged_model import JudgedModel
from ilr_dynamics.cli.judged_recording import COVERAGE, JudgedRecording, covered
from ilr_dynamics.cli.torque_errors import TorqueErrors, covered_share, torque_errors
from ilr_dynamics.cli.tracking_evaluation import Tracking
from ilr_dynamics.cli.workspace_doubt import WorkspaceDoubt, drawn_postures, workspace_doubt
from ilr_dynamics.exceptions import InvalidDataError, RobotDescriptionError
from ilr_dynamics.learning.learn import Progress
from ilr_dynamics.recording import Samples
from ilr_dynamics.regression.mixture_regressor import MixtureRegressor
from ilr_dynamics.robot.arm_export import ArmExport
from ilr_dynamics.robot.description import RobotDescription
from ilr_dynamics.robot.friction_curves import FrictionCurves, friction_curves, learned_speeds
from ilr_dynamics.robot.identified_dynamics import IdentifiedDynamics

__all__ = [
    "LEVELS",
    "ArmFindings",
    "Judgement",
    "ModelFindings",
    "arm_findings",
    "coverage",
    "described_errors",
    "friction_points",
]

LEVELS = (0.5, 0.8, 0.95, 0.99)
"""Shares of the torques that intervals are to hold."""

# Samples by which intervals of all levels are judged, and points of a picture of friction.
N_JUDGED, N_POINTS = 1000, 3000
# Recorded postures at which the model is asked for its doubt.
N_RECORDED = 400
# Speeds of a curve, which are closer to each other around zero by this factor of a sinh.
N_SPEEDS, BEND = 81, 5.0


@dataclass(frozen=True, eq=False)
class Judgement:
    """
    Recording by which a model is judged.

    Attributes
    ----------
    recording : JudgedRecording
    former : ndarray of shape (m, n) or None
        Torques that the earlier model predicts, Nm.
    learned : bool
        Whether the model has learned it.
    tracking : Tracking or str
        Reports of the controller, or why there are none.
    """

    recording: JudgedRecording
    former: FloatArray | None
    learned: bool
    tracking: Tracking | str


@dataclass(frozen=True, eq=False)
class ArmFindings:
    """
    What a model has identified of its arm.

    Attributes
    ----------
    description : RobotDescription or str
        The arm as described, or why there is no description.
    identified, former : ArmExport or str
        Identified arm, and what the earlier model has identified, or why there is none.
    friction, former_friction : FrictionCurves or None
        Friction; None without identified dynamics.
    workspace, recorded : WorkspaceDoubt or None
        Doubt all over the workspace, and at some recorded postures; None without a description.
    """

    description: RobotDescription | str
    identified: ArmExport | str
    former: ArmExport | str
    friction: FrictionCurves | None = None
    former_friction: FrictionCurves | None = None
    workspace: WorkspaceDoubt | None = None
    recorded: WorkspaceDoubt | None = None


@dataclass(frozen=True, eq=False)
class ModelFindings:
    """
    All that a report on a model shows.

    Attributes
    ----------
    judged : JudgedModel
    former : JudgedModel or None
        Earlier model.
    judgements : tuple of Judgement
        One for each recording.
    arm : ArmFindings
    """

    judged: JudgedModel
    former: JudgedModel | None
    judgements: tuple[Judgement, ...]
    arm: ArmFindings

    @property
    def recordings(self) -> list[JudgedRecording]:
        """All recordings with what the model predicts."""
        return [judgement.recording for judgement in self.judgements]

    @property
    def former_errors(self) -> TorqueErrors | None:
        """Errors of the earlier model over all recordings, if there is one."""
        predicted = [found.former for found in self.judgements if found.former is not None]
        if not predicted:
            return None
        samples = [recording.samples for recording in self.recordings]
        return torque_errors(
            [part.time for part in samples], [part.Y for part in samples], predicted
        )


def arm_findings(
    judged: JudgedModel,
    former: JudgedModel | None,
    description: RobotDescription | str,
    samples: Sequence[Samples],
    progress: Progress,
) -> ArmFindings:
    """
    Find what a model has identified of its arm, and where it is sure.

    Parameters
    ----------
    judged : JudgedModel
    former : JudgedModel or None
        Earlier model.
    description : RobotDescription or str
        The arm as described, or why there is no description.
    samples : sequence of Samples
        Those of the recordings by which the model is judged.
    progress : Progress
        Callback for progress; the stage is "workspace".
    """
    dynamics = judged.dynamics
    before = None if former is None else former.dynamics
    arms = _identified(dynamics, description), _identified(before, description)
    friction = former_friction = None
    if dynamics is not None:
        speed = shown_speeds(dynamics)
        friction = friction_curves(dynamics, speed)
        former_friction = None if before is None else friction_curves(before, speed)
    if isinstance(description, str):
        return ArmFindings(description, *arms, friction, former_friction)
    positions = np.concatenate([part.X[:, : description.n_joints] for part in samples])
    return ArmFindings(
        description,
        *arms,
        friction,
        former_friction,
        workspace_doubt(
            judged.model,
            description,
            drawn_postures(description),
            lambda share: progress("workspace", share, math.nan),
        ),
        workspace_doubt(judged.model, description, positions[_evenly(len(positions), N_RECORDED)]),
    )


def _identified(
    dynamics: IdentifiedDynamics | None, description: RobotDescription | str
) -> ArmExport | str:
    """Arm with bodies that can exist, or why there is none."""
    if dynamics is None:
        return NOT_IDENTIFIED
    if isinstance(description, str):
        return description
    try:
        return ArmExport.of(dynamics, description)
    except (RobotDescriptionError, InvalidDataError) as error:
        return str(error)


def _evenly(n_rows: int, most: int) -> IndexArray:
    """Rows, evenly, of which there are not too many."""
    return np.linspace(0, n_rows - 1, min(n_rows, most)).round().astype(int)


def shown_speeds(dynamics: IdentifiedDynamics) -> FloatArray:
    """Speeds (s, n) of each joint up to the largest that was learned, close around zero, rad/s."""
    bent = np.sinh(BEND * np.linspace(-1.0, 1.0, N_SPEEDS)) / np.sinh(BEND)
    return np.asarray(bent[:, None] * learned_speeds(dynamics))


def coverage(model: MixtureRegressor, recordings: list[JudgedRecording]) -> FloatArray:
    """
    Return the share of torques in intervals of each of the `LEVELS`.

    Parameters
    ----------
    model : MixtureRegressor
        Model of n joints.
    recordings : list of JudgedRecording
        Samples. By some of them, evenly, the levels are judged at which there are no intervals
        of all.

    Returns
    -------
    ndarray of shape (len(LEVELS), n)
    """
    X = np.concatenate([recording.samples.X for recording in recordings])
    Y = np.concatenate([recording.samples.Y for recording in recordings])
    rows = _evenly(len(X), N_JUDGED)
    return np.array(
        [
            covered(recordings)
            if level == COVERAGE
            else covered_share(Y[rows], *model.predict_interval(X[rows], level))
            for level in LEVELS
        ]
    )


def described_errors(
    dynamics: IdentifiedDynamics, recordings: list[JudgedRecording]
) -> FloatArray:
    """Root mean square errors (n,) of the torques of the described rigid bodies, Nm."""
    described = dynamics.discounted(0.0)
    errors = [
        described.expected(recording.samples.X) - recording.samples.Y for recording in recordings
    ]
    return np.asarray(np.sqrt(np.mean(np.concatenate(errors) ** 2, axis=0)))


def friction_points(
    dynamics: IdentifiedDynamics, curves: FrictionCurves, recordings: list[JudgedRecording]
) -> tuple[FloatArray, FloatArray]:
    """
    Return what recorded torques say of the friction: partial residuals.

    Parameters
    ----------
    dynamics : IdentifiedDynamics
        Dynamics of n joints.
    curves : FrictionCurves
        Their friction.
    recordings : list of JudgedRecording
        Recordings of the arm.

    Returns
    -------
    speed, torque : ndarray of shape (m, n)
        Speed of each joint, rad/s, and its torque less all that is identified but the friction of
        that curve, Nm.
    """
    samples: list[Samples] = [recording.samples for recording in recordings]
    X = np.concatenate([part.X for part in samples])
    Y = np.concatenate([part.Y for part in samples])
    random = np.random.default_rng(0)
    rows = np.sort(random.choice(len(X), min(len(X), N_POINTS), replace=False))
    n = dynamics.n_joints
    speed = X[rows, n : 2 * n]
    torque = Y[rows] - dynamics.expected(X[rows])
    for joint in range(n):
        torque[:, joint] += np.interp(
            speed[:, joint], curves.speed[:, joint], curves.torque[:, joint]
        )
    return speed, torque
