# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Reading of a recording: from the messages of a bag to states in order, each with its torque."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ilr_dynamics.arrays import IndexArray
from ilr_dynamics.exceptions import RecordingError
from ilr_dynamics.recording.bag import DEFAULT_LIMITS, Bag, Progress, ignore_progress, read_bag
from ilr_dynamics.recording.guided_states import (
    CONTROLLER_STATE,
    ControllerModes,
    guided_states,
    without_guided,
)
from ilr_dynamics.recording.joint_state import JOINT_STATE, NANOSECONDS
from ilr_dynamics.recording.joint_state_columns import JointStateColumns
from ilr_dynamics.recording.joint_state_layout import FIELDS
from ilr_dynamics.recording.message_collector import BagLimits, MessageConsumer, absolute_topic
from ilr_dynamics.recording.recording import MINIMUM_STATES, Recording
from ilr_dynamics.recording.rejection import Rejection, count_rejections
from ilr_dynamics.recording.rejection_texts import advise, describe_rejections
from ilr_dynamics.recording.stamp_order import judge_stamps, long_steps
from ilr_dynamics.recording.topic_series import TopicSeries, keep_rows, rises, take_rows
from ilr_dynamics.recording.torque_join import join_torques

__all__ = ["GRAVITY_ANNOTATION", "NAMESPACE_ANNOTATION", "PREFIX_ANNOTATION", "read_recording"]

GRAVITY_ANNOTATION = "driver_compensates_gravity"
"""Entry of a bag's metadata with the value "true" or "false"; written by our recorder."""
NAMESPACE_ANNOTATION = "namespace"
"""Entry with the ROS namespace of the arm's topics, such as "/left"; written by our recorder."""
PREFIX_ANNOTATION = "prefix"
"""Entry with what the names of the arm's joints begin with; written by our recorder."""

# Fields that a usable state (with commanded or reported torque) and a usable command must have.
OF_STATES, WITH_EFFORT, OF_COMMANDS = ("position",), ("position", "effort"), ("effort",)
# Gap from which on a clock was set, ns, as no recording pauses for a day: some drivers start at
# time 0 and set their clock later.
SET_AHEAD = 86_400 * NANOSECONDS
# Largest number of topics that an error message names.
MAX_SHOWN = 20

Reasons = NDArray[np.uint8]


def read_recording(
    uri: str | Path,
    joints: Sequence[str],
    *,
    state_topic: str = "/joint_states",
    command_topic: str | None = "/joint_torque_command",
    controller_state_topic: str | None = None,
    driver_compensates_gravity: bool = False,
    limits: BagLimits = DEFAULT_LIMITS,
    directories: Sequence[str | Path] | None = None,
    progress: Progress = ignore_progress,
) -> Recording:
    """
    Read the joint states of a bag and join each with its torque.

    The memory is that of the numbers read, not of the bag: at most `limits.max_memory`, and twice
    that where stamps have to be sorted.

    Parameters
    ----------
    uri : str or Path
        Folder or file of a rosbag2.
    joints : sequence of str
        Joints to read, in the order wanted; a recording may hold more.
    state_topic : str
        Topic of the measured joint states.
    command_topic : str or None
        Topic whose effort is the commanded torque, with the stamp of the state it answers. If it
        has no messages, or with None, the effort of the states is used.
    controller_state_topic : str or None
        Topic of the controller's reports: states in which a person guided the arm are left out,
        as no topic has the force of the hand (`guided_states`). With None, or if there are no
        such messages, no state is; topics of other names that have some are in the result.
    driver_compensates_gravity : bool
        Whether the driver adds the gravity torque to the command.
    limits : BagLimits
        Limits beyond which a recording is refused.
    directories : sequence of str or Path, or None
        Allowed directories of the bag and its files; None: any.
    progress : Progress
        Callback with the share of the bag that has been read.

    Returns
    -------
    Recording

    Raises
    ------
    RecordingError
        If the bag cannot be read, lacks the topic or the joints, was recorded with the other
        gravity setting, holds only efforts although the driver compensates gravity (they are the
        total torque, not the command), or has fewer than three usable states.
    FileAccessError
        If the bag is outside the allowed directories.
    """
    state_topic = absolute_topic(state_topic)
    states = JointStateColumns(joints, FIELDS, [OF_STATES, WITH_EFFORT])
    commands = _Commands(joints, states)
    consumers: dict[str, MessageConsumer] = {state_topic: states}
    if command_topic is not None and absolute_topic(command_topic) != state_topic:
        consumers[absolute_topic(command_topic)] = commands
    reports = ControllerModes()
    if controller_state_topic is not None:
        consumers.setdefault(absolute_topic(controller_state_topic), reports)
    bag = read_bag(uri, consumers, limits, directories, progress)
    _check_topics(bag, consumers, len(states), uri)
    commanded = len(commands) > 0
    _check_gravity(bag, driver_compensates_gravity, commanded, uri)

    required = OF_STATES if commanded else WITH_EFFORT
    not_finite = states.not_finite(required)
    if commanded:
        not_finite |= commands.not_finite(OF_COMMANDS, "commanded ")
    series = states.finish(required)
    answers = commands.finish(OF_COMMANDS)
    _check_joints(series.rejection, states.names, joints, state_topic, uri)
    n_states = len(series.stamp)
    series, part, reasons = _in_order(series)
    first_stamps = series.stamp[:MINIMUM_STATES].tolist()
    if commanded:
        _check_joints(answers.rejection, commands.names, joints, list(consumers)[1], uri)
        of_states, of_commands, *_ = consumers
        series, reason = join_torques(
            series, answers, lambda: (bag.places(of_states), bag.places(of_commands))
        )
        reasons.append(reason)
        if (reason != Rejection.NONE).any():
            part = part[reason == Rejection.NONE]
    rejected = count_rejections(np.concatenate(reasons))

    n = len(series.stamp)
    if n < MINIMUM_STATES:
        advice = advise(rejected, not_finite, first_stamps)
        raise RecordingError(
            f"recording {uri} has {n} usable states of {n_states} on {state_topic}; expected at "
            f"least {MINIMUM_STATES} ({describe_rejections(rejected)})"
            + (f": {advice}" if advice else "")
        )
    guided = guided_states(series.stamp, *reports.finish())
    stamp, set_back = _moved_on(series.stamp, part)
    recording = Recording(
        joint_names=tuple(joints),
        stamp=stamp,
        position=series.fields["position"],
        velocity=series.fields["velocity"],
        torque=series.fields["effort"],
        commanded=commanded,
        driver_compensates_gravity=driver_compensates_gravity,
        rejected=rejected,
        breaks=tuple(set_back),
        not_finite=not_finite,
        unread_reports=_unread_reports(bag, controller_state_topic),
    )
    return without_guided(recording, guided)


