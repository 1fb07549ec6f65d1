# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Pairs of components: which to try to merge, and which merges to carry out."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

__all__ = ["best_disjoint", "neighbours"]

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

# Candidates tried for each component: those nearest to it.
N_NEIGHBOURS = 8
# Gains below this, in nats, are rounding.
SMALLEST_GAIN = 1e-6


def neighbours(points: Array) -> Indices:
    """Pairs (n_pairs, 2), each once and in rising order, of points (K, p) near each other."""
    n_points = points.shape[0]
    if n_points < 2:
        return np.zeros((0, 2), dtype=np.intp)
    n_nearest = min(N_NEIGHBOURS + 1, n_points)
    nearest = cKDTree(points).query(points, k=n_nearest)[1]
    pairs = np.stack([np.repeat(np.arange(n_points), n_nearest), nearest.ravel()], axis=1)
    pairs = np.unique(np.sort(pairs, axis=1), axis=0)
    return np.asarray(pairs[pairs[:, 0] < pairs[:, 1]])


def best_disjoint(pairs: Indices, gains: Array, n_components: int) -> Indices | None:
    """
    Unite the best pairs first, no component twice: a gain holds for one merge of its two.

    Returns
    -------
    merged_into : (n_components,) or None
        What each component becomes part of, itself for most; None if no merge is a gain.
    """
    merged_into = np.arange(n_components)
    used = np.zeros(n_components, dtype=bool)
    for index in np.argsort(-gains):
        if not gains[index] > SMALLEST_GAIN:
            break
        first, second = pairs[index]
        if not used[first] and not used[second]:
            used[[first, second]] = True
            merged_into[second] = first
    return merged_into if np.any(used) else None
