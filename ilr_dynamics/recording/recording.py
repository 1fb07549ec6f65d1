# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Joint states of a bag with the torque that answers each of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ..exceptions import RecordingError
from .bag import DEFAULT_LIMITS, Bag, read_bag
from .joint_state import (
    JOINT_STATE,
    NANOSECONDS,
    JointSeries,
    Rejection,
    count_rejections,
    decode_joint_states,
)
from .message_collector import BagLimits, absolute_topic
from .position_tracks import DEFAULT_VELOCITY, follow_positions
from .stamp_order import judge_stamps

__all__ = [
    "GRAVITY_ANNOTATION",
    "Recording",
    "describe_rejections",
    "read_recording",
    "without_jumps",
]

GRAVITY_ANNOTATION = "driver_compensates_gravity"
"""Entry of a bag's metadata that says "true" or "false"; written by our recorder."""

MINIMUM_STATES = 3
# Share of stamps that go back beyond which messages were not written as they came.
SHUFFLED = 0.01
# Topics of a bag that an error names.
MAX_SHOWN = 20


@dataclass(frozen=True)
class Recording:
    """
    Usable joint states of a bag, ordered by stamp.

    Attributes
    ----------
    joint_names : tuple of str
        Order of the columns.
    stamp : ndarray of shape (n,), int64
        Header stamps, ns, strictly increasing: from where a clock was set back, moved on by what
        it was set back by and a period.
    position, velocity : ndarray of shape (n, n_joints)
        Measured, rad and rad/s; NaN where the driver gives no velocity.
    torque : ndarray of shape (n, n_joints)
        Nm: the torque commanded in answer to the state, or the effort the state reports.
    commanded : bool
        Whether `torque` are commands (else reported efforts): they differ in when they act.
    driver_compensates_gravity : bool
        Whether the driver adds the gravity torque to what it is sent.
    rejected : mapping of str to int
        Joint states that were left out, by reason.
    breaks : tuple of int
        States at which the motion does not go on from the one before: the clock was set back, or
        the position begins anew (`without_jumps`).
    wraps : mapping of str to int
        How many times the position of a joint was unwrapped, by its name (`without_jumps`).
    """

    joint_names: tuple[str, ...]
    stamp: NDArray[np.int64]
    position: NDArray[np.float64]
    velocity: NDArray[np.float64]
    torque: NDArray[np.float64]
    commanded: bool
    driver_compensates_gravity: bool
    rejected: Counter[str]
    breaks: tuple[int, ...] = ()
    wraps: Mapping[str, int] = field(default_factory=dict)

    @cached_property
    def time(self) -> NDArray[np.float64]:
        """Time since the first state, shape (n,), s."""
        return (self.stamp - self.stamp[:1]) / NANOSECONDS

    @cached_property
    def period(self) -> float:
        """Nominal (median) time between states, s."""
        return float(np.median(np.diff(self.stamp))) / NANOSECONDS


def read_recording(
    uri: str | Path,
    joints: Sequence[str],
    *,
    state_topic: str = "/joint_states",
    command_topic: str | None = "/joint_torque_command",
    driver_compensates_gravity: bool = False,
    limits: BagLimits = DEFAULT_LIMITS,
    directories: Sequence[str | Path] | None = None,
) -> Recording:
    """
    Read the joint states of a bag and join each with its torque.

    Parameters
    ----------
    uri : str or Path
        Folder or file of a rosbag2.
    joints : sequence of str
        Joints to read, in the order wanted; a recording may hold more.
    state_topic : str
        Topic of the measured joint states.
    command_topic : str or None
        Topic whose effort is the commanded torque, stamped with the stamp of the state it
        answers. Where it holds no messages (or with None) the effort of the states is taken.
    driver_compensates_gravity : bool
        Whether the driver adds the gravity torque to what it is sent.
    limits : BagLimits
        Refuse larger recordings.
    directories : sequence of str or Path, or None
        Where the bag and its files must lie; None: anywhere.

    Returns
    -------
    Recording

    Raises
    ------
    RecordingError
        The bag cannot be read, lacks the topic or the joints, was recorded with the other
        gravity setting, holds only efforts although the driver compensates gravity (it reports
        the total torque, not what it was sent), or has fewer than three usable states.
    FileAccessError
        The bag lies outside the allowed directories.
    """
    state_topic = absolute_topic(state_topic)
    topics = [state_topic]
    if command_topic is not None:
        topics.append(absolute_topic(command_topic))
    bag = read_bag(uri, topics, limits, directories)
    _check_topics(bag, topics, uri)
    commanded = any(bag.messages[topic] for topic in topics[1:])
    _check_gravity(bag, driver_compensates_gravity, commanded, uri)

    required = ("position",) if commanded else ("position", "effort")
    states = _decode(bag, state_topic, joints, required)
    _check_joints(states, joints, state_topic, uri)
    states, part = _in_order(states)
    torque, reason = states.effort, states.rejection
    if commanded:
        commands = _decode(bag, topics[1], joints, ("effort",))
        _check_joints(commands, joints, topics[1], uri)
        torque, reason = _join(states, commands)

    used = np.flatnonzero(reason == Rejection.NONE)
    rejected = count_rejections(reason)
    if used.size < MINIMUM_STATES:
        raise RecordingError(
            f"recording {uri} has {used.size} usable states of {len(reason)} on "
            f"{state_topic}; expected at least {MINIMUM_STATES} ({describe_rejections(rejected)})"
        )
    stamp, set_back = _moved_on(states.stamp[used], part[used])
    return Recording(
        joint_names=tuple(joints),
        stamp=stamp,
        position=states.position[used],
        velocity=states.velocity[used],
        torque=torque[used],
        commanded=commanded,
        driver_compensates_gravity=driver_compensates_gravity,
        rejected=rejected,
        breaks=tuple(set_back),
    )


