# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""
Novelty detection: the known component that a new sample belongs to before inference, or none.

A sample is novel to a component if its input or its output lies among the share of samples that
the component expects farthest out: both squared distances, divided by their dimensions, are
F-distributed. Few components have the input of a sample so near; outputs are compared for those
alone.
"""

from __future__ import annotations

import numpy as np
from scipy.special import fdtri

from ilr_dynamics.arrays import FloatArray, IndexArray
from ilr_dynamics.regression.families import student_t
from ilr_dynamics.regression.families.linear_algebra import cholesky, inverse_triangular
from ilr_dynamics.regression.families.quadratic_forms import pairwise_products
from ilr_dynamics.regression.prediction.predictive_mixture import PredictiveMixture

__all__ = ["most_probable_component"]

# Rows worked on at a time: bounds the memory of arrays over (rows, components).
BLOCK_ROWS = 512
# Pairs of them whose outputs are compared at a time. With 21 inputs each takes five kilobytes, and
# where components are wide all are near each other: gigabytes for each block of rows.
BLOCK_PAIRS = 8192


def most_probable_component(
    mixture: PredictiveMixture, U: FloatArray, Y: FloatArray, level: float
) -> IndexArray:
    """
    Component (n,) that is most probable of those to which a sample is not novel.

    The last one, the unseen, where it is novel to all or where that is more probable itself.

    Parameters
    ----------
    mixture
        The components; the last is the unseen one.
    U, Y : (n, q), (n, d)
        Regressors and outputs, in standard units.
    level
        Share of its own samples that a component takes for novel by their inputs, and by their
        outputs.
    """
    m, d, unseen = mixture.n_inputs, mixture.n_outputs, mixture.dofs.size - 1
    input_dofs = 2.0 * mixture.exponents - m
    input_limits = m / input_dofs * fdtri(m, input_dofs, 1.0 - level)
    output_limits = d * fdtri(d, mixture.dofs, 1.0 - level)
    # Of the unseen component only the probability is needed.
    input_limits[unseen] = output_limits[unseen] = np.inf
    densities = _OutputDensities(mixture)
    labels = np.empty(U.shape[0], dtype=np.intp)
    for start in range(0, U.shape[0], BLOCK_ROWS):
        block = slice(start, start + BLOCK_ROWS)
        distances = mixture.distances(np.delete(U[block], np.s_[m:-1], axis=1))
        rows, components = np.nonzero(distances <= input_limits)
        output_distances, log_densities = densities(U[block], Y[block], rows, components)
        own = output_distances <= output_limits[components]
        rows, components = rows[own], components[own]
        log_terms = (
            mixture.log_constants[components]
            - mixture.exponents[components] * np.log1p(distances[rows, components])
            + log_densities[own]
        )
        # The best of each row is the last. Each row has one: the unseen component at least.
        order = np.lexsort((log_terms, rows))
        last = np.flatnonzero(np.diff(rows[order], append=-1))
        labels[block] = components[order[last]]
    return labels


class _OutputDensities:
    """Student-t densities of outputs for chosen pairs of samples and components."""

    def __init__(self, mixture: PredictiveMixture) -> None:
        self._maps, self._dofs, self._d = mixture.maps, mixture.dofs, mixture.n_outputs
        self._widening = mixture.widening_coefficients
        factor = cholesky(mixture.noise_shapes)
        self._inverse_factor = inverse_triangular(factor)
        self._constants = student_t.log_constants(factor, mixture.dofs)

    def __call__(
        self, U: FloatArray, Y: FloatArray, rows: IndexArray, components: IndexArray
    ) -> tuple[FloatArray, FloatArray]:
        """Squared distances and log densities (n_pairs,) of samples (n, q), (n, d)."""
        distances, log_densities = np.empty((2, rows.size))
        products = pairwise_products(U)
        for start in range(0, rows.size, BLOCK_PAIRS):
            pairs = slice(start, start + BLOCK_PAIRS)
            chosen = rows[pairs]
            distances[pairs], log_densities[pairs] = self._of_pairs(
                U[chosen], products[chosen], Y[chosen], components[pairs]
            )
        return distances, log_densities

    def _of_pairs(
        self, U: FloatArray, products: FloatArray, Y: FloatArray, components: IndexArray
    ) -> tuple[FloatArray, FloatArray]:
        """Those of regressors, their products and outputs, one row a pair."""
        means = np.einsum("pdq,pq->pd", self._maps[components], U)
        widened = 1.0 + np.einsum("pc,pc->p", self._widening[components], products)
        residuals = Y - means
        whitened = np.einsum("pij,pj->pi", self._inverse_factor[components], residuals)
        distances = np.sum(whitened**2, axis=1) / widened
        constants, dofs = self._constants[components], self._dofs[components]
        return distances, student_t.log_densities(constants, dofs, self._d, widened, distances)
