# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""All findings of a recording."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ..learning import LearningSettings
from ..recording import Recording, Samples
from .finding import Finding, Severity

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
    def worst(self) -> Severity:
        """The gravest severity found; info where nothing is wrong."""
        order = list(Severity)
        return max((finding.severity for finding in self.findings), key=order.index)


def inspect_recording(uri: str | Path, settings: LearningSettings) -> Inspection:
    """
    Say what a person should know of a recording; it never raises for a bad one.

    Parameters
    ----------
    uri : str or Path
        Folder or file of a rosbag2.
    settings : LearningSettings
        The arm. Without `robot` nothing is said that needs its rigid-body model.
    """
    raise NotImplementedError
