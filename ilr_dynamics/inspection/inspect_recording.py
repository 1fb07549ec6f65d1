# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""All findings of a recording."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ..exceptions import FileAccessError, RecordingError
from ..learning.settings import LearningSettings
from ..recording import Recording, Samples, read_recording, training_samples
from ..recording.recording import without_jumps
from ..robot.description import RobotDescription, load_description
from .evidence import Evidence
from .finding import Finding, Severity
from .motion_findings import degrees_finding, motion_findings
from .timing_findings import position_findings, timing_findings
from .torque_findings import torque_findings

__all__ = ["Inspection", "inspect_recording"]

Array = NDArray[np.float64]


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
        What would be learned from; None if that is too little.
    model_torque : ndarray of shape (n, n_joints) or None
        Torque of the described rigid bodies at the samples, Nm; None without a description.
    position_limits : ndarray of shape (n_joints, 2) or None
        Lower and upper, rad, of the description.
    torque_limit, velocity_limit : ndarray of shape (n_joints,) or None
        Nm, rad/s.
    """

    uri: str
    findings: tuple[Finding, ...]
    recording: Recording | None = None
    samples: Samples | None = None
    model_torque: Array | None = None
    position_limits: Array | None = None
    torque_limit: Array | None = None
    velocity_limit: Array | None = None

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


def inspect_recording(uri: str | Path, settings: LearningSettings) -> Inspection:
    """
    Say what a person should know of a recording; it never raises for a bad one.

    Parameters
    ----------
    uri : str or Path
        Folder or file of a rosbag2.
    settings : LearningSettings
        The arm. Without `robot` nothing is said that needs its rigid-body model.

    Raises
    ------
    RobotDescriptionError
        There is no such robot.
    """
    description = None
    if settings.robot is not None:
        description = load_description(settings.robot, settings.tool_frame)
    try:
        recording = _read(uri, settings, description)
    except (RecordingError, FileAccessError) as error:
        return Inspection(str(uri), (_unreadable(str(error)),))
    if isinstance(recording, Finding):
        return Inspection(str(uri), (recording,))
    limit = settings.samples.torque_limit
    if limit is None and description is not None:
        limit = description.torque_limit.tolist()
    torque_limit = None if limit is None else np.asarray(limit, dtype=float)
    found = list(timing_findings(recording, settings.samples))
    n_clock_steps = len(recording.breaks)
    try:
        recording = without_jumps(
            recording, settings.samples.velocity_limit, settings.samples.continuous_joints
        )
    except RecordingError as error:
        return Inspection(str(uri), (_jumping(str(error)), *found), recording)
    found += position_findings(recording, n_clock_steps)
    evidence = None
    try:
        evidence = Evidence(
            recording, settings.samples, description, settings.driver_compensates_gravity
        )
    except RecordingError as error:
        found.append(_too_little(str(error)))
    if evidence is not None:
        found += [*motion_findings(evidence), *torque_findings(evidence, torque_limit)]
    order = list(Severity)
    found.sort(key=lambda finding: -order.index(finding.severity))
    velocity = settings.samples.velocity_limit
    samples, model_torque = _samples(recording, settings, evidence)
    return Inspection(
        str(uri),
        tuple(found),
        recording,
        samples,
        model_torque,
        None
        if description is None
        else np.column_stack([description.position_lower, description.position_upper]),
        torque_limit,
        None if velocity is None else np.asarray(velocity, dtype=float),
    )


def _read(
    uri: str | Path, settings: LearningSettings, description: RobotDescription | None
) -> Recording | Finding:
    """Usable states, or what makes all others meaningless."""
    recording = read_recording(
        uri,
        settings.joint_names,
        state_topic=settings.state_topic,
        command_topic=settings.command_topic,
        driver_compensates_gravity=settings.driver_compensates_gravity,
        limits=settings.limits,
        directories=settings.directories,
    )
    # Before jumps are looked for: degrees change as fast as no arm.
    degrees = None
    if description is not None:
        degrees = degrees_finding(recording.position, description, settings.joint_names)
    return recording if degrees is None else degrees


def _unreadable(text: str) -> Finding:
    return Finding("unreadable", Severity.ERROR, text, "docs/troubleshooting.md lists the reasons")


def _jumping(text: str) -> Finding:
    return Finding("position_jump", Severity.ERROR, text, "who publishes the joint states?")


def _too_little(text: str) -> Finding:
    return Finding(
        "no_excitation",
        Severity.ERROR,
        text,
        "record a motion of some ten seconds in which all joints move",
    )


def _samples(
    recording: Recording, settings: LearningSettings, evidence: Evidence | None
) -> tuple[Samples | None, Array | None]:
    """What would be learned from, and the described arm's torque there."""
    try:
        samples = training_samples(recording, settings.samples)
    except RecordingError:
        return None, None
    if evidence is None or evidence.model is None:
        return samples, None
    gravity = np.array([0.0, 0.0, -9.81]) - evidence.nominal_gravity
    torque = [
        evidence.model.inverse_dynamics(*np.split(x, 3))
        - evidence.model.gravity_columns(x[: len(x) // 3]) @ gravity
        for x in samples.X
    ]
    return samples, np.array(torque)
