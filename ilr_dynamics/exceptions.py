# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Exceptions and warnings of ilr_dynamics; each names what was found and what was expected."""

from __future__ import annotations

__all__ = [
    "ConvergenceWarning",
    "DoubtfulDataWarning",
    "FileAccessError",
    "IlrDynamicsError",
    "InvalidDataError",
    "InvalidParameterError",
    "LearnerError",
    "NotFittedError",
    "RecordingError",
    "RobotDescriptionError",
    "SnapshotError",
    "TrajectoryError",
]


class ConvergenceWarning(UserWarning):
    """
    Inference ended at its last iteration, before its lower bound had settled.

    It has the name and the base of scikit-learn's. It is not a subclass of that one, which a
    package that does not depend on scikit-learn could only have where it is installed: filters
    would then differ from machine to machine.
    """


class DoubtfulDataWarning(UserWarning):
    """Samples do not look like those of the system that a global model describes."""


class IlrDynamicsError(Exception):
    """Base class of all errors of this package."""


class InvalidParameterError(IlrDynamicsError, ValueError):
    """A parameter is outside its allowed range."""


class InvalidDataError(IlrDynamicsError, ValueError):
    """An array has the wrong shape or holds values that are not finite."""


class NotFittedError(IlrDynamicsError, ValueError, AttributeError):
    """A model was to predict before it was fitted."""


class FileAccessError(IlrDynamicsError):
    """A file must not or cannot be opened: its place, its kind or its size is not allowed."""


class SnapshotError(IlrDynamicsError):
    """A snapshot file cannot be read, is damaged, or belongs to another robot."""


class RecordingError(IlrDynamicsError):
    """A recording cannot be read or holds no usable samples."""


class RobotDescriptionError(IlrDynamicsError):
    """A robot description is missing, malformed or does not fit the requested joints."""


class TrajectoryError(IlrDynamicsError):
    """A trajectory cannot be followed in the form in which it was sent."""


class LearnerError(IlrDynamicsError):
    """The learner process failed, was cancelled or returned no usable result."""
