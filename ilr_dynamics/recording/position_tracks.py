# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""
Recorded positions that one arm can have had: jumps are found, and wraps taken back.

As the controller does with measured states (`Supervision.jump`), a state is not believed that is
farther from the one before than an arm can move in the time. Other than there, what comes later is
known too: of several senders' states, those go together that follow each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["DEFAULT_VELOCITY", "PositionTracks", "follow_positions"]

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

DEFAULT_VELOCITY = 10.0
"""Faster than joints of arms turn, rad/s, where nothing else is known."""

# Of a position from one state to the next, whatever the time between them, rad: encoders are
# coarse, and stamps not exact. As live.
JUMP = 0.05
# States farther apart say nothing about each other, s.
LONGEST = 0.1
# A single state beside the line between its neighbours, whatever the time between them, rad, and
# what an arm may add to it by bending its way, rad/s^2: an impact has some hundreds.
SPIKE, BEND = 0.005, 1000.0
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

    position: Array
    jumped: Mask
    breaks: tuple[int, ...]
    wraps: NDArray[np.intp]


def follow_positions(
    time: Array,
    position: Array,
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
    if _steps_too_far(time, position, fastest).any():
        tracks = _tracks(time, position, fastest)
        jumped = _foreign(position, tracks)
        breaks = _begins(tracks, jumped)
    quantum = _quantum(position)
    for rows in np.split(np.arange(n), breaks):
        rows = rows[~jumped[rows]]
        spikes, slips = _spikes_and_slips(time[rows], position[rows], quantum)
        jumped[rows[spikes]] = True
        breaks.extend(rows[slips].tolist())
    return PositionTracks(position, jumped, tuple(sorted(breaks)), wraps)


def _steps_too_far(time: Array, position: Array, fastest: Array) -> Mask:
    """Whether an arm cannot get from each state to the next, shape (n - 1,)."""
    elapsed = np.diff(time)[:, np.newaxis]
    far = np.abs(np.diff(position, axis=0)) > JUMP + fastest * elapsed
    return np.asarray(far.any(axis=1) & (elapsed[:, 0] <= LONGEST))


def _unwrapped(
    time: Array, position: Array, fastest: Array, continuous: Mask
) -> tuple[Array, NDArray[np.intp]]:
    """Positions without jumps by whole turns."""
    step = np.diff(position, axis=0)
    turns = np.round(step / (2.0 * np.pi))
    rest = np.abs(step - 2.0 * np.pi * turns)
    close = rest <= JUMP + fastest * np.minimum(np.diff(time), LONGEST)[:, np.newaxis]
    turns[~close] = 0.0
    turns[:, ~continuous] = 0.0
    unwrapped = position.copy()
    unwrapped[1:] -= 2.0 * np.pi * np.cumsum(turns, axis=0)
    return unwrapped, np.count_nonzero(turns, axis=0)


def _tracks(time: Array, position: Array, fastest: Array) -> list[list[int]]:
    """States that follow each other, each at the nearest track that it can continue."""
    tracks: list[list[int]] = []
    open_tracks: list[list[int]] = []
    for row in range(len(time)):
        open_tracks = [track for track in open_tracks if time[row] - time[track[-1]] <= LONGEST]
        best, nearest = None, np.inf
        for track in open_tracks:
            change = np.abs(position[row] - position[track[-1]])
            if (change <= JUMP + fastest * (time[row] - time[track[-1]])).all():
                distance = float(change.max())
                if distance < nearest:
                    best, nearest = track, distance
        if best is None:
            best = []
            tracks.append(best)
            if len(open_tracks) == MAX_SENDERS:
                open_tracks.remove(min(open_tracks, key=lambda track: track[-1]))
            open_tracks.append(best)
        best.append(row)
    return tracks


def _foreign(position: Array, tracks: list[list[int]]) -> Mask:
    """States of tracks that run beside the arm's; of two that may both be the arm's, of both.

    Somebody who fills in zeros, or a posture, never moves.
    """
    jumped = np.zeros(len(position), dtype=bool)
    moves = [float(np.ptp(position[track], axis=0).max()) > MOVES for track in tracks]
    believed: list[int] = []
    for k in sorted(range(len(tracks)), key=lambda k: (not moves[k], -len(tracks[k]))):
        beside = [b for b in believed if _overlap(tracks[b], tracks[k])]
        rivals = [
            b
            for b in beside
            if moves[b] == moves[k] and len(tracks[b]) < CLEARLY_MORE * len(tracks[k])
        ]
        if not beside:
            believed.append(k)
            continue
        jumped[tracks[k]] = True
        if len(rivals) == len(beside):
            for b in rivals:
                jumped[tracks[b]] = True
    return jumped


def _overlap(one: list[int], other: list[int]) -> bool:
    return one[0] < other[-1] and other[0] < one[-1]


def _begins(tracks: list[list[int]], jumped: Mask) -> list[int]:
    """First states of the tracks that are left, but for the first of all."""
    return sorted(track[0] for track in tracks if not jumped[track[0]])[1:]


def _quantum(position: Array) -> Array:
    """Smallest change of each joint's position: a step of its encoder, rad, shape (n_joints,)."""
    step = np.abs(np.diff(position, axis=0))
    smallest = np.min(step, axis=0, initial=np.inf, where=step > 0.0)
    return np.where(np.isfinite(smallest), smallest, 0.0)


def _spikes_and_slips(time: Array, position: Array, quantum: Array) -> tuple[list[int], list[int]]:
    """Single states beside the line between their neighbours; states from which on all are."""
    spikes: list[int] = []
    slips: list[int] = []
    if len(time) < 4:
        return spikes, slips
    inner = np.arange(1, len(time) - 1)
    beside, bound = _beside_line(time, position, inner)
    excess = np.abs(beside) - bound - 2.0 * quantum
    suspects = (excess > 0.0).any(axis=1) & (time[inner + 1] - time[inner - 1] <= LONGEST)
    done = -1
    for k in np.flatnonzero(suspects).tolist():
        if k <= done:
            continue
        joint = int(np.argmax(excess[k]))
        here, after = beside[k, joint], beside[min(k + 1, len(inner) - 1), joint]
        # One that is alone pulls its neighbours' lines by half; where all that follow are beside,
        # the last before them and the first of them are so by as much, on either side.
        if abs(after) > 1.5 * abs(here):
            continue
        done = k + 1
        if here * after < 0.0 and abs(after) > abs(here) / 1.5:
            slips.append(k + 2)
        else:
            spikes.append(k + 1)
    return spikes, slips


def _beside_line(time: Array, position: Array, rows: NDArray[np.intp]) -> tuple[Array, Array]:
    """How far states are beside the line between their neighbours, and an arm's may be."""
    span = time[rows + 1] - time[rows - 1]
    share = ((time[rows] - time[rows - 1]) / span)[:, np.newaxis]
    line = (1.0 - share) * position[rows - 1] + share * position[rows + 1]
    speed = np.abs(position[rows + 1] - position[rows - 1]) / span[:, np.newaxis]
    half = 0.5 * span[:, np.newaxis]
    # A stamp may be off by half a period.
    bound = SPIKE + 0.5 * half * speed + 0.5 * BEND * half**2
    return position[rows] - line, bound
