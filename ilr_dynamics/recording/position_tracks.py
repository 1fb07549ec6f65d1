# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""
Recorded positions that one arm can have had: jumps are found, and wraps taken back.

As the controller does with measured states (`Supervision.jump`), a state is not believed that is
farther from the one before than an arm can move in the time. Other than there, what comes later is
known too: of several senders' states, those go together that follow each other.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import inf

import numpy as np
from numpy.typing import NDArray

from ilr_dynamics.arrays import BoolArray, FloatArray, IndexArray
from ilr_dynamics.recording.position_spikes import LONGEST, find_spikes
from ilr_dynamics.recording.topic_series import BLOCK

__all__ = ["DEFAULT_VELOCITY", "PositionTracks", "encoder_steps", "follow_positions"]

DEFAULT_VELOCITY = 10.0
"""Faster than joints of arms turn, rad/s, where nothing else is known."""

# Of a position from one state to the next, whatever the time between them, rad: encoders are
# coarse, and stamps not exact. As live.
JUMP = 0.05
# Of two tracks at the same time the arm's is the one that moves by so much, rad; where both do, or
# none, the one with so many times the other's states.
MOVES, CLEARLY_MORE = 0.01, 2.0
# Tracks that are followed at a time: noise would open one with each state. As live.
MAX_SENDERS = 8


@dataclass(frozen=True)
class PositionTracks:
    """
    What recorded positions are believed.

    Attributes
    ----------
    position : ndarray of shape (n, n_joints)
        rad, wraps taken back.
    jumped : ndarray of shape (n,), bool
        States that are not the arm's.
    breaks : tuple of int
        States at which the position begins anew.
    wraps : ndarray of shape (n_joints,)
        How many times each joint's position was unwrapped.
    """

    position: FloatArray
    jumped: BoolArray
    breaks: tuple[int, ...]
    wraps: IndexArray


def follow_positions(
    time: FloatArray,
    position: FloatArray,
    velocity_limit: float | Sequence[float] = DEFAULT_VELOCITY,
    continuous: Sequence[bool] = (),
) -> PositionTracks:
    """
    Tell the arm's positions from jumps.

    Parameters
    ----------
    time : ndarray of shape (n,)
        s, increasing.
    position : ndarray of shape (n, n_joints)
        rad.
    velocity_limit : float or sequence of float
        Of each joint, rad/s: twice as fast no arm moves.
    continuous : sequence of bool
        Joints without limits, whose positions may wrap; none if empty.

    Returns
    -------
    PositionTracks
    """
    n, n_joints = position.shape
    fastest = 2.0 * np.broadcast_to(np.asarray(velocity_limit, dtype=float), n_joints)
    wraps = np.zeros(n_joints, dtype=np.intp)
    if any(continuous):
        position, wraps = _unwrapped(time, position, fastest, np.asarray(continuous, dtype=bool))
    jumped = np.zeros(n, dtype=bool)
    breaks: list[int] = []
    broken = _steps_too_far(time, position, fastest)
    if broken.any():
        owner = _owners(time, position, fastest, broken)
        jumped, breaks = _foreign(position, owner)
    rows = np.arange(n, dtype=np.int32)[~jumped]
    spikes, slips = find_spikes(
        *((time, position) if len(rows) == n else (time[rows], position[rows])),
        encoder_steps(position),
    )
    jumped[rows[spikes]] = True
    # What is behind a spike goes on from what was before.
    ended = {int(row) for spike in spikes for row in rows[spike : spike + 2]}
    breaks = sorted({*breaks, *rows[slips].tolist()} - ended)
    return PositionTracks(position, jumped, tuple(breaks), wraps)


def _blocks(n: int) -> Iterator[slice]:
    """Rows with the first of the next block, so that the steps between all are in one block."""
    for start in range(0, n - 1, BLOCK):
        yield slice(start, min(start + BLOCK + 1, n))


def _steps_too_far(time: FloatArray, position: FloatArray, fastest: FloatArray) -> BoolArray:
    """Whether an arm cannot get from each state to the next, shape (n - 1,)."""
    broken = np.zeros(max(len(time) - 1, 0), dtype=bool)
    for rows in _blocks(len(time)):
        elapsed = np.diff(time[rows])[:, np.newaxis]
        far = np.abs(np.diff(position[rows], axis=0)) > JUMP + fastest * elapsed
        broken[rows.start : rows.stop - 1] = far.any(axis=1) & (elapsed[:, 0] <= LONGEST)
    return broken


