# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""
Detection of spikes and offsets in recorded positions that are too small to be impossible motions.

A spike is a few wrong positions within a motion; after an offset (slip) the motion goes on at
other positions. Three straight lines predict a position: through the two states before, through
the two states after, and between both neighbours. A wrong position is on the same side of all
three. At an acceleration it is on one side of the first two and on the other side of the third,
however coarse the time is; at an impact or a start one of the first two still fits.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ilr_dynamics.arrays import BoolArray, FloatArray, IndexArray
from ilr_dynamics.recording.topic_series import BLOCK

__all__ = ["LONGEST_STEP", "find_spikes"]

LONGEST_STEP = 0.1
"""Longest time between states that are compared, s."""

# Smallest deviation from the lines that counts, rad: gears and bearings cause smaller ones.
SPIKE = 0.005
# Largest delay of a single measurement, as a share of a period.
LATE = 0.5
# Noise level of a recording (measurement noise, inexact stamps, positions held over several
# states) at a state: the third largest deviation among so many states before and after, without
# the state itself and two on each side. A few wrong positions do not change it. For normal noise
# it is at 1.6 standard deviations, and one state in a hundred million deviates by six.
AROUND, OWN, RANK = 16, 2, 3
TIMES = 4.0
# Largest number of states between two slips that cancel, and largest rest relative to their size.
MAX_SPIKE_LENGTH, CANCELLED = 5, 0.5
HALO = AROUND + OWN
# Number of states that all lines need.
MIN_STATES = 4


def find_spikes(
    time: FloatArray, position: FloatArray, quantum: FloatArray
) -> tuple[list[int], list[int]]:
    """
    Find positions that deviate from the motion before and after them.

    Parameters
    ----------
    time : ndarray of shape (n,)
        Times, increasing, s.
    position : ndarray of shape (n, n_joints)
        Positions, rad.
    quantum : ndarray of shape (n_joints,)
        Steps of the encoders, rad.

    Returns
    -------
    spikes : list of int
        States with wrong positions.
    slips : list of int
        First states after an offset of the positions.
    """
    if len(time) < MIN_STATES:
        return [], []
    rows = _without_repeats(position)
    spikes: list[int] = []
    slips: list[tuple[int, FloatArray]] = []
    for start in range(0, len(rows), BLOCK):
        first, end = max(start - HALO, 0), start + BLOCK
        near = rows[first : end + HALO]
        wrong, slipped, size = _find_in_block(time[near], position[near], quantum)
        spikes.extend(row for row in (first + wrong).tolist() if start <= row < end)
        slips.extend(
            (row + first, size[row]) for row in slipped.tolist() if start <= row + first < end
        )
    spikes, breaks = _merge_cancelling_slips(spikes, slips)
    held = {k: int(rows[k + 1]) if k + 1 < len(rows) else len(position) for k in spikes}
    return [row for k in spikes for row in range(rows[k], held[k])], rows[breaks].tolist()


def _without_repeats(position: FloatArray) -> NDArray[np.int32]:
    """
    Indices of states without repeats, for drivers that publish faster than they measure.

    While the arm stands still as many states are left as while it moves. Indices have 32 bits to
    save memory: for hours of states they take a tenth of it.
    """
    n = len(position)
    changed = np.append(True, np.zeros(len(position) - 1, dtype=bool))
    for start in range(0, len(position) - 1, BLOCK):
        part = position[start : start + BLOCK + 1]
        changed[start + 1 : start + len(part)] = (part[1:] != part[:-1]).any(axis=1)
    n_changed = int(np.count_nonzero(changed))
    # Positions are held for less than 1.5 states on average, so mostly for one: no repeats.
    if 3 * n_changed > 2 * n:
        return np.arange(n, dtype=np.int32)
    first = np.flatnonzero(changed).astype(np.int32)
    held = max(int(np.median(np.diff(first))), 1) if n_changed > 1 else 1
    since = np.arange(n, dtype=np.int32) - np.repeat(first, np.diff(np.append(first, n)))
    return np.flatnonzero(since % held == 0).astype(np.int32)


