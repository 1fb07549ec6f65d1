# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
r"""
Posterior predictive distribution: a mixture of multivariate Student-t densities.

.. math::
    p(y \mid x) = \sum_{k=1}^{K+1} w_k(x)\; T(y \mid M_k u,\ (1 + u^\top L_k^{-1} u)\,
    \Phi_k^{-1} / \tau_k,\ \tau_k), \qquad
    w_k(x) \propto E[\pi_k]\; T(x \mid m_k,\ \tfrac{1 + \kappa_k}{\kappa_k t_k} \Psi_k^{-1},\ t_k)

with tau = eta + 1 - d and t = nu + 1 - m degrees of freedom. The last component is the one not yet
seen: it has the mass beyond the K sticks and the base prior's predictive, and it is what a query
far from all data falls back to.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.special import fdtri, log_softmax, logsumexp

from .linear_algebra import cholesky, log_determinant, multivariate_log_gamma
from .mixture import MixturePosterior
from .products import form_coefficients, pairwise_products
from .quantiles import mixture_quantile

__all__ = [
    "ComponentPredictions",
    "PredictiveMixture",
    "explained",
    "interval",
    "log_conditional_density",
    "mean_and_variance",
    "most_probable",
    "most_probable_only",
    "with_unseen_prediction",
]

Array = NDArray[np.float64]

# Rows worked on at a time: bounds the memory of arrays over (rows, components, outputs).
BLOCK_ROWS = 512
# Share of the mixture, its lightest components, that a quantile leaves out: this bounds the error
# of the coverage.
QUANTILE_WEIGHT = 1e-6


@dataclass(frozen=True)
class ComponentPredictions:
    """
    What each component says about the outputs of n inputs, in standard units.

    Parameters
    ----------
    log_weights : (n, K + 1)
        Log share of each component; the last column is the unseen component's.
    means : (n, K + 1, d)
        Locations.
    factors : (n, K + 1)
        1 + u' L^-1 u, by which the noise is widened.
    """

    log_weights: Array
    means: Array
    factors: Array

    @cached_property
    def weights(self) -> Array:
        """Share (n, K + 1) of each component; rows sum to one."""
        return np.exp(self.log_weights)


@dataclass(frozen=True)
class PredictiveMixture:
    """
    The predictive distribution in the form in which it is evaluated, one row a component.

    Parameters
    ----------
    log_constants : (K + 1,)
        Log weight of a component at its centre.
    exponents : (K + 1,)
        (nu + 1) / 2.
    distance_coefficients : ((m + 1) (m + 2) / 2, K + 1)
        Scaled squared distance to the centre from the products of [x, 1].
    maps : (K + 1, d, q)
        M.
    widening_coefficients : (q (q + 1) / 2, K + 1)
        u' L^-1 u from the products of u.
    noise_shapes : (K + 1, d, d)
        Phi^-1 / tau.
    dofs : (K + 1,)
        tau.
    """

    log_constants: Array
    exponents: Array
    distance_coefficients: Array
    maps: Array
    widening_coefficients: Array
    noise_shapes: Array
    dofs: Array

    @classmethod
    def from_components(cls, components: MixturePosterior) -> PredictiveMixture:
        """Evaluate what does not depend on the query; the last component is the unseen one."""
        gate, regression = components.gate, components.regression
        return cls(
            log_constants=components.log_expected_weights + gate.predictive_log_constants(),
            exponents=0.5 * (gate.dof + 1.0),
            distance_coefficients=form_coefficients(gate.predictive_forms()),
            maps=regression.mean,
            widening_coefficients=form_coefficients(regression.slope_covariance),
            noise_shapes=regression.noise_shape(),
            dofs=regression.predictive_dof(),
        )

    def with_unseen(self, noise_shape: Array, dof: float) -> PredictiveMixture:
        """Give the unseen component another Student-t: shape (d, d) and degrees of freedom."""
        return replace(
            self,
            noise_shapes=np.concatenate([self.noise_shapes[:-1], noise_shape[None]]),
            dofs=np.append(self.dofs[:-1], dof),
        )

    def with_spread(self, components: float, unseen: float) -> PredictiveMixture:
        """Scale the standard deviations of the components and of the unseen one."""
        factors = np.full(self.dofs.size, components**2)
        factors[-1] = unseen**2
        return replace(self, noise_shapes=self.noise_shapes * factors[:, None, None])

    @cached_property
    def n_inputs(self) -> int:
        """Length m of an input."""
        # The inverse of (m + 1) (m + 2) / 2.
        return int(np.sqrt(2.0 * self.distance_coefficients.shape[0])) - 1

    @property
    def n_outputs(self) -> int:
        """Length d of an output."""
        return int(self.maps.shape[1])

    def covariances(self) -> Array:
        """Covariance (K + 1, d, d) of each component where the map is certain (factor 1)."""
        return self.noise_shapes * (self.dofs / (self.dofs - 2.0))[:, None, None]

    def predictions(self, U: Array) -> Iterator[ComponentPredictions]:
        """Evaluate regressors (n, q), a block of rows at a time."""
        for start in range(0, U.shape[0], BLOCK_ROWS):
            block = U[start : start + BLOCK_ROWS]
            distance = self.distances(block)
            log_densities = self.log_constants - self.exponents * np.log1p(distance)
            yield ComponentPredictions(
                log_weights=log_softmax(log_densities, axis=1),
                means=np.einsum("nq,kdq->nkd", block, self.maps, optimize=True),
                factors=1.0 + pairwise_products(block) @ self.widening_coefficients,
            )

    def distances(self, U: Array) -> Array:
        """Scaled squared distance (n, K + 1) of regressors (n, q) to each centre."""
        gate_inputs = np.delete(U, np.s_[self.n_inputs : -1], axis=1)
        products = pairwise_products(gate_inputs)
        return np.maximum(products @ self.distance_coefficients, 0.0)

    def log_output_densities(self, predictions: ComponentPredictions, Y: Array) -> Array:
        """Log Student-t density (n, K + 1) of standardised outputs (n, d) under each component."""
        d = self.n_outputs
        factor = cholesky(self.noise_shapes)
        distance = self.output_distances(predictions, Y)
        half = 0.5 * (self.dofs + d)
        constants = (
            multivariate_log_gamma(half, 1)
            - multivariate_log_gamma(0.5 * self.dofs, 1)
            - 0.5 * d * np.log(np.pi * self.dofs)
            - 0.5 * log_determinant(factor)
        )
        return np.asarray(
            constants
            - 0.5 * d * np.log(predictions.factors)
            - half * np.log1p(distance / self.dofs)
        )

    def output_distances(self, predictions: ComponentPredictions, Y: Array) -> Array:
        """Squared distance (n, K + 1) of standardised outputs (n, d) in units of the shape."""
        residuals = np.moveaxis(Y[:, None, :] - predictions.means, 0, 2)
        whitened = np.linalg.solve(cholesky(self.noise_shapes), residuals)
        return np.asarray(np.sum(whitened**2, axis=1).T / predictions.factors)


def with_unseen_prediction(
    predictions: ComponentPredictions, mean: Array, factor: Array
) -> ComponentPredictions:
    """Let the unseen component say something else: mean (n, d) and widening (n,)."""
    means, factors = predictions.means.copy(), predictions.factors.copy()
    means[:, -1], factors[:, -1] = mean, factor
    return replace(predictions, means=means, factors=factors)


def mean_and_variance(
    mixture: PredictiveMixture, predictions: ComponentPredictions
) -> tuple[Array, Array]:
    """Mean and variance (n, d) of each output of the mixture, in standard units."""
    weights, means = predictions.weights, predictions.means
    mean = np.einsum("nk,nkd->nd", weights, means)
    # Spread around the mixture's mean, not E[y^2] - mean^2: no cancellation.
    between = np.einsum("nk,nkd->nd", weights, (means - mean[:, None, :]) ** 2)
    noise = np.diagonal(mixture.covariances(), axis1=1, axis2=2)
    return mean, between + (weights * predictions.factors) @ noise


def most_probable_only(predictions: ComponentPredictions) -> ComponentPredictions:
    """Give all weight to the heaviest component of each input."""
    log_weights = np.full_like(predictions.log_weights, -np.inf)
    best = predictions.log_weights.argmax(axis=1)[:, None]
    np.put_along_axis(log_weights, best, 0.0, axis=1)
    return replace(predictions, log_weights=log_weights)


def interval(
    mixture: PredictiveMixture, predictions: ComponentPredictions, coverage: float
) -> tuple[Array, Array]:
    """Central interval (n, d) of each output: two quantiles of the mixture, in standard units."""
    kept = np.argsort(-predictions.weights, axis=1)
    weights = np.take_along_axis(predictions.weights, kept, axis=1)
    n_kept = int(np.max(np.sum(np.cumsum(weights, axis=1) < 1.0 - QUANTILE_WEIGHT, axis=1))) + 1
    kept, weights = kept[:, :n_kept], weights[:, :n_kept]
    weights = weights / weights.sum(axis=1, keepdims=True)
    means = np.take_along_axis(predictions.means, kept[:, :, None], axis=1)
    factors = np.take_along_axis(predictions.factors, kept, axis=1)[:, :, None]
    scales = np.sqrt(factors * np.diagonal(mixture.noise_shapes, axis1=1, axis2=2)[kept])
    dofs = mixture.dofs[kept]
    lower, upper = (
        np.stack(
            [
                mixture_quantile(probability, weights, means[:, :, j], scales[:, :, j], dofs)
                for j in range(mixture.n_outputs)
            ],
            axis=1,
        )
        for probability in (0.5 - 0.5 * coverage, 0.5 + 0.5 * coverage)
    )
    return lower, upper


def log_conditional_density(
    mixture: PredictiveMixture, predictions: ComponentPredictions, Y: Array
) -> Array:
    """Log p(y | x) (n,) of standardised outputs (n, d)."""
    log_terms = mixture.log_output_densities(predictions, Y)
    return np.asarray(logsumexp(log_terms + predictions.log_weights, axis=1))


def most_probable(mixture: PredictiveMixture, U: Array, Y: Array) -> NDArray[np.intp]:
    """Component (n,) with the largest probability given u (n, q) and y (n, d); last: unseen."""
    labels = np.empty(U.shape[0], dtype=np.intp)
    start = 0
    for block in mixture.predictions(U):
        rows = slice(start, start + block.log_weights.shape[0])
        log_terms = mixture.log_output_densities(block, Y[rows])
        labels[rows] = np.argmax(log_terms + block.log_weights, axis=1)
        start = rows.stop
    return labels


def explained(mixture: PredictiveMixture, U: Array, Y: Array, level: float) -> NDArray[np.bool_]:
    """
    Tell which samples some component holds to be its own.

    A sample is when neither its input nor its output lies among the `level` that the component
    expects farthest out: both squared distances, divided by their dimensions, are F-distributed.

    Parameters
    ----------
    U, Y : (n, q), (n, d)
        Regressors and outputs, in standard units.
    level
        Share of its own samples that a component would not recognise, by either.
    """
    m, d = mixture.n_inputs, mixture.n_outputs
    input_dofs = 2.0 * mixture.exponents[:-1] - m
    input_limits = m / input_dofs * fdtri(m, input_dofs, 1.0 - level)
    output_limits = d * fdtri(d, mixture.dofs[:-1], 1.0 - level)
    result = np.empty(U.shape[0], dtype=bool)
    start = 0
    for block in mixture.predictions(U):
        rows = slice(start, start + block.log_weights.shape[0])
        near = mixture.distances(U[rows])[:, :-1] <= input_limits
        near &= mixture.output_distances(block, Y[rows])[:, :-1] <= output_limits
        result[rows] = np.any(near, axis=1)
        start = rows.stop
    return result
