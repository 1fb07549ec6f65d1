# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Pairs of components: which to try to merge, and which merges to carry out."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy

from ilr_dynamics.arrays import FloatArray, IndexArray

__all__ = ["best_disjoint", "merged", "neighbours", "summed"]

# Candidates tried for each component: those nearest to it.
N_NEIGHBOURS = 8
# Gains below this, in nats, are rounding.
SMALLEST_GAIN = 1e-6


def neighbours(points: FloatArray) -> IndexArray:
    """Pairs (n_pairs, 2), each once and in rising order, of points (K, p) near each other."""
    n_points = points.shape[0]
    if n_points < 2:
        return np.zeros((0, 2), dtype=np.intp)
    n_nearest = min(N_NEIGHBOURS + 1, n_points)
    nearest = scipy.spatial.cKDTree(points).query(points, k=n_nearest)[1]
    pairs = np.stack([np.repeat(np.arange(n_points), n_nearest), nearest.ravel()], axis=1)
    pairs = np.unique(np.sort(pairs, axis=1), axis=0)
    return np.asarray(pairs[pairs[:, 0] < pairs[:, 1]])


def best_disjoint(
    pairs: IndexArray,
    gains: FloatArray,
    n_components: int,
    joint_gain: Callable[[IndexArray], float],
) -> IndexArray | None:
    """
    Unite the best pairs first, no component twice, as gains hold for the components as they are.

    Several at once may gain less than one by one, since sticks and ties change with each: where
    all together are no gain, the better half of them is tried, down to the best one.

    Parameters
    ----------
    pairs : (n_pairs, 2)
        Candidates.
    gains : (n_pairs,)
        What each gains alone.
    n_components
        Number of components.
    joint_gain
        What the pairs of these indices, disjoint ones, gain together.

    Returns
    -------
    merged_into : (n_components,) or None
        What each component becomes part of, itself for most; None if no merge is a gain.
    """
    chosen: list[int] = []
    used = np.zeros(n_components, dtype=bool)
    for index in np.argsort(-gains):
        if not gains[index] > SMALLEST_GAIN:
            break
        if not np.any(used[pairs[index]]):
            used[pairs[index]] = True
            chosen.append(int(index))
    while len(chosen) > 1 and not joint_gain(np.array(chosen)) > SMALLEST_GAIN:
        chosen = chosen[: len(chosen) // 2]
    return merged(pairs[chosen], n_components) if chosen else None


def merged(pairs: IndexArray, n_components: int) -> IndexArray:
    """Tell what each component (n_components,) becomes part of when disjoint pairs are merged."""
    merged_into = np.arange(n_components)
    merged_into[pairs[:, 1]] = pairs[:, 0]
    return merged_into


def summed(statistics: FloatArray, merged_into: IndexArray) -> FloatArray:
    """Statistics of the components that are left, each with those merged into it."""
    kept = np.unique(merged_into)
    sums = np.zeros((kept.size, *statistics.shape[1:]))
    np.add.at(sums, np.searchsorted(kept, merged_into), statistics)
    return sums