def _merge_cancelling_slips(
    spikes: list[int], slips: list[tuple[int, FloatArray]]
) -> tuple[list[int], list[int]]:
    """Turn the states between two slips that cancel each other into spikes."""
    breaks: list[int] = []
    k = 0
    while k < len(slips):
        row, size = slips[k]
        back, other = slips[k + 1] if k + 1 < len(slips) else (row + MAX_SPIKE_LENGTH + 1, size)
        rest = np.abs(size + other).max()
        if back - row <= MAX_SPIKE_LENGTH and rest < CANCELLED * np.abs(size).max():
            spikes.extend(range(row, back))
            k += 2
        else:
            breaks.append(row)
            k += 1
    return sorted(spikes), breaks


def _find_in_block(
    time: FloatArray, position: FloatArray, quantum: FloatArray
) -> tuple[IndexArray, IndexArray, FloatArray]:
    """Spikes and slips in a block of states, and the size of the slip at each state, rad."""
    if len(time) < MIN_STATES:
        none = np.zeros(0, dtype=np.intp)
        return none, none, np.zeros_like(position)
    step = np.diff(time)[:, np.newaxis]
    slope = np.diff(position, axis=0) / step
    before, after, between = _deviations(position, step, slope)
    spike = _common_deviation(between, before, after)
    spike[np.isnan(between) | (np.isnan(before) & np.isnan(after))] = 0.0
    slip = np.zeros_like(position)
    slip[1:] = _common_deviation(before[1:], -after[:-1])
    slip[1:][np.isnan(before[1:]) | np.isnan(after[:-1])] = 0.0
    usual = np.maximum(np.abs(spike), np.abs(slip))

    speed = np.abs(slope)
    # Speeds around a state, without the two steps that contain its own position.
    adjacent, across = np.zeros_like(position), np.zeros_like(position)
    adjacent[2:] = speed[:-1]
    across[1:-1] = np.abs(position[2:] - position[:-2]) / (step[1:] + step[:-1])
    fastest = np.maximum(adjacent, across)
    fastest[:-2] = np.maximum(fastest[:-2], speed[1:])
    late = LATE * np.append(step[:1], step, axis=0)
    late[1:-1] += 0.5 * np.abs(np.diff(step, axis=0))
    wrong = np.flatnonzero(_exceeds_noise(np.abs(spike) - late * fastest - 2.0 * quantum, usual))

    # A sign change of the acceleration looks like a slip of half of the change of acceleration per
    # period. It does so before and after the state; another slip would be on one side only.
    jerk = np.zeros_like(position)
    bent = np.abs(np.diff(np.nan_to_num(before), axis=0))
    jerk[2:-3] = 2.0 * np.minimum(bent[:-4], bent[4:])
    # A single wrong position is not a pair of slips.
    single = np.abs(spike)
    single[1:] = np.maximum(single[1:], np.abs(spike[:-1]))
    slip[single > CANCELLED * np.abs(slip)] = 0.0
    adjacent[1:-1] = np.maximum(adjacent[1:-1], speed[1:])
    adjacent[1:] *= step
    excess = np.abs(slip) - adjacent - jerk - 2.0 * quantum
    return wrong, np.flatnonzero(_exceeds_noise(excess, usual)), slip


def _deviations(
    position: FloatArray, step: FloatArray, slope: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """
    Deviations of states from the lines before, after and between, (n, n_joints), rad.

    NaN where a line is not defined.
    """
    before, after, between = np.full((3, *position.shape), np.nan)
    near = (step[:-1] <= LONGEST_STEP) & (step[1:] <= LONGEST_STEP)
    before[2:] = np.where(near, (slope[1:] - slope[:-1]) * step[1:], np.nan)
    after[:-2] = np.where(near, (slope[1:] - slope[:-1]) * step[:-1], np.nan)
    whole = step[:-1] + step[1:]
    bent = (slope[:-1] - slope[1:]) * step[:-1] * step[1:] / whole
    between[1:-1] = np.where(whole <= LONGEST_STEP, bent, np.nan)
    return before, after, between


def _common_deviation(*deviations: FloatArray) -> FloatArray:
    """Smallest of several deviations if all have the same sign, else zero; NaN is ignored."""
    low, high = np.fmin.reduce(deviations), np.fmax.reduce(deviations)
    return np.nan_to_num(np.maximum(low, 0.0) + np.minimum(high, 0.0))


def _exceeds_noise(excess: FloatArray, usual: FloatArray) -> BoolArray:
    """Whether a joint's excess at each state (n,) is beyond the noise level around it."""
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
