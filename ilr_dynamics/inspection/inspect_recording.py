# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""All findings of a recording."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from ilr_dynamics.arrays import FloatArray
from ilr_dynamics.blas_threads import one_blas_thread
from ilr_dynamics.exceptions import FileAccessError, IlrDynamicsError, RecordingError
from ilr_dynamics.inspection.coarse_torques import coarse_torques
from ilr_dynamics.inspection.evidence import Evidence
from ilr_dynamics.inspection.finding import Finding, Severity
from ilr_dynamics.inspection.motion_findings import degrees_finding, motion_findings
from ilr_dynamics.inspection.timing_findings import position_findings, timing_findings
from ilr_dynamics.inspection.torque_findings import torque_findings
from ilr_dynamics.learning.learn import Progress, ignore_progress, read_states
from ilr_dynamics.learning.settings import LearningSettings
from ilr_dynamics.recording import Recording, Samples, training_samples
from ilr_dynamics.recording.recording import without_jumps
from ilr_dynamics.robot.description import RobotDescription
from ilr_dynamics.robot.rigid_body import RigidBodyModel

__all__ = [
    "Inspection",
    "inspect_recording",
    "with_continuous_joints",
    "with_model_torque",
    "with_samples",
]


@dataclass(frozen=True)
class Inspection:
    """
    What was found in a recording.

    Attributes
    ----------
    uri : str
        Of the recording.
    findings : tuple of Finding
        The worst first.
    recording : Recording or None
        Usable states; None if it cannot be read.
    samples : Samples or None
        What would be learned from (`with_samples`); None if nothing can be.
    model_torque : ndarray of shape (n, n_joints) or None
        Torque of the described rigid bodies at the samples, Nm (`with_model_torque`); None without
        a description.
    position_limits : ndarray of shape (n_joints, 2) or None
        Lower and upper, rad, of the description.
    torque_limit, velocity_limit : ndarray of shape (n_joints,) or None
        Nm, rad/s.
    unusable : IlrDynamicsError or None
        Why there are no samples.
    """

    uri: str
    findings: tuple[Finding, ...]
    recording: Recording | None = None
    samples: Samples | None = None
    model_torque: FloatArray | None = None
    position_limits: FloatArray | None = None
    torque_limit: FloatArray | None = None
    velocity_limit: FloatArray | None = None
    unusable: IlrDynamicsError | None = None

    @property
    def refusal(self) -> str:
        """Why nothing should be learned from it; empty if there is no reason."""
        errors = [finding for finding in self.findings if finding.severity is Severity.ERROR]
        if not errors:
            return ""
        texts = "; ".join(finding.text for finding in errors)
        return f"{texts}; expected a recording without errors, or accept_worse to be set"

    @property
    def worst(self) -> Severity:
        """The gravest severity found; info where nothing is wrong."""
        order = list(Severity)
        severities = (finding.severity for finding in self.findings)
        return max(severities, key=order.index, default=Severity.INFO)


def inspect_recording(
    uri: str | Path, settings: LearningSettings, progress: Progress = ignore_progress
) -> Inspection:
    """
    Say what a person should know of a recording; it never raises for a bad one.

    Parameters
    ----------
    uri : str or Path
        Folder or file of a rosbag2.
    settings : LearningSettings
        The arm. Without `robot` nothing is said that needs its rigid-body model.
    progress : Progress
        Called as the work proceeds.

    Raises
    ------
    RobotDescriptionError
        There is no such robot.
    """
    description = None if settings.robot is None else settings.arm()
    settings = with_continuous_joints(settings, description)
    progress("reading", 0.0, math.nan)
    try:
        recording = read_states(uri, settings, progress)
    except (RecordingError, FileAccessError) as error:
        return Inspection(str(uri), (_unreadable(str(error)),), unusable=error)
    inspection = _inspect(str(uri), recording, settings, description)
    progress("reading", 1.0, math.nan)
    return inspection


