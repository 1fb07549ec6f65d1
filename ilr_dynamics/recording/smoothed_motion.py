# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Inputs of inverse dynamics from arrays of positions, as the learner makes them of recordings."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ilr_dynamics.arrays import FloatArray, IndexArray
from ilr_dynamics.exceptions import InvalidDataError
from ilr_dynamics.recording.sample_settings import (
    DEFAULT_SETTINGS,
    SampleSettings,
    check_settings,
    half_window,
)
from ilr_dynamics.recording.smoothing import smooth

__all__ = ["SmoothedMotion", "smoothed_motion"]


@dataclass(frozen=True)
class SmoothedMotion:
    """
    Motion of an arm, smoothed and differentiated.

    Attributes
    ----------
    rows : ndarray of shape (n,), int
        Rows of the given arrays that the samples belong to: those with a full window of the
        filter around them.
    X : ndarray of shape (n, 3 n_joints)
        Position, velocity and acceleration [q, qd, qdd], rad, rad/s, rad/s^2.
    Y : ndarray of shape (n, n_joints) or None
        Torques under the same filter, Nm; None where none were given.
    """

    rows: IndexArray
    X: FloatArray
    Y: FloatArray | None


def smoothed_motion(
    time: ArrayLike,
    position: ArrayLike,
    velocity: ArrayLike | None = None,
    torque: ArrayLike | None = None,
    settings: SampleSettings = DEFAULT_SETTINGS,
) -> SmoothedMotion:
    """
    Smooth and differentiate the motion of an arm without delay.

    The filter is that of `training_samples`: a polynomial around each row, fitted at the actual
    times, so that uneven steps do no harm. Rows within half a window of the ends or of a gap give
    no sample. Unlike `training_samples` it takes all rows for states of the arm, unwraps nothing
    and does not move the torque in time.

    Parameters
    ----------
    time : array_like of shape (n_rows,)
        Times of the rows, s, strictly increasing.
    position : array_like of shape (n_rows, n_joints)
        Joint positions, rad.
    velocity : array_like of shape (n_rows, n_joints), optional
        Joint velocities, rad/s, if they are measured better than positions are differentiated:
        velocity and acceleration then come from these.
    torque : array_like of shape (n_rows, n_joints), optional
        Joint torques, Nm, to be smoothed by the same filter.
    settings : SampleSettings
        `filter_window`, `filter_order` and `max_gap`; others are not used.

    Returns
    -------
    SmoothedMotion

    Raises
    ------
    InvalidDataError
        If the arrays are not finite, do not fit together or are shorter than the filter.
    InvalidParameterError
        If a setting is out of range.
    """
    times = np.asarray(time, dtype=float)
    q = _columns("position", position, times)
    n_joints = q.shape[1]
    check_settings(settings, n_joints)
    signals = [q]
    for name, values in (("velocity", velocity), ("torque", torque)):
        if values is not None:
            signals.append(_columns(name, values, times, n_joints))
    step = np.diff(times)
    if not np.all(step > 0.0):
        raise InvalidDataError("time does not increase strictly; expected one time for each row")
    period = float(np.median(step)) if step.size else np.inf
    half_width = half_window(settings, period)
    stretches = np.split(
        np.arange(len(times)), np.flatnonzero(step > settings.max_gap * period) + 1
    )
    long_ones = [rows for rows in stretches if len(rows) > 2 * half_width]
    if not long_ones:
        raise InvalidDataError(
            f"the longest stretch without a gap has {max(map(len, stretches))} rows; expected at "
            f"least {2 * half_width + 1}, as many as the filter's window has"
        )
    together = np.hstack(signals)
    parts = [
        smooth(times[rows], together[rows], half_width, settings.filter_order)
        for rows in long_ones
    ]
    value, first, second = (np.concatenate(part) for part in zip(*parts, strict=True))
    q, qd, qdd = (part[:, :n_joints] for part in (value, first, second))
    if velocity is not None:
        qd, qdd = (part[:, n_joints : 2 * n_joints] for part in (value, first))
    return SmoothedMotion(
        rows=np.concatenate([rows[half_width:-half_width] for rows in long_ones]),
        X=np.hstack([q, qd, qdd]),
        Y=None if torque is None else value[:, -n_joints:],
    )


def _columns(
    name: str, values: ArrayLike, time: FloatArray, n_joints: int | None = None
) -> FloatArray:
    """Check a signal of one column a joint."""
    array = np.asarray(values, dtype=float)
    joints = "n_joints" if n_joints is None else n_joints
    fits = array.ndim == 2 and n_joints in (None, array.shape[1]) and array.shape[1] > 0
    if time.ndim != 1 or not fits or len(array) != len(time):
        raise InvalidDataError(
            f"time and {name} have the shapes {time.shape} and {array.shape}; expected (n_rows,) "
            f"and (n_rows, {joints})"
        )
    if not (np.isfinite(array).all() and np.isfinite(time).all()):
        raise InvalidDataError(f"time and {name} are not finite; expected finite numbers")
    return array
