# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Recording: the joint states of a bag, each with its commanded or measured torque."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ilr_dynamics.arrays import FloatArray
from ilr_dynamics.exceptions import RecordingError
from ilr_dynamics.recording.joint_state import NANOSECONDS
from ilr_dynamics.recording.position_tracks import DEFAULT_VELOCITY, follow_positions
from ilr_dynamics.recording.rejection import Rejection
from ilr_dynamics.recording.stamp_order import median_step

__all__ = ["MINIMUM_STATES", "Recording", "without_jumps"]

MINIMUM_STATES = 3


@dataclass(frozen=True)
class Recording:
    """
    Usable joint states of a bag, ordered by stamp.

    Attributes
    ----------
    joint_names : tuple of str
        Order of the columns.
    stamp : ndarray of shape (n,), int64
        Header stamps, ns, strictly increasing. From where a clock was set they are shifted so
        that they continue after one period.
    position : ndarray of shape (n, n_joints)
        Measured positions, rad.
    velocity : ndarray of shape (n, n_joints), float32
        Measured velocities, rad/s; NaN where the driver has none. They are inspected, but models
        do not learn from them.
    torque : ndarray of shape (n, n_joints), float32
        Torque commanded in answer to the state, or the effort in the state, Nm.
    commanded : bool
        Whether `torque` is commanded; otherwise it is a reported effort, which acts at another
        time.
    driver_compensates_gravity : bool
        Whether the driver adds the gravity torque to the command.
    rejected : mapping of str to int
        Number of joint states that were left out, by reason.
    breaks : tuple of int
        States that do not continue the motion of the previous one: the clock was set, or the
        position has jumped for good (`without_jumps`).
    wraps : mapping of str to int
        Number of wraps removed from the position of a joint, by its name (`without_jumps`).
    not_finite : mapping of str to int
        Number of values that are infinite or not numbers, by field and joint.
    guided : tuple of (int, int)
        Stamps, ns, of the first and last state of each stretch that was left out because a person
        guided the arm.
    unread_reports : tuple of str
        Topics with reports of a controller, if none of them is the topic that was asked for: what
        was guided is not left out.
    """

    joint_names: tuple[str, ...]
    stamp: NDArray[np.int64]
    position: FloatArray
    velocity: NDArray[np.floating]
    torque: NDArray[np.floating]
    commanded: bool
    driver_compensates_gravity: bool
    rejected: Counter[str]
    breaks: tuple[int, ...] = ()
    wraps: Mapping[str, int] = field(default_factory=dict)
    not_finite: Mapping[str, int] = field(default_factory=dict)
    guided: tuple[tuple[int, int], ...] = ()
    unread_reports: tuple[str, ...] = ()

    @cached_property
    def time(self) -> FloatArray:
        """Time since the first state, shape (n,), s."""
        time = np.empty(len(self.stamp))
        # In place: an intermediate array of integers would take as much memory again.
        np.subtract(self.stamp, self.stamp[:1], out=time, casting="unsafe")
        time /= NANOSECONDS
        return time

    @cached_property
    def period(self) -> float:
        """Nominal (median) time between states, s."""
        return median_step(self.stamp) / NANOSECONDS


def without_jumps(
    recording: Recording,
    velocity_limit: Sequence[float] | None = None,
    continuous_joints: Collection[str] = (),
) -> Recording:
    """
    Remove the states whose positions are not the arm's.

    Parameters
    ----------
    recording : Recording
        States with their torques.
    velocity_limit : sequence of float or None
        Velocity limit of each joint, rad/s: a faster change than twice that is a jump
        (`follow_positions`). None: 10 rad/s.
    continuous_joints : collection of str
        Names of the continuous joints, whose positions are unwrapped.

    Returns
    -------
    Recording
        The given one if there are no jumps.

    Raises
    ------
    RecordingError
        If fewer than three states are left.
    """
    tracks = follow_positions(
        recording.time,
        recording.position,
        DEFAULT_VELOCITY if velocity_limit is None else velocity_limit,
        [joint in continuous_joints for joint in recording.joint_names],
    )
    if not (tracks.jumped.any() or tracks.breaks or tracks.wraps.any()):
        return recording
    kept = np.flatnonzero(~tracks.jumped)
    # If the first state after a break was removed, the next one takes its place.
    begins = np.searchsorted(kept, sorted({*recording.breaks, *tracks.breaks}))
    jumped = Counter({Rejection.POSITION_JUMP.name.lower(): int(tracks.jumped.sum())})
    names = recording.joint_names
    if kept.size < MINIMUM_STATES:
        raise RecordingError(
            f"{jumped.total()} of {len(recording.stamp)} positions are farther from those before "
            "them than an arm can move in the time; expected the states of one arm, in rad"
        )
    return replace(
        recording,
        stamp=recording.stamp[kept],
        position=tracks.position[kept],
        velocity=recording.velocity[kept],
        torque=recording.torque[kept],
        rejected=recording.rejected + jumped,
        breaks=tuple(begins.tolist()),
        wraps={joint: int(n) for joint, n in zip(names, tracks.wraps, strict=True) if n},
    )