def without_jumps(
    recording: Recording,
    velocity_limit: Sequence[float] | None = None,
    continuous_joints: Collection[str] = (),
) -> Recording:
    """
    Leave out states whose positions are not the arm's.

    Parameters
    ----------
    recording : Recording
    velocity_limit : sequence of float or None
        Of each joint, rad/s: states between which one is twice as fast are no motion
        (`follow_positions`). None: 10 rad/s.
    continuous_joints : collection of str
        Joints without limits: their positions are unwrapped where they jump by whole turns.

    Returns
    -------
    Recording
        The same one if nothing jumps.

    Raises
    ------
    RecordingError
        Fewer than three are left.
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
    # Where a state is left out that begins something anew, the next one does.
    begins = np.searchsorted(kept, sorted({*recording.breaks, *tracks.breaks}))
    jumped = Counter({Rejection.POSITION_JUMP.name.lower(): int(tracks.jumped.sum())})
    names = recording.joint_names
    if kept.size < MINIMUM_STATES:
        raise RecordingError(
            f"{jumped.total()} of {len(recording.stamp)} positions are farther from those before "
            "them than an arm gets in the time; expected the states of one arm, in rad"
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


def describe_rejections(rejected: Mapping[str, int]) -> str:
    """Rejected samples by reason, as a phrase for messages."""
    if not rejected:
        return "none rejected"
    return "rejected: " + ", ".join(f"{count} {reason}" for reason, count in rejected.items())


def _check_topics(bag: Bag, topics: Sequence[str], uri: str | Path) -> None:
    """Refuse a bag without joint states, or with another type on one of the topics."""
    if topics[0] not in bag.types:
        found = ", ".join(sorted(bag.types)[:MAX_SHOWN]) or "no topics"
        raise RecordingError(f"recording {uri} has {found}; expected the topic {topics[0]}")
    for topic in topics:
        if bag.types.get(topic, JOINT_STATE) != JOINT_STATE:
            raise RecordingError(
                f"recording {uri} has {bag.types[topic]} on {topic}; expected {JOINT_STATE}"
            )
    if not bag.messages[topics[0]]:
        raise RecordingError(f"recording {uri} has no messages on {topics[0]}; expected some")


def _check_gravity(
    bag: Bag, driver_compensates_gravity: bool, commanded: bool, uri: str | Path
) -> None:
    noted = bag.annotations.get(GRAVITY_ANNOTATION)
    if noted is not None and noted != str(driver_compensates_gravity).lower():
        raise RecordingError(
            f"recording {uri} was made with {GRAVITY_ANNOTATION} = {noted}; "
            f"expected {str(driver_compensates_gravity).lower()}"
        )
    if driver_compensates_gravity and not commanded:
        raise RecordingError(
            f"recording {uri} has no commanded torques, and the efforts of its joint states "
            "contain the gravity torque that the driver adds; expected commanded torques"
        )


def _check_joints(series: JointSeries, joints: Sequence[str], topic: str, uri: str | Path) -> None:
    """Refuse a topic on which no message names all joints."""
    readable = series.rejection != Rejection.UNREADABLE
    if readable.any() and (series.rejection[readable] == Rejection.OTHER_JOINTS).all():
        raise RecordingError(
            f"recording {uri} has the joints {', '.join(series.names) or '(none)'} on {topic}; "
            f"expected {', '.join(joints)}"
        )


def _decode(bag: Bag, topic: str, joints: Sequence[str], required: Collection[str]) -> JointSeries:
    """Decode the messages of a topic, in the order of writing or of receipt.

    Either may be another than that of the states: tools write what they merge as they like, and
    the clock of receipt may be set, or one receipt be wrong. That of writing counts unless many
    stamps go back in it and fewer in the other.
    """
    series = decode_joint_states(bag.messages[topic], joints, required, bag.places[topic])
    written = np.argsort(series.place, kind="stable")
    sound = series.rejection == Rejection.NONE
    by_receipt = np.count_nonzero(np.diff(series.stamp[sound]) < 0)
    by_place = np.count_nonzero(np.diff(series.stamp[written][sound[written]]) < 0)
    if by_place <= by_receipt + SHUFFLED * len(written):
        return _taken(series, written)
    return series


def _taken(series: JointSeries, rows: NDArray[np.intp]) -> JointSeries:
    return JointSeries(
        series.stamp[rows],
        series.position[rows],
        series.velocity[rows],
        series.effort[rows],
        series.rejection[rows],
        series.place[rows],
        series.names,
    )


def _in_order(series: JointSeries) -> tuple[JointSeries, NDArray[np.intp]]:
    """Sort by stamp, and say which part between two settings of the clock each is of."""
    usable = np.flatnonzero(series.rejection == Rejection.NONE)
    of_usable, found = judge_stamps(series.stamp[usable])
    rejection = series.rejection.copy()
    rejection[usable] = found
    part = np.zeros(len(rejection), dtype=np.intp)
    part[usable] = of_usable
    order = np.lexsort((series.stamp, part))
    return _taken(replace(series, rejection=rejection), order), part[order]


def _moved_on(
    stamp: NDArray[np.int64], part: NDArray[np.intp]
) -> tuple[NDArray[np.int64], list[int]]:
    """Stamps that rise from part to part too, and the rows at which a part begins."""
    begins = np.flatnonzero(np.diff(part) > 0) + 1
    stamp = stamp.copy()
    for row in begins.tolist():
        period = np.int64(np.median(np.diff(stamp[:row]))) if row > 1 else np.int64(1)
        behind = stamp[row - 1] + period - stamp[row]
        stamp[row:] += max(behind, np.int64(0))
    return stamp, begins.tolist()


def _join(
    states: JointSeries, commands: JointSeries
) -> tuple[NDArray[np.float64], NDArray[np.uint8]]:
    """Torque that carries the stamp of each state, and why a state cannot be used.

    Where the clock was set back, stamps come again: a command answers the state beside which it
    was written.
    """
    torque = np.full(states.effort.shape, np.nan)
    reason = np.full(len(states.stamp), Rejection.NO_TORQUE, dtype=np.uint8)
    # With the rejection as second key, a sound command comes before a damaged one.
    order = np.lexsort((commands.rejection, commands.stamp))
    stamp = commands.stamp[order]
    first = np.searchsorted(stamp, states.stamp, side="left")
    count = np.searchsorted(stamp, states.stamp, side="right") - first
    rows = np.flatnonzero((states.rejection == Rejection.NONE) & (count > 0))
    rows = rows[np.argsort(states.stamp[rows], kind="stable")]
    torque[rows] = commands.effort[order[first[rows]]]
    reason[rows] = commands.rejection[order[first[rows]]]
    same = np.split(rows, np.flatnonzero(np.diff(states.stamp[rows]) > 0) + 1)
    for rivals in same:
        if len(rivals) < 2:
            continue
        reason[rivals] = Rejection.NO_TORQUE
        answers = order[first[rivals[0]] : first[rivals[0]] + count[rivals[0]]]
        # Sound ones last, to count.
        for answer in answers[::-1].tolist():
            nearest = np.argmin(np.abs(states.place[rivals] - commands.place[answer]))
            torque[rivals[nearest]] = commands.effort[answer]
            reason[rivals[nearest]] = commands.rejection[answer]
    reason = np.where(states.rejection == Rejection.NONE, reason, states.rejection)
    return torque, reason.astype(np.uint8)
