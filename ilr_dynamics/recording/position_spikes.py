# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""
Few wrong positions amid a motion, and positions that go on elsewhere, too small to be no motion.

Three lines say where a state should be: through the two states before it, through the two behind
it, and between its neighbours. A wrong position lies on the same side of all three. Of an arm that
is accelerated the first two pass it on one side and the third on the other, however coarse the
time is; where it hits something, or starts, one of them still leads to it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ilr_dynamics.arrays import BoolArray, FloatArray, IndexArray
from ilr_dynamics.recording.topic_series import BLOCK

__all__ = ["LONGEST", "find_spikes"]

LONGEST = 0.1
"""States farther apart say nothing about each other, s."""

# A position beside the lines, whatever the others show, rad: gears and bearings give as much.
SPIKE = 0.005
# Share of a period by which a measurement may be late where the others are not.
LATE = 0.5
# What a recording shows of itself (noise, stamps that are not exact, positions that are held for
# some states): the third largest of so many states before and behind, that a few wrong ones do not
# raise, and those of the state itself left out. Of normal noise it is at 1.6 standard deviations,
# and one state of a hundred million at six.
AROUND, OWN, RANK = 16, 2, 3
TIMES = 4.0
# States between two slips that take each other back, at most, and how well they do.
MOST, ALIKE = 5, 0.5
HALO = AROUND + OWN
# States through which all the lines can be laid.
FEWEST = 4


def find_spikes(
    time: FloatArray, position: FloatArray, quantum: FloatArray
) -> tuple[list[int], list[int]]:
    """
    Find positions that are beside the motion before and behind them.

    Parameters
    ----------
    time : ndarray of shape (n,)
        s, increasing.
    position : ndarray of shape (n, n_joints)
        rad.
    quantum : ndarray of shape (n_joints,)
        Steps of the encoders, rad.

    Returns
    -------
    spikes : list of int
        States that are wrong.
    slips : list of int
        States from which on the motion goes on elsewhere.
    """
    if len(time) < FEWEST:
        return [], []
    rows = _measured_anew(position)
    spikes: list[int] = []
    slips: list[tuple[int, FloatArray]] = []
    for start in range(0, len(rows), BLOCK):
        first, end = max(start - HALO, 0), start + BLOCK
        near = rows[first : end + HALO]
        wrong, anew, size = _of_block(time[near], position[near], quantum)
        spikes.extend(row for row in (first + wrong).tolist() if start <= row < end)
        slips.extend(
            (row + first, size[row]) for row in anew.tolist() if start <= row + first < end
        )
    spikes, breaks = _short_ones(spikes, slips)
    held = {k: int(rows[k + 1]) if k + 1 < len(rows) else len(position) for k in spikes}
    return [row for k in spikes for row in range(rows[k], held[k])], rows[breaks].tolist()


def _measured_anew(position: FloatArray) -> NDArray[np.int32]:
    """
    States without those that repeat the one before as a driver does that publishes faster.

    Of those of an arm that stands still, as many are left as of one that moves. Numbers have 32
    bits, as of hours of states these would take a tenth of the memory.
    """
    n = len(position)
    changed = np.append(True, np.zeros(len(position) - 1, dtype=bool))
    for start in range(0, len(position) - 1, BLOCK):
        part = position[start : start + BLOCK + 1]
        changed[start + 1 : start + len(part)] = (part[1:] != part[:-1]).any(axis=1)
    n_changed = int(np.count_nonzero(changed))
    # Steps of one or more, whose mean is below 1.5: more than half of them are one.
    if 3 * n_changed > 2 * n:
        return np.arange(n, dtype=np.int32)
    first = np.flatnonzero(changed).astype(np.int32)
    held = max(int(np.median(np.diff(first))), 1) if n_changed > 1 else 1
    since = np.arange(n, dtype=np.int32) - np.repeat(first, np.diff(np.append(first, n)))
    return np.flatnonzero(since % held == 0).astype(np.int32)


def _short_ones(
    spikes: list[int], slips: list[tuple[int, FloatArray]]
) -> tuple[list[int], list[int]]:
    """Take the states between two slips, of which one takes the other back, for wrong."""
    breaks: list[int] = []
    k = 0
    while k < len(slips):
        row, size = slips[k]
        back, other = slips[k + 1] if k + 1 < len(slips) else (row + MOST + 1, size)
        if back - row <= MOST and np.abs(size + other).max() < ALIKE * np.abs(size).max():
            spikes.extend(range(row, back))
            k += 2
        else:
            breaks.append(row)
            k += 1
    return sorted(spikes), breaks