def _unwrapped(
    time: FloatArray, position: FloatArray, fastest: FloatArray, continuous: BoolArray
) -> tuple[FloatArray, IndexArray]:
    """Positions without jumps by whole turns; the same ones where there are none."""
    unwrapped = position
    so_far = np.zeros(position.shape[1])
    wraps = np.zeros(position.shape[1], dtype=np.intp)
    for rows in _blocks(len(time)):
        step = np.diff(position[rows], axis=0)
        turns = np.round(step / (2.0 * np.pi))
        rest = np.abs(step - 2.0 * np.pi * turns)
        elapsed = np.minimum(np.diff(time[rows]), LONGEST)[:, np.newaxis]
        turns[rest > JUMP + fastest * elapsed] = 0.0
        turns[:, ~continuous] = 0.0
        if turns.any() and unwrapped is position:
            unwrapped = position.copy()
        if unwrapped is not position:
            turned = so_far + np.cumsum(turns, axis=0)
            unwrapped[rows.start + 1 : rows.stop] -= 2.0 * np.pi * turned
            so_far = turned[-1]
            wraps += np.count_nonzero(turns, axis=0)
    return unwrapped, wraps


def _owners(
    time: FloatArray, position: FloatArray, fastest: FloatArray, broken: BoolArray
) -> NDArray[np.int32]:
    """Track of each state, (n,): the nearest one that it can continue, or a new one."""
    n = len(time)
    owner = np.empty(n, dtype=np.int32)
    ends = np.append(np.flatnonzero(broken | (np.diff(time) > LONGEST)) + 1, n)
    speeds = fastest.tolist()
    tracks: list[_Track] = []
    n_tracks = row = 0
    while row < n:
        now = float(time[row])
        tracks = [track for track in tracks if now - track.time <= LONGEST]
        if len(tracks) == 1 and tracks[0].last == row - 1:
            # With no other track about, a motion goes on to where it breaks.
            end = int(ends[np.searchsorted(ends, row)])
            if end > row:
                owner[row:end] = tracks[0].number
                tracks[0].go_on(end - 1, float(time[end - 1]), position[end - 1].tolist())
                row = end
                continue
        here = position[row].tolist()
        distances = [(track.distance(now, here, speeds), track) for track in tracks]
        nearest, best = min(distances, key=lambda pair: pair[0], default=(inf, None))
        if best is None or nearest == inf:
            if len(tracks) == MAX_SENDERS:
                tracks.remove(min(tracks, key=lambda track: track.last))
            best = _Track(n_tracks)
            tracks.append(best)
            n_tracks += 1
        owner[row] = best.number
        best.go_on(row, now, here)
        row += 1
    return owner


class _Track:
    """The newest state of states that follow each other."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.last = -1
        self.time = 0.0
        self._position: list[float] = []

    def go_on(self, row: int, time: float, position: list[float]) -> None:
        self.last, self.time, self._position = row, time, position

    def distance(self, time: float, position: list[float], fastest: list[float]) -> float:
        """Largest change of a joint to another state, rad; infinite if no arm gets there."""
        elapsed = time - self.time
        largest = 0.0
        for here, there, speed in zip(position, self._position, fastest, strict=True):
            change = abs(here - there)
            if not change <= JUMP + speed * elapsed:
                return inf
            largest = max(largest, change)
        return largest


def _foreign(position: FloatArray, owner: NDArray[np.int32]) -> tuple[BoolArray, list[int]]:
    """
    States of tracks that run beside the arm's, and where the others begin but for the first.

    Of two tracks that may both be the arm's, neither is. Somebody who fills in zeros, or a
    posture, never moves.
    """
    order = np.argsort(owner, kind="stable")
    begin = np.flatnonzero(np.diff(owner[order], prepend=-1))
    first, last = order[begin], order[np.append(begin[1:], len(order)) - 1]
    length = np.diff(np.append(begin, len(order)))
    moves = np.zeros(len(begin), dtype=bool)
    for column in position.T:
        sorted_by_track = column[order]
        span = np.maximum.reduceat(sorted_by_track, begin)
        span -= np.minimum.reduceat(sorted_by_track, begin)
        moves |= span > MOVES
    foreign = np.zeros(len(begin), dtype=bool)
    # Of those believed no two overlap, so that they are in order, each behind the other.
    believed: list[int] = []
    firsts: list[int] = []
    lasts: list[int] = []
    for k in np.lexsort((-length, ~moves)).tolist():
        place = bisect_right(lasts, first[k])
        beside = believed[place : bisect_left(firsts, last[k])]
        if not beside:
            believed.insert(place, k)
            firsts.insert(place, int(first[k]))
            lasts.insert(place, int(last[k]))
            continue
        foreign[k] = True
        rivals = [
            b for b in beside if moves[b] == moves[k] and length[b] < CLEARLY_MORE * length[k]
        ]
        if len(rivals) == len(beside):
            foreign[rivals] = True
    return foreign[owner], sorted(first[~foreign].tolist())[1:]


def encoder_steps(position: FloatArray) -> FloatArray:
    """
    Smallest change of each joint's position: a step of its encoder, rad, shape (n_joints,).

    Zero where a joint never moves.
    """
    smallest = np.full(position.shape[1], np.inf)
    for rows in _blocks(len(position)):
        step = np.abs(np.diff(position[rows], axis=0))
        smallest = np.minimum(smallest, np.min(step, axis=0, initial=np.inf, where=step > 0.0))
    return np.where(np.isfinite(smallest), smallest, 0.0)
