# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Joint states of a bag with the torque that answers each of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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

__all__ = ["GRAVITY_ANNOTATION", "Recording", "describe_rejections", "read_recording"]

GRAVITY_ANNOTATION = "driver_compensates_gravity"
"""Entry of a bag's metadata that says "true" or "false"; written by our recorder."""

MINIMUM_STATES = 3
# Topics of a bag that an error names.
MAX_SHOWN = 20
REORDERING = 100_000_000
"""
A stamp this far behind the newest one, in ns, is no message overtaken on its way (those are
put in order) but a clock set back: its states would be mixed into the motion they repeat."""


@dataclass(frozen=True)
class Recording:
    """
    Usable joint states of a bag, ordered by stamp.

    Attributes
    ----------
    joint_names : tuple of str
        Order of the columns.
    stamp : ndarray of shape (n,), int64
        Header stamps, ns, strictly increasing.
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
    """

    joint_names: tuple[str, ...]
    stamp: NDArray[np.int64]
    position: NDArray[np.float64]
    velocity: NDArray[np.float64]
    torque: NDArray[np.float64]
    commanded: bool
    driver_compensates_gravity: bool
    rejected: Counter[str]

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
    states = decode_joint_states(bag.messages[state_topic], joints, required)
    _check_joints(states, joints, state_topic, uri)
    states = _in_order(states)
    torque, reason = states.effort, states.rejection
    if commanded:
        commands = decode_joint_states(bag.messages[topics[1]], joints, ("effort",))
        _check_joints(commands, joints, topics[1], uri)
        torque, reason = _join(states, commands)

    used = reason == Rejection.NONE
    rejected = count_rejections(reason)
    if np.count_nonzero(used) < MINIMUM_STATES:
        raise RecordingError(
            f"recording {uri} has {np.count_nonzero(used)} usable states of {len(used)} on "
            f"{state_topic}; expected at least {MINIMUM_STATES} ({describe_rejections(rejected)})"
        )
    return Recording(
        joint_names=tuple(joints),
        stamp=states.stamp[used],
        position=states.position[used],
        velocity=states.velocity[used],
        torque=torque[used],
        commanded=commanded,
        driver_compensates_gravity=driver_compensates_gravity,
        rejected=rejected,
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


def _in_order(series: JointSeries) -> JointSeries:
    """Sort by stamp; reject stamps of a clock set back and all but the first of equal stamps."""
    rejection = series.rejection.copy()
    usable = np.flatnonzero(rejection == Rejection.NONE)
    stamp = series.stamp[usable]
    backward = stamp < np.maximum.accumulate(stamp) - REORDERING
    rejection[usable[backward]] = Rejection.BACKWARD_STAMP
    usable = usable[~backward]
    usable = usable[np.argsort(series.stamp[usable], kind="stable")]
    repeated = np.diff(series.stamp[usable], prepend=np.int64(-1)) == 0
    rejection[usable[repeated]] = Rejection.REPEATED_STAMP

    order = np.argsort(series.stamp, kind="stable")
    return JointSeries(
        series.stamp[order],
        series.position[order],
        series.velocity[order],
        series.effort[order],
        rejection[order],
        series.names,
    )


def _join(
    states: JointSeries, commands: JointSeries
) -> tuple[NDArray[np.float64], NDArray[np.uint8]]:
    """Torque that carries the stamp of each state, and why a state cannot be used."""
    # With the rejection as second key, a sound command comes before a damaged one.
    order = np.lexsort((commands.rejection, commands.stamp))
    stamp = commands.stamp[order]
    place = np.minimum(np.searchsorted(stamp, states.stamp), len(stamp) - 1)
    answered = stamp[place] == states.stamp
    reason = np.where(answered, commands.rejection[order[place]], Rejection.NO_TORQUE)
    reason = np.where(states.rejection == Rejection.NONE, reason, states.rejection)
    return commands.effort[order[place]], reason.astype(np.uint8)
