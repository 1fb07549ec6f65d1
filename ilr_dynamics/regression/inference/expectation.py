# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
r"""
E-step: responsibilities of all samples, summed up at once into statistics.

.. math::
    \log\rho_{nk} = z_n^\top Q_k z_n, \qquad r_{nk} = \rho_{nk} / \sum_j \rho_{nj}, \qquad
    S_k = \sum_n w_n r_{nk} z_n z_n^\top

Of hundreds of components only a few have a share of a sample worth mentioning. Samples that lie
near each other are therefore worked on together, a leaf at a time, with the components that matter
to any of them: an iteration then costs two small matrix products a leaf instead of two with all
components. Which matter is found from all of them now and then; in between, leaving the others out
restricts the responsibilities, so that the bound still is one.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.spatial import cKDTree

from ilr_dynamics.arrays import FloatArray, IndexArray
from ilr_dynamics.blas_threads import map_on_threads
from ilr_dynamics.regression.families.quadratic_forms import (
    form_coefficients,
    pairwise_products,
    scatter_matrices,
)

__all__ = ["Expectation"]

# Samples in a leaf: more of them share a matrix product, fewer have fewer components in common.
LEAF_SIZE = 64
# Leaves worked on at a time when all components are evaluated: bounds the memory, and what a
# thousand components say about them is still in the cache when it is compared.
BLOCK_LEAVES = 8
# Components with a share below exp(-150) of a sample's largest are left out. Below exp(-37) it is
# lost in rounding, but until all are evaluated again components may grow into it: with this margin
# bounds agreed to 1e-7 with those of asking all each time on recorded motions (with exp(-70) to
# 2e-4), and to 1e-3 where half of the samples are of one posture.
NEGLIGIBLE_LOG_SHARE = -150.0
# Products of samples are kept between iterations up to this size; beyond it they are made anew.
MAX_KEPT_BYTES = 2**28


class Expectation:
    """
    E-steps over the same samples.

    Parameters
    ----------
    Z : (n, p)
        Extended samples.
    weights : (n,)
        Their weights.
    n_inputs
        Leading columns of Z, by which samples are near each other.
    """

    def __init__(self, Z: FloatArray, weights: FloatArray, n_inputs: int) -> None:
        tree = cKDTree(Z[:, :n_inputs], leafsize=LEAF_SIZE, compact_nodes=False)
        self._Z = Z[tree.indices]
        self._weights = weights[tree.indices]
        starts = np.arange(0, Z.shape[0], LEAF_SIZE)
        self._leaves = [slice(start, start + LEAF_SIZE) for start in starts]
        self._blocks = [
            self._leaves[first : first + BLOCK_LEAVES]
            for first in range(0, len(self._leaves), BLOCK_LEAVES)
        ]
        p = Z.shape[1]
        self._products: FloatArray | None = None
        if 4 * Z.shape[0] * p * (p + 1) <= MAX_KEPT_BYTES:
            self._products = pairwise_products(self._Z)
        self._names: list[IndexArray] = []

    def __call__(
        self, forms: FloatArray, names: IndexArray, *, of_all: bool
    ) -> tuple[float, FloatArray]:
        """
        Sum up all samples.

        Parameters
        ----------
        forms : (K, p, p)
            Expected log joint densities as quadratic forms Q.
        names : (K,)
            Names of the components: each keeps its own from call to call. Non-negative.
        of_all
            Whether to find out anew which components matter where. The first call does in any
            case.

        Returns
        -------
        log_normalizer
            sum_n w_n log sum_k rho_nk.
        statistics : (K, p, p)
            S.
        """
        coefficients = form_coefficients(forms)
        packed = np.zeros_like(coefficients)
        if of_all or not self._names:
            candidates = self._relevant(coefficients)
            self._names = [names[chosen] for chosen in candidates]
        else:
            candidates = _present(self._names, names)
        log_normalizer = 0.0
        for leaf, F, chosen in zip(self._leaves, self._leaf_products(), candidates, strict=True):
            w = self._weights[leaf]
            log_rho = F @ coefficients[chosen].T
            peak = log_rho.max(axis=1, keepdims=True)
            log_rho -= peak
            rho = np.exp(log_rho, out=log_rho)
            total = rho.sum(axis=1)
            log_normalizer += float(w @ (peak[:, 0] + np.log(total)))
            rho *= (w / total)[:, None]
            packed[chosen] += rho.T @ F
        return log_normalizer, scatter_matrices(packed, forms.shape[-1])

    @property
    def relevant(self) -> list[IndexArray]:
        """
        Names of the components that matter in each leaf, as the last call of all found them.

        May be set to what another object over the same samples has found.
        """
        return self._names

    @relevant.setter
    def relevant(self, names: list[IndexArray]) -> None:
        self._names = names

    def _relevant(self, coefficients: FloatArray) -> list[IndexArray]:
        """Components that matter to any sample of each leaf."""

        def relevant(leaves: list[slice]) -> list[IndexArray]:
            rows = slice(leaves[0].start, leaves[-1].stop)
            log_rho = self._products_of(rows) @ coefficients.T
            log_rho -= log_rho.max(axis=1, keepdims=True)
            # Several times faster than np.maximum.reduceat.
            largest = (
                log_rho[leaf.start - rows.start : leaf.stop - rows.start].max(axis=0)
                for leaf in leaves
            )
            return [np.flatnonzero(of_leaf > NEGLIGIBLE_LOG_SHARE) for of_leaf in largest]

        return [chosen for block in map_on_threads(relevant, self._blocks) for chosen in block]

    def _leaf_products(self) -> Iterator[FloatArray]:
        for leaves in self._blocks:
            products = self._products_of(slice(leaves[0].start, leaves[-1].stop))
            for leaf in leaves:
                yield products[leaf.start - leaves[0].start : leaf.stop - leaves[0].start]

    def _products_of(self, rows: slice) -> FloatArray:
        if self._products is not None:
            return self._products[rows]
        return pairwise_products(self._Z[rows])


def _present(named: list[IndexArray], names: IndexArray) -> list[IndexArray]:
    """Where the components of these names stand now; all where none of them is left."""
    position = np.full(max(int(chosen.max()) for chosen in [*named, names]) + 1, -1)
    position[names] = np.arange(names.size)
    candidates = []
    for leaf in named:
        found = position[leaf]
        found = found[found >= 0]
        candidates.append(found if found.size else np.arange(names.size))
    return candidates