def _unread_reports(bag: Bag, topic: str | None) -> tuple[str, ...]:
    """Topics with reports of a controller in a bag that does not have the one asked for."""
    if topic is None or absolute_topic(topic) in bag.types:
        return ()
    return tuple(sorted(name for name, kind in bag.types.items() if kind == CONTROLLER_STATE))


def _check_topics(
    bag: Bag, consumers: Mapping[str, MessageConsumer], n_states: int, uri: str | Path
) -> None:
    """Refuse a bag without joint states, or with a wrong type on one of the topics."""
    of_states = next(iter(consumers))
    if of_states not in bag.types:
        found = ", ".join(sorted(bag.types)[:MAX_SHOWN]) or "no topics"
        raise RecordingError(f"recording {uri} has {found}; expected the topic {of_states}")
    for topic, consumer in consumers.items():
        expected = CONTROLLER_STATE if isinstance(consumer, ControllerModes) else JOINT_STATE
        if bag.types.get(topic, expected) != expected:
            raise RecordingError(
                f"recording {uri} has {bag.types[topic]} on {topic}; expected {expected}"
            )
    if not n_states:
        raise RecordingError(f"recording {uri} has no messages on {of_states}; expected some")


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


def _check_joints(
    rejection: Reasons, names: Sequence[str], joints: Sequence[str], topic: str, uri: str | Path
) -> None:
    """Refuse a topic if no message has all joints."""
    readable = rejection != Rejection.UNREADABLE
    if readable.any() and (rejection[readable] == Rejection.OTHER_JOINTS).all():
        raise RecordingError(
            f"recording {uri} has the joints {', '.join(names) or '(none)'} on {topic}; "
            f"expected {', '.join(joints)}"
        )


class _Commands(JointStateColumns):
    """Columns of the commands; once there are some, the efforts in the states are dropped."""

    def __init__(self, joints: Sequence[str], states: JointStateColumns) -> None:
        super().__init__(joints, OF_COMMANDS, [OF_COMMANDS])
        self._states = states

    def take(self, messages: list[bytes], received: list[int]) -> None:
        self._states.drop("effort")
        super().take(messages, received)


def _in_order(series: TopicSeries) -> tuple[TopicSeries, IndexArray, list[Reasons]]:
    """Usable states sorted by stamp, their parts between clock resets, and the rejections."""
    usable = series.rejection == Rejection.NONE
    reasons = [series.rejection[~usable]]
    series = keep_rows(series, usable)
    part, found = judge_stamps(series.stamp)
    sound = found == Rejection.NONE
    reasons.append(found[~sound])
    series = keep_rows(series, sound)
    part = part if sound.all() else part[sound]
    if part.any() or not rises(series.stamp):
        order = np.lexsort((series.stamp, part))
        series, part = take_rows(series, order), part[order]
    return series, part, reasons


def _moved_on(stamp: NDArray[np.int64], part: IndexArray) -> tuple[NDArray[np.int64], list[int]]:
    """Stamps shifted to increase from part to part too, and the rows where the clock was set."""
    set_ahead = long_steps(stamp, SET_AHEAD) + 1
    begins = np.union1d(np.flatnonzero(part[1:] != part[:-1]) + 1, set_ahead).tolist()
    for row in begins:
        period = np.int64(np.median(np.diff(stamp[:row]))) if row > 1 else np.int64(1)
        behind = stamp[row - 1] + period - stamp[row]
        if behind > 0 or row in set_ahead:
            stamp[row:] += behind
    return stamp, begins
