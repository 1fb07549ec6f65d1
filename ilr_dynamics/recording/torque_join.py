# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Join of torque commands to the joint states that they answer, by stamp."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ilr_dynamics.arrays import IndexArray
from ilr_dynamics.recording.joint_state import NANOSECONDS
from ilr_dynamics.recording.position_spikes import LONGEST_STEP
from ilr_dynamics.recording.position_tracks import DEFAULT_VELOCITY, JUMP
from ilr_dynamics.recording.rejection import Rejection
from ilr_dynamics.recording.topic_series import BLOCK, TopicSeries, keep_rows, rises

__all__ = ["join_torques"]

Places = Callable[[], tuple[IndexArray, IndexArray]]


def join_torques(
    states: TopicSeries, commands: TopicSeries, places: Places
) -> tuple[TopicSeries, NDArray[np.uint8]]:
    """
    Join each state with the command of the same stamp.

    After a clock was set back stamps repeat: a command then belongs to the state nearest to it in
    the order of writing, and of two commands for a state the nearer one is used.

    Parameters
    ----------
    states : TopicSeries
        Usable states; overwritten.
    commands : TopicSeries
        Commands with their efforts, including unusable ones; overwritten.
    places : callable
        Returns, for the messages of states and for those of commands in the order of writing,
        their indices among all messages.

    Returns
    -------
    answered : TopicSeries
        States with a torque, which is stored as their effort, Nm.
    reason : ndarray of shape (n,), uint8
        Reason why a state has no torque, as `Rejection`.
    """
    if rises(states.stamp) and rises(commands.stamp):
        torque, reason = _join_in_order(states, commands)
    else:
        torque, reason = _join_in_disorder(states, commands, places)
    _mark_foreign_states(states, reason)
    states.fields.pop("effort", None)
    answered = keep_rows(states, reason == Rejection.NONE)
    answered.fields["effort"] = torque
    return answered, reason


def _mark_foreign_states(states: TopicSeries, reason: NDArray[np.uint8]) -> None:
    """
    Set the reason of states of other senders to a position jump.

    They have no command, and the arm cannot have moved to them. Without this the reason would be
    a missing command.
    """
    alone = np.flatnonzero(reason == Rejection.NO_TORQUE)
    answered = np.flatnonzero(reason == Rejection.NONE)
    if not (alone.size and answered.size):
        return
    position = states.fields["position"]
    foreign = np.ones(len(alone), dtype=bool)
    place = np.searchsorted(answered, alone)
    for side in (place - 1, place):
        neighbour = answered[np.clip(side, 0, len(answered) - 1)]
        elapsed = np.abs(states.stamp[alone] - states.stamp[neighbour]) / NANOSECONDS
        reach = JUMP + 2.0 * DEFAULT_VELOCITY * elapsed[:, np.newaxis]
        far = (np.abs(position[alone] - position[neighbour]) > reach).any(axis=1)
        foreign &= far & (elapsed <= LONGEST_STEP)
    reason[alone[foreign]] = Rejection.POSITION_JUMP


def _join_in_order(
    states: TopicSeries, commands: TopicSeries
) -> tuple[NDArray[np.float32], NDArray[np.uint8]]:
    """Torques of the states that have one, moved to the front of the commands' memory; reasons."""
    effort = commands.fields["effort"]
    reason = np.full(len(states.stamp), Rejection.NO_TORQUE, dtype=np.uint8)
    n_answered = 0
    for start in range(0, len(states.stamp), BLOCK):
        stamp = states.stamp[start : start + BLOCK]
        at = np.searchsorted(commands.stamp, stamp)
        np.minimum(at, len(commands.stamp) - 1, out=at)
        same = commands.stamp[at] == stamp
        reason[start : start + BLOCK][same] = commands.rejection[at[same]]
        # The k-th answered state has the k-th command or a later one: none is overwritten before.
        rows = at[reason[start : start + BLOCK] == Rejection.NONE]
        effort[n_answered : n_answered + len(rows)] = effort[rows]
        n_answered += len(rows)
    return effort[:n_answered], reason


def _join_in_disorder(
    states: TopicSeries, commands: TopicSeries, places: Places
) -> tuple[NDArray[np.float32], NDArray[np.uint8]]:
    """Torques of the states that have one, and reasons why others have none."""
    # With the rejection as second key, a valid command comes before a damaged one.
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
            # The last assignment counts, which is the nearest of the valid commands.
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
