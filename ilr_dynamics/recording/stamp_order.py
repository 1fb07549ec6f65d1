# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""
Messages that can be ordered by their stamps, where clocks were set or stamps are wrong.

Three things look alike, as a stamp lies before another one that was written earlier: a message
that was overtaken on its way (it has a place of its own among the others), a stamp that is wrong
(those before and after go on without it), and a clock that was set back (what follows runs once
more through a time that has messages already).
"""

from __future__ import annotations

from bisect import bisect_left, insort
from math import inf

import numpy as np
from numpy.typing import NDArray

from ilr_dynamics.arrays import IndexArray
from ilr_dynamics.recording.joint_state import Rejection
from ilr_dynamics.recording.topic_series import BLOCK, rises

__all__ = ["judge_stamps", "long_steps", "median_step", "short_steps"]

Stamps = NDArray[np.int64]

LONGEST_INT32 = np.iinfo(np.int32).max
# How far, in ns, a message may be from its place: those that were overtaken are put back there.
REORDERING = 100_000_000
# Setting a clock back by less cannot be told from messages that are late, ns.
SMALLEST_STEP = 25_000_000
# Messages that are looked at before and after a clock is set, and how many of them have to follow
# each other by the period, as some are lost or have wrong stamps.
LOOKED_AT, STEADY = 16, 8
# Share of these that must not lie before the one written before them: of messages of any times one
# half does.
RISING = 0.75
# How far, in nominal periods, a message may be from where those beside it have it.
UNSTEADY = 4.0
# Share of stamps that lie before the ones written before them, from which on the order of writing
# says nothing.
SHUFFLED = 0.02
# Messages written before one, among which those of its time are looked for: of some seconds.
NEAR = 10_000
# A message overtaken is as far from its neighbours, in nominal periods: else there was no hole.
HOLE = 0.25
# Fewer first or last messages than this, that far (periods) from all others, have wrong stamps: of
# a clock that was not set yet.
LONELY, FAR = 3, 10.0


def judge_stamps(stamp: Stamps) -> tuple[IndexArray, NDArray[np.uint8]]:
    """
    Say which messages can be ordered by their stamps, and in which parts.

    Parameters
    ----------
    stamp : ndarray of shape (n,), int64
        ns, in the order in which they were written.

    Returns
    -------
    part : ndarray of shape (n,)
        0 until the clock is set back, 1 until it is set back again ...
    rejection : ndarray of shape (n,), uint8
        `Rejection.WRONG_STAMP`, `REPEATED_STAMP` or `NONE`.
    """
    n = len(stamp)
    in_order = rises(stamp)
    period = _period(stamp, in_order)
    rejection = np.zeros(n, dtype=np.uint8)
    part = np.zeros(n, dtype=np.intp)
    _reject_lonely(stamp, period, rejection)
    if in_order:
        return part, rejection
    rows = np.flatnonzero(rejection == Rejection.NONE)
    if not rises(stamp[rows]):
        for row in _set_back(stamp[rows], period):
            part[rows[row] :] += 1
        for k in range(int(part[-1]) + 1):
            chosen = rows[part[rows] == k]
            rejection[chosen] = _judge(stamp[chosen], period)
        _reject_lonely(stamp, period, rejection)
    return part, rejection


def short_steps(stamp: Stamps) -> NDArray[np.int32]:
    """
    Times between stamps in order, (n - 1,), ns; those beyond two seconds count as these.

    For medians over an hour: they take half of the memory.
    """
    step = np.empty(max(len(stamp) - 1, 0), dtype=np.int32)
    for start in range(0, len(step), BLOCK):
        exact = np.diff(stamp[start : start + BLOCK + 1])
        step[start : start + len(exact)] = np.minimum(exact, LONGEST_INT32)
    return step


def median_step(stamp: Stamps) -> float:
    """Median time between stamps in order, at least two, ns."""
    median = float(np.median(short_steps(stamp), overwrite_input=True))
    return median if median < LONGEST_INT32 - 1 else float(np.median(np.diff(stamp)))


def long_steps(stamp: Stamps, longest: float) -> IndexArray:
    """Stamps, of those in order, after which the next is later by more than so much, ns."""
    found = [
        start + np.flatnonzero(np.diff(stamp[start : start + BLOCK + 1]) > longest)
        for start in range(0, len(stamp), BLOCK)
    ]
    return np.concatenate([np.zeros(0, dtype=np.intp), *found])


def _period(stamp: Stamps, in_order: bool) -> float:
    """Nominal time between messages, ns; 1 if there is none."""
    if not in_order:
        step = np.diff(stamp)
        if np.count_nonzero(step < 0) <= SHUFFLED * len(step):
            # Where a clock was set back, stamps of two times lie between each other.
            rising = step[step > 0]
            return float(np.median(rising)) if rising.size else 1.0
        stamp = np.unique(stamp)
    return median_step(stamp) if len(stamp) > 1 else 1.0


def _set_back(stamp: Stamps, period: float) -> list[int]:
    """Rows that are the first after the clock was set back."""
    found = []
    begin = 0
    for row in (np.flatnonzero(np.diff(stamp) < 0) + 1).tolist():
        first = max(begin, row - LOOKED_AT)
        was = _level(stamp[first:row], first - row, period)
        now = _level(stamp[row : row + LOOKED_AT], 0, period)
        if was is None or now is None or was - now < SMALLEST_STEP:
            continue
        # A block that was late fills a hole; a clock set back runs where messages are already.
        after = stamp[row : row + LOOKED_AT]
        end = min(now + len(after) * period, was)
        earlier = stamp[max(begin, row - NEAR) : row]
        there = np.count_nonzero((earlier >= now - period / 2) & (earlier <= end))
        due = np.count_nonzero((after >= now - period / 2) & (after <= end))
        if was - now > REORDERING or there >= 0.5 * due:
            found.append(row)
            begin = row
    return found


def _level(stamp: Stamps, first: int, period: float) -> float | None:
    """Stamp that the message number 0 of a steady series has, or had; None if it is not steady."""
    if len(stamp) < STEADY or np.mean(np.diff(stamp) >= 0) < RISING:
        return None
    due = stamp - period * np.arange(first, first + len(stamp))
    level = float(np.median(due))
    steady = np.count_nonzero(np.abs(due - level) <= UNSTEADY * period)
    return level if steady >= STEADY else None


def _judge(stamp: Stamps, period: float) -> NDArray[np.uint8]:
    """Rejections of messages of one part: those beside its longest rising chain of stamps."""
    rejection = np.zeros(len(stamp), dtype=np.uint8)
    chain = _longest_rising(stamp)
    aside = np.setdiff1d(np.arange(len(stamp)), chain)
    if aside.size == 0:
        return rejection
    place = np.searchsorted(chain, aside)
    ends = stamp[chain]
    before = ends[np.maximum(place - 1, 0)]
    after = ends[np.minimum(place, len(chain) - 1)]
    distance = np.maximum(before - stamp[aside], stamp[aside] - after)
    nearest = _distance(ends, stamp[aside])
    # By less than a period messages of two senders are out of order, whose stamps may be close.
    late = distance <= period
    # Those put back among the chain, which is too long to put them in one by one.
    added: list[int] = []
    judged = (aside, distance > REORDERING, late, nearest)
    for row, far, little, near in zip(*(part.tolist() for part in judged), strict=True):
        value = int(stamp[row])
        near = min(near, _nearest(added, value))
        if far:
            rejection[row] = Rejection.WRONG_STAMP
        elif near == 0:
            rejection[row] = Rejection.REPEATED_STAMP
        elif near < HOLE * period and not little:
            rejection[row] = Rejection.WRONG_STAMP
        else:
            insort(added, value)
    return _first_of_each(stamp, rejection)


def _distance(sorted_stamps: Stamps, stamp: Stamps) -> Stamps:
    """How far the nearest of some stamps in order is from each stamp, (n,)."""
    after = np.searchsorted(sorted_stamps, stamp)
    last = len(sorted_stamps) - 1
    sides = [np.clip(after - 1, 0, last), np.minimum(after, last)]
    return np.min([np.abs(sorted_stamps[side] - stamp) for side in sides], axis=0)


def _nearest(kept: list[int], value: int) -> float:
    """How far the nearest of some numbers in order is; infinite without any."""
    place = bisect_left(kept, value)
    return min((abs(near - value) for near in kept[max(place - 1, 0) : place + 1]), default=inf)


def _first_of_each(stamp: Stamps, rejection: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Of equal stamps the chain may hold a later one: the first written counts."""
    rows = np.flatnonzero(rejection != Rejection.WRONG_STAMP)
    _, first = np.unique(stamp[rows], return_index=True)
    rejection[rows] = Rejection.REPEATED_STAMP
    rejection[rows[first]] = Rejection.NONE
    return rejection


