# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""
Ordering of messages by their stamps, with detection of clock resets and wrong stamps.

A stamp that is lower than that of an earlier message has one of three causes: the message was
overtaken on its way (it fills a gap among the others), the stamp is wrong (the stamps before and
after continue without it), or the clock was set back (the stamps that follow run through a time
that has messages already).
"""

from __future__ import annotations

from bisect import bisect_left, insort
from math import inf

import numpy as np
from numpy.typing import NDArray

from ilr_dynamics.arrays import IndexArray
from ilr_dynamics.recording.rejection import Rejection
from ilr_dynamics.recording.topic_series import BLOCK, rises

__all__ = ["judge_stamps", "long_steps", "median_step", "short_steps"]

Stamps = NDArray[np.int64]

LONGEST_INT32 = np.iinfo(np.int32).max
# Largest delay of an overtaken message that is sorted back to its place, ns.
REORDERING = 100_000_000
# Smallest reset of a clock that can be distinguished from late messages, ns.
SMALLEST_RESET = 25_000_000
# Number of messages before and after a reset that are examined, and of those that must be evenly
# spaced: some are lost or have wrong stamps.
EXAMINED, EVENLY_SPACED = 16, 8
# Share of these that must not have a lower stamp than their predecessor: of random stamps half do.
RISING = 0.75
# Largest deviation of an evenly spaced message, in nominal periods.
MAX_DEVIATION = 4.0
# Share of decreasing stamps from which on the order of writing is meaningless.
SHUFFLED = 0.02
# Number of earlier messages, of some seconds, among which messages of the same time are searched.
NEAR = 10_000
# Smallest distance of an overtaken message from its neighbours, in nominal periods: it needs a
# gap to fill.
GAP = 0.25
# Fewer first or last messages than this, farther than so many periods from all others, have wrong
# stamps, of a clock that was not set yet.
ISOLATED, FAR = 3, 10.0


def judge_stamps(stamp: Stamps) -> tuple[IndexArray, NDArray[np.uint8]]:
    """
    Divide messages at clock resets and reject those with wrong or repeated stamps.

    Parameters
    ----------
    stamp : ndarray of shape (n,), int64
        Stamps in the order of writing, ns.

    Returns
    -------
    part : ndarray of shape (n,)
        Number of times that the clock had been set back.
    rejection : ndarray of shape (n,), uint8
        `Rejection.WRONG_STAMP`, `REPEATED_STAMP` or `NONE`.
    """
    n = len(stamp)
    in_order = rises(stamp)
    period = _period(stamp, in_order)
    rejection = np.zeros(n, dtype=np.uint8)
    part = np.zeros(n, dtype=np.intp)
    _reject_isolated(stamp, period, rejection)
    if in_order:
        return part, rejection
    rows = np.flatnonzero(rejection == Rejection.NONE)
    if not rises(stamp[rows]):
        for row in _clock_resets(stamp[rows], period):
            part[rows[row] :] += 1
        for k in range(int(part[-1]) + 1):
            chosen = rows[part[rows] == k]
            rejection[chosen] = _reject_unordered(stamp[chosen], period)
        _reject_isolated(stamp, period, rejection)
    return part, rejection


def short_steps(stamp: Stamps) -> NDArray[np.int32]:
    """
    Return the times between sorted stamps, (n - 1,), ns, cut off at two seconds.

    With 32 bits, which halves the memory for medians over hours.
    """
    step = np.empty(max(len(stamp) - 1, 0), dtype=np.int32)
    for start in range(0, len(step), BLOCK):
        exact = np.diff(stamp[start : start + BLOCK + 1])
        step[start : start + len(exact)] = np.minimum(exact, LONGEST_INT32)
    return step


def median_step(stamp: Stamps) -> float:
    """Return the median time between sorted stamps, at least two, ns."""
    median = float(np.median(short_steps(stamp), overwrite_input=True))
    return median if median < LONGEST_INT32 - 1 else float(np.median(np.diff(stamp)))


def long_steps(stamp: Stamps, longest: float) -> IndexArray:
    """Return the indices of sorted stamps after which a gap is longer than ``longest``, ns."""
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
            # Not sorted first: after a clock reset that would interleave stamps of two times.
            rising = step[step > 0]
            return float(np.median(rising)) if rising.size else 1.0
        stamp = np.unique(stamp)
    return median_step(stamp) if len(stamp) > 1 else 1.0


def _clock_resets(stamp: Stamps, period: float) -> list[int]:
    """First rows after the clock was set back."""
    found = []
    begin = 0
    for row in (np.flatnonzero(np.diff(stamp) < 0) + 1).tolist():
        first = max(begin, row - EXAMINED)
        was = _intercept(stamp[first:row], first - row, period)
        now = _intercept(stamp[row : row + EXAMINED], 0, period)
        if was is None or now is None or was - now < SMALLEST_RESET:
            continue
        # A late block fills a gap; after a reset the time has messages already.
        after = stamp[row : row + EXAMINED]
        end = min(now + len(after) * period, was)
        earlier = stamp[max(begin, row - NEAR) : row]
        there = np.count_nonzero((earlier >= now - period / 2) & (earlier <= end))
        due = np.count_nonzero((after >= now - period / 2) & (after <= end))
        if was - now > REORDERING or there >= 0.5 * due:
            found.append(row)
            begin = row
    return found


def _intercept(stamp: Stamps, first: int, period: float) -> float | None:
    """
    Stamp of message number 0, extrapolated from evenly spaced messages.

    Their first number is ``first``. None if they are not evenly spaced.
    """
    if len(stamp) < EVENLY_SPACED or np.mean(np.diff(stamp) >= 0) < RISING:
        return None
    due = stamp - period * np.arange(first, first + len(stamp))
    intercept = float(np.median(due))
    n_close = np.count_nonzero(np.abs(due - intercept) <= MAX_DEVIATION * period)
    return intercept if n_close >= EVENLY_SPACED else None


def _reject_unordered(stamp: Stamps, period: float) -> NDArray[np.uint8]:
    """Rejections of messages of one part that are not on its longest increasing subsequence."""
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
    # Within a period the order of messages of two senders may change, so these may be close.
    late = distance <= period
    # Messages sorted back, in a list of their own: the chain is too long for insertions.
    added: list[int] = []
    judged = (aside, distance > REORDERING, late, nearest)
    for row, far, little, near in zip(*(part.tolist() for part in judged), strict=True):
        value = int(stamp[row])
        near = min(near, _nearest(added, value))
        if far:
            rejection[row] = Rejection.WRONG_STAMP
        elif near == 0:
            rejection[row] = Rejection.REPEATED_STAMP
        elif near < GAP * period and not little:
            rejection[row] = Rejection.WRONG_STAMP
        else:
            insort(added, value)
    return _first_of_each(stamp, rejection)


def _distance(sorted_stamps: Stamps, stamp: Stamps) -> Stamps:
    """Distance of each stamp (n,) from the nearest of some sorted stamps."""
    after = np.searchsorted(sorted_stamps, stamp)
    last = len(sorted_stamps) - 1
    sides = [np.clip(after - 1, 0, last), np.minimum(after, last)]
    return np.min([np.abs(sorted_stamps[side] - stamp) for side in sides], axis=0)


def _nearest(kept: list[int], value: int) -> float:
    """Distance of a value from the nearest of some sorted numbers; infinite without any."""
    place = bisect_left(kept, value)
    return min((abs(near - value) for near in kept[max(place - 1, 0) : place + 1]), default=inf)


def _first_of_each(stamp: Stamps, rejection: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Keep the first written of equal stamps, as the subsequence may contain a later one."""
    rows = np.flatnonzero(rejection != Rejection.WRONG_STAMP)
    _, first = np.unique(stamp[rows], return_index=True)
    rejection[rows] = Rejection.REPEATED_STAMP
    rejection[rows[first]] = Rejection.NONE
    return rejection