def with_continuous_joints(
    settings: LearningSettings, description: RobotDescription | None
) -> LearningSettings:
    """Add the joints without limits of an arm; it may have other names than the messages."""
    if description is None:
        return settings
    names = settings.joint_names
    described = (joint for joint, free in zip(names, description.continuous, strict=False) if free)
    joints = tuple(sorted({*settings.samples.continuous_joints, *described}, key=names.index))
    return replace(settings, samples=replace(settings.samples, continuous_joints=joints))


@one_blas_thread
def _inspect(
    uri: str,
    recording: Recording,
    settings: LearningSettings,
    description: RobotDescription | None,
) -> Inspection:
    torque_limit = settings.samples.torque_limit
    if torque_limit is None and description is not None:
        torque_limit = description.torque_limit.tolist()
    findings, recording = _findings(recording, settings, description, torque_limit)
    return Inspection(
        uri,
        findings,
        recording,
        position_limits=None
        if description is None
        else np.column_stack([description.position_lower, description.position_upper]),
        torque_limit=_as_array(torque_limit),
        velocity_limit=_as_array(settings.samples.velocity_limit),
    )


def with_samples(inspection: Inspection, settings: LearningSettings) -> Inspection:
    """Add what would be learned from, or why nothing can be: findings come without."""
    if inspection.recording is None:
        return inspection
    try:
        samples = training_samples(inspection.recording, settings.samples)
    except RecordingError as error:
        return replace(inspection, unusable=error)
    return replace(inspection, samples=samples)


def with_model_torque(inspection: Inspection, settings: LearningSettings) -> Inspection:
    """Add the described arm's torque at the samples, which takes some 60 us each."""
    samples = inspection.samples
    if samples is None or settings.robot is None:
        return inspection
    model = RigidBodyModel(settings.arm())
    held = model.description.gravity if settings.driver_compensates_gravity else np.zeros(3)
    torque = [
        model.inverse_dynamics(*np.split(x, 3)) - model.gravity_columns(x[: len(x) // 3]) @ held
        for x in samples.X
    ]
    return replace(inspection, model_torque=np.array(torque))


def _findings(
    recording: Recording,
    settings: LearningSettings,
    description: RobotDescription | None,
    torque_limit: Sequence[float] | None,
) -> tuple[tuple[Finding, ...], Recording]:
    """All findings, the worst first, and the states without jumps."""
    if description is not None:
        # Before jumps are looked for: degrees change as fast as no arm.
        degrees = degrees_finding(recording.position, description, settings.joint_names)
        if degrees is not None:
            return (degrees,), recording
    found = list(timing_findings(recording, settings.samples))
    try:
        n_clock_steps = len(recording.breaks)
        recording = without_jumps(
            recording, settings.samples.velocity_limit, settings.samples.continuous_joints
        )
    except RecordingError as error:
        return (_jumping(str(error)), *found), recording
    found += position_findings(recording, n_clock_steps)
    try:
        evidence = Evidence(
            recording, settings.samples, description, settings.driver_compensates_gravity
        )
    except RecordingError as error:
        found.append(_too_little(str(error)))
    else:
        found += motion_findings(evidence)
        found += coarse_torques(evidence)
        found += torque_findings(evidence, _as_array(torque_limit))
    order = list(Severity)
    found.sort(key=lambda finding: -order.index(finding.severity))
    return tuple(found), recording


def _as_array(values: Sequence[float] | None) -> FloatArray | None:
    return None if values is None else np.asarray(values, dtype=float)


def _unreadable(text: str) -> Finding:
    return Finding(
        "unreadable",
        Severity.ERROR,
        text,
        "the documentation lists the reasons under Troubleshooting",
    )


def _jumping(text: str) -> Finding:
    return Finding("position_jump", Severity.ERROR, text, "who publishes the joint states?")


def _too_little(text: str) -> Finding:
    return Finding(
        "no_excitation",
        Severity.ERROR,
        text,
        "record a motion of some ten seconds in which all joints move",
    )
