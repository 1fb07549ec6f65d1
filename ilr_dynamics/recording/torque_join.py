# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Torque commands beside the joint states that they answer."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ilr_dynamics.arrays import IndexArray
from ilr_dynamics.recording.joint_state import NANOSECONDS, Rejection
from ilr_dynamics.recording.position_spikes import LONGEST
from ilr_dynamics.recording.position_tracks import DEFAULT_VELOCITY, JUMP
from ilr_dynamics.recording.topic_series import BLOCK, TopicSeries, keep_rows, rises

__all__ = ["join_torques"]

Places = Callable[[], tuple[IndexArray, IndexArray]]


def join_torques(
    states: TopicSeries, commands: TopicSeries, places: Places
) -> tuple[TopicSeries, NDArray[np.uint8]]:
    """
    Give each state the torque that carries its stamp.

    Where the clock was set back, stamps come again: a command answers the state beside which it
    was written, and of two commands for a state the one written beside it counts.

    Parameters
    ----------
    states : TopicSeries
        Usable ones alone; it is used up, as the commands are.
    commands : TopicSeries
        With their efforts, also those that cannot be used.
    places : callable
        Gives of the messages of states and of commands, in the order in which they were written,
        which one of all each was.

    Returns
    -------
    answered : TopicSeries
        The states with a torque, which is their effort, Nm.
    reason : ndarray of shape (n,), uint8
        Why a state has none, as `Rejection`.
    """
    if rises(states.stamp) and rises(commands.stamp):
        torque, reason = _join_in_order(states, commands)
    else:
        torque, reason = _join_in_disorder(states, commands, places)
    _tell_strangers(states, reason)
    states.fields.pop("effort", None)
    answered = keep_rows(states, reason == Rejection.NONE)
    answered.fields["effort"] = torque
    return answered, reason


def _tell_strangers(states: TopicSeries, reason: NDArray[np.uint8]) -> None:
    """
    Say of states without a command, that the arm cannot have been there: another's states.

    Nobody answers those, so that they would be missing without a word.
    """
    alone = np.flatnonzero(reason == Rejection.NO_TORQUE)
    answered = np.flatnonzero(reason == Rejection.NONE)
    if not (alone.size and answered.size):
        return
    position = states.fields["position"]
    stranger = np.ones(len(alone), dtype=bool)
    place = np.searchsorted(answered, alone)
    for side in (place - 1, place):
        beside = answered[np.clip(side, 0, len(answered) - 1)]
        elapsed = np.abs(states.stamp[alone] - states.stamp[beside]) / NANOSECONDS
        reach = JUMP + 2.0 * DEFAULT_VELOCITY * elapsed[:, np.newaxis]
        far = (np.abs(position[alone] - position[beside]) > reach).any(axis=1)
        stranger &= far & (elapsed <= LONGEST)
    reason[alone[stranger]] = Rejection.POSITION_JUMP


def _join_in_order(
    states: TopicSeries, commands: TopicSeries
) -> tuple[NDArray[np.float32], NDArray[np.uint8]]:
    """Torques of the states that have one; their rows are moved up among those of all commands."""
    effort = commands.fields["effort"]
    reason = np.full(len(states.stamp), Rejection.NO_TORQUE, dtype=np.uint8)
    n_answered = 0
    for start in range(0, len(states.stamp), BLOCK):
        stamp = states.stamp[start : start + BLOCK]
        at = np.searchsorted(commands.stamp, stamp)
        np.minimum(at, len(commands.stamp) - 1, out=at)
        same = commands.stamp[at] == stamp
        reason[start : start + BLOCK][same] = commands.rejection[at[same]]
        # The k-th state that is answered is so by the k-th command at the earliest.
        rows = at[reason[start : start + BLOCK] == Rejection.NONE]
        effort[n_answered : n_answered + len(rows)] = effort[rows]
        n_answered += len(rows)
    return effort[:n_answered], reason


def _join_in_disorder(
    states: TopicSeries, commands: TopicSeries, places: Places
) -> tuple[NDArray[np.float32], NDArray[np.uint8]]:
    """Torques of the states that have one, and why others have none."""
    # With the rejection as second key, a sound command comes before a damaged one.
    order = np.lexsort((commands.rejection, commands.stamp))
    stamp = commands.stamp[order]
    first = np.searchsorted(stamp, states.stamp, side="left")
    count = np.searchsorted(stamp, states.stamp, side="right") - first
    answer = np.where(count > 0, order[np.minimum(first, len(order) - 1)], -1)
    rows = np.flatnonzero(count > 0)
    rows = rows[np.argsort(states.stamp[rows], kind="stable")]
    again = np.flatnonzero(np.diff(states.stamp[rows]) == 0)
    several = np.flatnonzero(count[rows] > 1)
    rivals = rows[np.unique(np.concatenate([again, again + 1, several]))]
    if rivals.size:
        place, places_of_commands = _places_of(states, commands, places)
        answer[rivals] = -1
        for group in np.split(rivals, np.flatnonzero(np.diff(states.stamp[rivals])) + 1):
            answers = order[first[group[0]] : first[group[0]] + count[group[0]]]
            apart = np.abs(place[group] - places_of_commands[answers, np.newaxis])
            nearest = np.argmin(apart, axis=1)
            # The last one counts: a sound one, and the nearest of those.
            for k in np.lexsort((apart.min(axis=1), commands.rejection[answers]))[::-1].tolist():
                answer[group[nearest[k]]] = answers[k]
    reason = np.where(answer >= 0, commands.rejection[answer], Rejection.NO_TORQUE)
    used = answer[reason == Rejection.NONE]
    return commands.fields["effort"][used], reason.astype(np.uint8)


def _places_of(
    states: TopicSeries, commands: TopicSeries, places: Places
) -> tuple[IndexArray, IndexArray]:
    of_states, of_commands = (
        place if series.written is None else place[series.written]
        for series, place in zip((states, commands), places(), strict=True)
    )
    return of_states, of_commands