def _longest_rising(stamp: Stamps) -> IndexArray:
    """
    Indices of a longest strictly increasing subsequence.

    The stamps are divided where all before are less than all after; each part is solved by
    itself. Most parts are one stamp.
    """
    highest = np.maximum.accumulate(stamp)
    lowest = np.minimum.accumulate(stamp[::-1])[::-1]
    begins = np.flatnonzero(np.r_[True, highest[:-1] < lowest[1:]])
    lengths = np.diff(np.r_[begins, len(stamp)])
    long = lengths > 1
    chains = [begins[~long]]
    for begin, length in zip(begins[long].tolist(), lengths[long].tolist(), strict=True):
        chains.append(begin + _patience_sorting(stamp[begin : begin + length].tolist()))
    return np.sort(np.concatenate(chains))


def _patience_sorting(values: list[int]) -> IndexArray:
    """Indices of a longest strictly increasing subsequence by patience sorting, n log n."""
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


def _reject_isolated(stamp: Stamps, period: float, rejection: NDArray[np.uint8]) -> None:
    """Reject a few first or last messages that are far from all others."""
    kept = stamp[rejection == Rejection.NONE] if rejection.any() else stamp
    kept = kept if rises(kept) else np.sort(kept)
    far = long_steps(kept, max(FAR * period, float(REORDERING)))
    if not far.size:
        return
    isolated = np.zeros(len(stamp), dtype=bool)
    if far[0] + 1 < ISOLATED:
        isolated |= stamp <= kept[far[0]]
    if len(kept) - 1 - far[-1] < ISOLATED:
        isolated |= stamp > kept[far[-1]]
    rejection[isolated & (rejection == Rejection.NONE)] = Rejection.WRONG_STAMP
