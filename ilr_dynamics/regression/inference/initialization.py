# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Initialisation of the components: k-means++ seeds and the nearest-seed assignment."""

from __future__ import annotations

import numpy as np
import scipy

from ilr_dynamics.arrays import FloatArray, IndexArray
from ilr_dynamics.regression.families.quadratic_forms import pairwise_products, scatter_matrices

__all__ = ["assignment_statistics", "k_means_plus_plus", "nearest_seed"]

# Rounding of squared distances, relative to the squared lengths whose difference they are.
ROUNDING = 1e-13


def k_means_plus_plus(
    points: FloatArray, weights: FloatArray, n_seeds: int, generator: np.random.Generator
) -> FloatArray:
    """
    Seeds spread over the points: each is drawn with odds that grow with its squared distance.

    SciPy's kmeans2(minit="++") measures the distance to all earlier seeds anew for every seed;
    keeping the smallest distance found so far makes the cost linear in the number of seeds.

    Parameters
    ----------
    points : (n, p)
        Candidates.
    weights : (n,)
        Weight of each candidate in the draw.
    n_seeds
        Number of seeds wanted; fewer come back when fewer points differ.
    generator
        Source of randomness.

    Returns
    -------
    seeds : (K, p), K <= n_seeds
    """
    lengths = np.einsum("ni,ni->n", points, points)

    def squared_distances(index: int) -> FloatArray:
        # |a|^2 - 2 a b + |b|^2: one matrix-vector product, where differences would be written to
        # memory and read again. Equal points are at distance zero, whatever the rounding.
        far = lengths + lengths[index]
        distance = (1.0 - ROUNDING) * far - 2.0 * (points @ points[index])
        return np.asarray(np.maximum(distance, 0.0))

    chosen = [int(generator.choice(points.shape[0], p=weights / weights.sum()))]
    distance = squared_distances(chosen[0])
    while len(chosen) < n_seeds:
        odds = np.cumsum(distance * weights)
        if not odds[-1] > 0.0:
            break
        index = int(np.searchsorted(odds, generator.uniform(0.0, odds[-1]), side="right"))
        chosen.append(min(index, points.shape[0] - 1))
        np.minimum(distance, squared_distances(chosen[-1]), out=distance)
    return points[chosen]


def nearest_seed(points: FloatArray, seeds: FloatArray) -> IndexArray:
    """Index (n,) of the seed nearest to each point."""
    return np.asarray(scipy.spatial.cKDTree(seeds).query(points)[1], dtype=np.intp)


def assignment_statistics(
    zeta: FloatArray, weights: FloatArray, labels: IndexArray, n_components: int
) -> FloatArray:
    """Scatter matrices (n_components, p, p) of the extended samples zeta (n, p) of each label."""
    order = np.argsort(labels, kind="stable")
    F = pairwise_products(zeta[order]) * weights[order, None]
    counts = np.bincount(labels, minlength=n_components)
    starts = np.concatenate([[0], np.cumsum(counts)[:-1]])
    packed = np.zeros((n_components, F.shape[1]))
    filled = counts > 0
    packed[filled] = np.add.reduceat(F, starts[filled], axis=0)
    return scatter_matrices(packed, zeta.shape[1])
