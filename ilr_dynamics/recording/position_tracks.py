# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""
Jump detection and unwrapping of recorded positions, by association of states to tracks.

As in the controller (`Supervision.jump`), a state is rejected that is farther from the previous
one than an arm can move in the time. As later states are known here too, the states of several
senders can be separated: consecutive states of one sender form a track.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import inf

import numpy as np
from numpy.typing import NDArray

from ilr_dynamics.arrays import BoolArray, FloatArray, IndexArray
from ilr_dynamics.recording.position_spikes import LONGEST_STEP, find_spikes
from ilr_dynamics.recording.topic_series import BLOCK

__all__ = ["DEFAULT_VELOCITY", "PositionTracks", "encoder_steps", "follow_positions"]

DEFAULT_VELOCITY = 10.0
"""Velocity limit of joints, rad/s, where no other is known: arms are slower."""

# Change of position that is always allowed from one state to the next, rad, whatever the time
# between them: encoders are coarse and stamps inexact. As in the controller.
JUMP = 0.05
# Of two simultaneous tracks the arm's is the one that moves by at least the first value, rad. If
# both do, or none, it is the one with at least the second value times the other's states.
MOVES, CLEARLY_MORE = 0.01, 2.0
# Largest number of simultaneous tracks, as noise would start one with each state. As in the
# controller.
MAX_SENDERS = 8


@dataclass(frozen=True)
class PositionTracks:
    """
    Positions of an arm, with the states that do not belong to it.

    Attributes
    ----------
    position : ndarray of shape (n, n_joints)
        Unwrapped positions, rad.
    jumped : ndarray of shape (n,), bool
        Mask of states that are not the arm's.
    breaks : tuple of int
        First states of a new track of the arm, after a jump that stays.
    wraps : ndarray of shape (n_joints,)
        Number of wraps removed from each joint's position.
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
    Unwrap positions and find jumps in them.

    Parameters
    ----------
    time : ndarray of shape (n,)
        Times, increasing, s.
    position : ndarray of shape (n, n_joints)
        Positions, rad.
    velocity_limit : float or sequence of float
        Velocity limit of each joint, rad/s. A faster change than twice that is a jump.
    continuous : sequence of bool
        Whether each joint is continuous, so that its position may wrap; empty: none.

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
        owner = _assign_tracks(time, position, fastest, broken)
        jumped, breaks = _foreign(position, owner)
    rows = np.arange(n, dtype=np.int32)[~jumped]
    spikes, slips = find_spikes(
        *((time, position) if len(rows) == n else (time[rows], position[rows])),
        encoder_steps(position),
    )
    jumped[rows[spikes]] = True
    # A break at a spike or right after it was an effect of the spike.
    ended = {int(row) for spike in spikes for row in rows[spike : spike + 2]}
    breaks = sorted({*breaks, *rows[slips].tolist()} - ended)
    return PositionTracks(position, jumped, tuple(breaks), wraps)


def _blocks(n: int) -> Iterator[slice]:
    """Blocks of rows that overlap by one row, so that each step is in one block."""
    for start in range(0, n - 1, BLOCK):
        yield slice(start, min(start + BLOCK + 1, n))


def _steps_too_far(time: FloatArray, position: FloatArray, fastest: FloatArray) -> BoolArray:
    """Whether each step to the next state is impossible for an arm, shape (n - 1,)."""
    broken = np.zeros(max(len(time) - 1, 0), dtype=bool)
    for rows in _blocks(len(time)):
        elapsed = np.diff(time[rows])[:, np.newaxis]
        far = np.abs(np.diff(position[rows], axis=0)) > JUMP + fastest * elapsed
        broken[rows.start : rows.stop - 1] = far.any(axis=1) & (elapsed[:, 0] <= LONGEST_STEP)
    return broken


def _unwrapped(
    time: FloatArray, position: FloatArray, fastest: FloatArray, continuous: BoolArray
) -> tuple[FloatArray, IndexArray]:
    """Positions without jumps by whole turns, and the number of such jumps of each joint."""
    unwrapped = position
    so_far = np.zeros(position.shape[1])
    wraps = np.zeros(position.shape[1], dtype=np.intp)
    for rows in _blocks(len(time)):
        step = np.diff(position[rows], axis=0)
        turns = np.round(step / (2.0 * np.pi))
        rest = np.abs(step - 2.0 * np.pi * turns)
        elapsed = np.minimum(np.diff(time[rows]), LONGEST_STEP)[:, np.newaxis]
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


def _assign_tracks(
    time: FloatArray, position: FloatArray, fastest: FloatArray, broken: BoolArray
) -> NDArray[np.int32]:
    """Number of each state's track (n,): the nearest one that it can continue, or a new one."""
    n = len(time)
    owner = np.empty(n, dtype=np.int32)
    ends = np.append(np.flatnonzero(broken | (np.diff(time) > LONGEST_STEP)) + 1, n)
    speeds = fastest.tolist()
    tracks: list[_Track] = []
    n_tracks = row = 0
    while row < n:
        now = float(time[row])
        tracks = [track for track in tracks if now - track.time <= LONGEST_STEP]
        if len(tracks) == 1 and tracks[0].last == row - 1:
            # The only track continues up to the next break.
            end = int(ends[np.searchsorted(ends, row)])
            if end > row:
                owner[row:end] = tracks[0].number
                tracks[0].extend(end - 1, float(time[end - 1]), position[end - 1].tolist())
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
        best.extend(row, now, here)
        row += 1
    return owner


class _Track:
    """Track of consecutive states, with the newest of them."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.last = -1
        self.time = 0.0
        self._position: list[float] = []

    def extend(self, row: int, time: float, position: list[float]) -> None:
        self.last, self.time, self._position = row, time, position

    def distance(self, time: float, position: list[float], fastest: list[float]) -> float:
        """Largest change of a joint to another state, rad; infinite if no arm can move there."""
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
    Mask of the states on tracks that are not the arm's, and breaks between those that are.

    Of simultaneous tracks the one that moves is the arm's, as a sender that fills in zeros or
    a posture never moves. If two tracks may be the arm's, both are rejected.
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
    # Accepted tracks do not overlap, so the lists are sorted by time.
    believed: list[int] = []
    firsts: list[int] = []
    lasts: list[int] = []
    for k in np.lexsort((-length, ~moves)).tolist():
        place = bisect_right(lasts, first[k])
        simultaneous = believed[place : bisect_left(firsts, last[k])]
        if not simultaneous:
            believed.insert(place, k)
            firsts.insert(place, int(first[k]))
            lasts.insert(place, int(last[k]))
            continue
        foreign[k] = True
        rivals = [
            other
            for other in simultaneous
            if moves[other] == moves[k] and length[other] < CLEARLY_MORE * length[k]
        ]
        if len(rivals) == len(simultaneous):
            foreign[rivals] = True
    return foreign[owner], sorted(first[~foreign].tolist())[1:]


def encoder_steps(position: FloatArray) -> FloatArray:
    """
    Estimate the encoder step of each joint: the smallest change of its position.

    Parameters
    ----------
    position : ndarray of shape (n, n_joints)
        Positions, rad.

    Returns
    -------
    ndarray of shape (n_joints,)
        Steps, rad; zero where a joint never moves.
    """
    smallest = np.full(position.shape[1], np.inf)
    for rows in _blocks(len(position)):
        step = np.abs(np.diff(position[rows], axis=0))
        smallest = np.minimum(smallest, np.min(step, axis=0, initial=np.inf, where=step > 0.0))
    return np.where(np.isfinite(smallest), smallest, 0.0)
