# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Training samples of inverse dynamics from recorded joint states."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ilr_dynamics.arrays import BoolArray, FloatArray, IndexArray
from ilr_dynamics.exceptions import RecordingError
from ilr_dynamics.recording.growing_array import GrowingArray
from ilr_dynamics.recording.joint_state import NANOSECONDS
from ilr_dynamics.recording.recording import Recording, without_jumps
from ilr_dynamics.recording.rejection import Rejection, count_rejections
from ilr_dynamics.recording.rejection_texts import describe_rejections
from ilr_dynamics.recording.sample_settings import (
    DEFAULT_SETTINGS,
    SampleSettings,
    check_settings,
    half_window,
)
from ilr_dynamics.recording.smoothing import smooth

__all__ = ["Samples", "training_samples"]

# Number of states smoothed at a time: it bounds the memory to some MB.
BLOCK = 1 << 13


@dataclass(frozen=True)
class Samples:
    """
    Training samples of inverse dynamics.

    Attributes
    ----------
    time : ndarray of shape (n,)
        Time since the recording's first state, s.
    X : ndarray of shape (n, 3 n_joints)
        Inputs: position, velocity and acceleration [q, qd, qdd], rad, rad/s, rad/s^2.
    Y : ndarray of shape (n, n_joints)
        Outputs: torque at the same time, Nm.
    joint_names : tuple of str
        Order of the joints.
    driver_compensates_gravity : bool
        Whether the driver adds the gravity torque to `Y`.
    rejected : mapping of str to int
        Number of states that gave no sample, by reason.
    """

    time: FloatArray
    X: FloatArray
    Y: FloatArray
    joint_names: tuple[str, ...]
    driver_compensates_gravity: bool
    rejected: Counter[str]

    @property
    def n_used(self) -> int:
        """Number of samples."""
        return len(self.X)


def training_samples(recording: Recording, settings: SampleSettings = DEFAULT_SETTINGS) -> Samples:
    """
    Align, smooth and differentiate a recording.

    States whose positions jump are removed. The torque is shifted to the time at which it acts.
    Position and torque are then smoothed by the same filter within each stretch without gaps;
    velocity and acceleration are the derivatives of the smoothed position. States within half a
    window of a gap give no sample.

    Parameters
    ----------
    recording : Recording
        States with their torque.
    settings : SampleSettings
        Filter, thinning and rejection.

    Returns
    -------
    Samples
        Every state of the recording is either a sample or counted as rejected.

    Raises
    ------
    InvalidParameterError
        If a setting is out of range.
    RecordingError
        If too few samples are left, or no joint moved.
    """
    check_settings(settings, len(recording.joint_names))
    recording = without_jumps(recording, settings.velocity_limit, settings.continuous_joints)
    reason = np.zeros(len(recording.stamp), dtype=np.uint8)
    reason[_saturated(recording, settings)] = Rejection.SATURATED_TORQUE
    X, Y = _smooth_stretches(recording, settings, reason)

    used = np.flatnonzero(reason == Rejection.NONE)
    rejected = recording.rejected + count_rejections(reason)
    if len(used) < settings.minimum_samples:
        raise RecordingError(
            f"the recording gives {len(used)} samples from "
            f"{len(reason) + recording.rejected.total()} joint states; expected at least "
            f"{settings.minimum_samples} ({describe_rejections(rejected)})"
        )
    n_joints = len(recording.joint_names)
    moved = float(np.ptp(X[:, :n_joints], axis=0).max())
    if moved < settings.minimum_range:
        raise RecordingError(
            f"nothing moved in the recording: the largest range of a joint is {moved:.2g} rad; "
            f"expected at least {settings.minimum_range:g} rad"
        )
    return Samples(
        time=recording.time[used],
        X=X,
        Y=Y,
        joint_names=recording.joint_names,
        driver_compensates_gravity=recording.driver_compensates_gravity,
        rejected=rejected,
    )


def _saturated(recording: Recording, settings: SampleSettings) -> IndexArray:
    if settings.torque_limit is None:
        return np.array([], dtype=np.intp)
    saturated = np.zeros(len(recording.stamp), dtype=bool)
    for torque, limit in zip(recording.torque.T, settings.torque_limit, strict=True):
        # The limit is rounded like the torque, so that equal values stay equal.
        saturated |= np.abs(torque) >= torque.dtype.type(limit)
    return np.flatnonzero(saturated)