def _longest_rising(stamp: Stamps) -> IndexArray:
    """
    Indices of a longest strictly rising subsequence.

    Between two places where all before are less than all behind, the others matter nothing: most
    such stretches are one stamp.
    """
    highest = np.maximum.accumulate(stamp)
    lowest = np.minimum.accumulate(stamp[::-1])[::-1]
    begins = np.flatnonzero(np.r_[True, highest[:-1] < lowest[1:]])
    lengths = np.diff(np.r_[begins, len(stamp)])
    long = lengths > 1
    chains = [begins[~long]]
    for begin, length in zip(begins[long].tolist(), lengths[long].tolist(), strict=True):
        chains.append(begin + _by_patience(stamp[begin : begin + length].tolist()))
    return np.sort(np.concatenate(chains))


def _by_patience(values: list[int]) -> IndexArray:
    """Indices of a longest strictly rising subsequence (patience sorting, n log n)."""
    tops: list[int] = []
    rows: list[int] = []
    previous = []
    for row, value in enumerate(values):
        pile = bisect_left(tops, value)
        previous.append(rows[pile - 1] if pile else -1)
        if pile == len(tops):
            tops.append(value)
            rows.append(row)
        else:
            tops[pile], rows[pile] = value, row
    chain = []
    row = rows[-1] if rows else -1
    while row >= 0:
        chain.append(row)
        row = previous[row]
    return np.array(chain[::-1], dtype=np.intp)


def _reject_lonely(stamp: Stamps, period: float, rejection: NDArray[np.uint8]) -> None:
    """Reject few messages before or after all others, and far from them."""
    kept = stamp[rejection == Rejection.NONE] if rejection.any() else stamp
    kept = kept if rises(kept) else np.sort(kept)
    far = long_steps(kept, max(FAR * period, float(REORDERING)))
    if not far.size:
        return
    lonely = np.zeros(len(stamp), dtype=bool)
    if far[0] + 1 < LONELY:
        lonely |= stamp <= kept[far[0]]
    if len(kept) - 1 - far[-1] < LONELY:
        lonely |= stamp > kept[far[-1]]
    rejection[lonely & (rejection == Rejection.NONE)] = Rejection.WRONG_STAMP
