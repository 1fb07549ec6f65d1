# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Errors raised by ilr_dynamics; each message names the value found and what was expected."""

from __future__ import annotations

__all__ = [
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


class IlrDynamicsError(Exception):
    """Base of all errors of this package: catch it to catch them all."""


class InvalidParameterError(IlrDynamicsError, ValueError):
    """A parameter lies outside what is allowed."""


class InvalidDataError(IlrDynamicsError, ValueError):
    """An array has the wrong shape or holds values that are not finite."""


class NotFittedError(IlrDynamicsError, ValueError, AttributeError):
    """A model was asked to predict before it has seen data."""


class FileAccessError(IlrDynamicsError):
    """A file must not or cannot be opened: not allowed there, of the wrong kind or too large."""


class SnapshotError(IlrDynamicsError):
    """A snapshot file cannot be read, is damaged, or belongs to another robot."""


class RecordingError(IlrDynamicsError):
    """A recording cannot be read or holds nothing to learn from."""


class RobotDescriptionError(IlrDynamicsError):
    """A robot description is missing, malformed or does not fit the joints asked for."""


class TrajectoryError(IlrDynamicsError):
    """A trajectory cannot be followed as it was sent."""


class LearnerError(IlrDynamicsError):
    """The learner process failed, was cancelled or gave no usable answer."""