def _smooth_stretches(
    recording: Recording, settings: SampleSettings, reason: NDArray[np.uint8]
) -> tuple[FloatArray, FloatArray]:
    """Inputs and torques of the samples; rejections of other states are set in `reason`."""
    n_joints = len(recording.joint_names)
    most = len(reason)
    if settings.sample_rate is not None:
        most = min(most, int(recording.time[-1] * settings.sample_rate) + 2)
    X = GrowingArray(np.float64, 3 * n_joints, most)
    Y = GrowingArray(np.float64, n_joints, most)
    half_width = half_window(settings, recording.period)
    delay = settings.command_delay if recording.commanded else settings.effort_delay
    selection = _Selection(recording, settings, reason)
    for rows in _stretches(recording, settings, np.flatnonzero(reason == Rejection.NONE)):
        stretch = _Stretch(recording, rows, delay * recording.period)
        if stretch.n_known <= 2 * half_width:
            reason[rows] = Rejection.SHORT_STRETCH
            continue
        reason[rows] = Rejection.FILTER_EDGE
        reason[stretch.known[half_width:-half_width]] = Rejection.NONE
        # In blocks to save memory, as often only few of the states become samples.
        for start in range(half_width, stretch.n_known - half_width, BLOCK):
            centres = np.arange(start, min(start + BLOCK, stretch.n_known - half_width))
            centres = centres[selection.before_smoothing(stretch.known[centres])]
            if not centres.size:
                continue
            reached = slice(centres[0] - half_width, centres[-1] + half_width + 1)
            value, first, second = smooth(
                stretch.time(reached),
                stretch.signals(reached),
                half_width,
                settings.filter_order,
                centres - reached.start,
            )
            x = np.hstack([signal[:, :n_joints] for signal in (value, first, second)])
            chosen = selection.after_smoothing(stretch.known[centres], x)
            X.append(x[chosen])
            Y.append(value[chosen, n_joints:])
    return X.finish(), Y.finish()


def _stretches(
    recording: Recording, settings: SampleSettings, rows: IndexArray
) -> list[IndexArray]:
    """Split rows at gaps in time and at breaks of the motion."""
    if rows.size == 0:
        return []
    step = np.diff(recording.stamp[rows]) / NANOSECONDS
    part = np.searchsorted(recording.breaks, rows, side="right")
    ends = (step > settings.max_gap * recording.period) | (np.diff(part) > 0)
    return np.split(rows, np.flatnonzero(ends) + 1)


class _Stretch:
    """
    Stretch of states without a gap.

    Attributes
    ----------
    known : ndarray of shape (n_known,)
        Rows of the states at whose time the torque is known.
    """

    def __init__(self, recording: Recording, rows: IndexArray, delay: float) -> None:
        time = recording.time[rows]
        sent = time - delay
        self.known = rows[(time[0] <= sent) & (sent <= time[-1])]
        self.n_known = len(self.known)
        self._recording, self._rows, self._delay, self._time = recording, rows, delay, time

    def time(self, block: slice) -> FloatArray:
        """Times of a block of the known states, s."""
        return self._recording.time[self.known[block]]

    def signals(self, block: slice) -> FloatArray:
        """Positions and torques of a block of the known states, (n, 2 n_joints), rad and Nm."""
        sent = self.time(block) - self._delay
        # Interpolate only from the states around the block.
        first = max(int(np.searchsorted(self._time, sent[0], side="right")) - 1, 0)
        last = int(np.searchsorted(self._time, sent[-1])) + 1
        torque = self._recording.torque[self._rows[first:last]]
        columns = [np.interp(sent, self._time[first:last], signal) for signal in torque.T]
        return np.column_stack([self._recording.position[self.known[block]], *columns])


class _Selection:
    """
    Selection of the states that become samples; rejections of others are set in `reason`.

    The first state in each interval of the sample rate is selected, before smoothing, which takes
    most of the time. Only if the speed matters more states are smoothed.
    """

    def __init__(
        self, recording: Recording, settings: SampleSettings, reason: NDArray[np.uint8]
    ) -> None:
        self._recording, self._settings, self._reason = recording, settings, reason
        self._slot = -1.0

    def before_smoothing(self, rows: IndexArray) -> BoolArray:
        """Whether each of the next states (n,) may become a sample."""
        if self._settings.minimum_speed is not None:
            return np.ones(len(rows), dtype=bool)
        return self._first_of_slots(rows)

    def after_smoothing(self, rows: IndexArray, x: FloatArray) -> BoolArray:
        """Whether each of these states (n,), with inputs (n, 3 n_joints), becomes a sample."""
        if self._settings.minimum_speed is None:
            return np.ones(len(rows), dtype=bool)
        n_joints = x.shape[1] // 3
        speed = np.abs(x[:, n_joints : 2 * n_joints]).max(axis=1)
        chosen = speed >= self._settings.minimum_speed
        self._reason[rows[~chosen]] = Rejection.STANDING_STILL
        chosen[chosen] = self._first_of_slots(rows[chosen])
        return chosen

    def _first_of_slots(self, rows: IndexArray) -> BoolArray:
        if self._settings.sample_rate is None or not rows.size:
            return np.ones(len(rows), dtype=bool)
        # The small number assigns a state on a boundary to the upper interval.
        slot = np.floor(self._recording.time[rows] * self._settings.sample_rate + 1e-6)
        first = np.diff(slot, prepend=self._slot) != 0.0
        self._slot = float(slot[-1])
        self._reason[rows[~first]] = Rejection.THINNED
        return first