def _of_block(
    time: FloatArray, position: FloatArray, quantum: FloatArray
) -> tuple[IndexArray, IndexArray, FloatArray]:
    """Spikes and slips of some states, and by how much each state is off the ones before, rad."""
    if len(time) < FEWEST:
        none = np.zeros(0, dtype=np.intp)
        return none, none, np.zeros_like(position)
    step = np.diff(time)[:, np.newaxis]
    slope = np.diff(position, axis=0) / step
    before, behind, between = _beside_lines(position, step, slope)
    spike = _agreed(between, before, behind)
    spike[np.isnan(between) | (np.isnan(before) & np.isnan(behind))] = 0.0
    slip = np.zeros_like(position)
    slip[1:] = _agreed(before[1:], -behind[:-1])
    slip[1:][np.isnan(before[1:]) | np.isnan(behind[:-1])] = 0.0
    usual = np.maximum(np.abs(spike), np.abs(slip))

    speed = np.abs(slope)
    # Of the steps on either side, without those that lead to the state and from it.
    beside, across = np.zeros_like(position), np.zeros_like(position)
    beside[2:] = speed[:-1]
    across[1:-1] = np.abs(position[2:] - position[:-2]) / (step[1:] + step[:-1])
    fastest = np.maximum(beside, across)
    fastest[:-2] = np.maximum(fastest[:-2], speed[1:])
    late = LATE * np.append(step[:1], step, axis=0)
    late[1:-1] += 0.5 * np.abs(np.diff(step, axis=0))
    wrong = np.flatnonzero(_unusual(np.abs(spike) - late * fastest - 2.0 * quantum, usual))

    # Where its acceleration changes its sign, a motion looks like a slip of half of what the
    # acceleration changes by in a period, before and behind (another slip is on one side only).
    jerk = np.zeros_like(position)
    bent = np.abs(np.diff(np.nan_to_num(before), axis=0))
    jerk[2:-3] = 2.0 * np.minimum(bent[:-4], bent[4:])
    # A single wrong position is no slip to it and back.
    single = np.abs(spike)
    single[1:] = np.maximum(single[1:], np.abs(spike[:-1]))
    slip[single > ALIKE * np.abs(slip)] = 0.0
    beside[1:-1] = np.maximum(beside[1:-1], speed[1:])
    beside[1:] *= step
    anew = np.flatnonzero(_unusual(np.abs(slip) - beside - jerk - 2.0 * quantum, usual))
    return wrong, anew, slip


def _beside_lines(
    position: FloatArray, step: FloatArray, slope: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """
    How far states are beside the lines before, behind and between, (n, n_joints), rad.

    NaN where there is none.
    """
    before, behind, between = np.full((3, *position.shape), np.nan)
    near = (step[:-1] <= LONGEST) & (step[1:] <= LONGEST)
    before[2:] = np.where(near, (slope[1:] - slope[:-1]) * step[1:], np.nan)
    behind[:-2] = np.where(near, (slope[1:] - slope[:-1]) * step[:-1], np.nan)
    whole = step[:-1] + step[1:]
    bent = (slope[:-1] - slope[1:]) * step[:-1] * step[1:] / whole
    between[1:-1] = np.where(whole <= LONGEST, bent, np.nan)
    return before, behind, between


def _agreed(*deviations: FloatArray) -> FloatArray:
    """The smallest of some deviations on the same side; zero if they are on different ones."""
    low, high = np.fmin.reduce(deviations), np.fmax.reduce(deviations)
    return np.nan_to_num(np.maximum(low, 0.0) + np.minimum(high, 0.0))


def _unusual(excess: FloatArray, usual: FloatArray) -> BoolArray:
    """Whether a joint is beside its lines by more than is usual around each state, (n,)."""
    found = np.zeros(len(excess), dtype=bool)
    offsets = np.arange(-HALO, HALO + 1)
    offsets = offsets[np.abs(offsets) > OWN]
    for joint in range(excess.shape[1]):
        rows = np.flatnonzero(excess[:, joint] > SPIKE)
        if not rows.size:
            continue
        padded = np.pad(usual[:, joint], HALO)
        around = padded[rows[:, np.newaxis] + HALO + offsets]
        level = np.partition(around, -RANK, axis=1)[:, -RANK]
        found[rows[excess[rows, joint] > SPIKE + TIMES * level]] = True
    return found
