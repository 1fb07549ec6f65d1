# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""What components predict, and what follows: covariances, densities and intervals."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import logsumexp

from ilr_dynamics.arrays import FloatArray, IndexArray
from ilr_dynamics.regression.families import student_t
from ilr_dynamics.regression.families.linear_algebra import cholesky
from ilr_dynamics.regression.prediction.predictive_mixture import PredictiveMixture
from ilr_dynamics.regression.prediction.quantiles import mixture_quantile

__all__ = [
    "ComponentPredictions",
    "added_shapes",
    "covariances",
    "interval",
    "log_conditional_density",
    "shapes",
]


@dataclass(frozen=True)
class ComponentPredictions:
    """
    What c components predict of the outputs at n inputs, in standard units.

    Attributes
    ----------
    numbers : (n, c)
        Of the components in the mixture.
    log_weights : (n, c)
        Log share of each.
    factors : (n, c)
        1 + u' L^-1 u, by which the noise is widened.
    means : (n, c, d)
        Locations.
    added : (n, c, d)
        Variance of each output beyond that of the widened noise.
    """

    numbers: IndexArray
    log_weights: FloatArray
    factors: FloatArray
    means: FloatArray
    added: FloatArray

    @cached_property
    def weights(self) -> FloatArray:
        """Share (n, c) of each component; rows sum to one if all of them are there."""
        return np.exp(self.log_weights)


def shapes(mixture: PredictiveMixture, predictions: ComponentPredictions) -> FloatArray:
    """Squared scale (n, c, d) of each output's Student-t."""
    noise = np.diagonal(mixture.noise_shapes, axis1=1, axis2=2)[predictions.numbers]
    return predictions.factors[:, :, None] * noise + added_shapes(mixture, predictions)


def added_shapes(mixture: PredictiveMixture, predictions: ComponentPredictions) -> FloatArray:
    """What the `added` variances add to squared scales (n, c, d)."""
    # With up to two degrees of freedom there is no variance to which any could be added.
    share = np.maximum(mixture.dofs - 2.0, 0.0) / mixture.dofs
    return share[predictions.numbers][:, :, None] * predictions.added


def covariances(mixture: PredictiveMixture, predictions: ComponentPredictions) -> FloatArray:
    """Covariance (n, c, d, d) of each component."""
    certain = mixture.covariances()[predictions.numbers]
    return predictions.factors[:, :, None, None] * certain + _diagonal(predictions.added)


def interval(
    mixture: PredictiveMixture, predictions: ComponentPredictions, coverage: float
) -> tuple[FloatArray, FloatArray]:
    """Central interval (n, d) of each output: two quantiles of the mixture, in standard units."""
    weights = predictions.weights / predictions.weights.sum(axis=1, keepdims=True)
    scales = np.sqrt(shapes(mixture, predictions))
    dofs = mixture.dofs[predictions.numbers]
    # The upper one of the mirrored mixture: close to 1 a probability has few digits left.
    beyond = 0.5 * (1.0 - coverage)
    lower, mirrored = (
        np.stack(
            [
                mixture_quantile(
                    beyond, weights, side * predictions.means[:, :, j], scales[:, :, j], dofs
                )
                for j in range(mixture.n_outputs)
            ],
            axis=1,
        )
        for side in (1.0, -1.0)
    )
    return lower, -mirrored


def log_conditional_density(
    mixture: PredictiveMixture, predictions: ComponentPredictions, Y: FloatArray
) -> FloatArray:
    """Log p(y | x) (n,) of standardised outputs (n, d)."""
    terms = predictions.log_weights + log_output_densities(mixture, predictions, Y)
    return np.asarray(logsumexp(terms, axis=1))


def log_output_densities(
    mixture: PredictiveMixture, predictions: ComponentPredictions, Y: FloatArray
) -> FloatArray:
    """Log Student-t density (n, K + 1) of outputs (n, d) under each component, all in order."""
    residuals, dofs = Y[:, None, :] - predictions.means, mixture.dofs
    if not np.any(predictions.added):
        # One factor for all rows.
        factor, widening = cholesky(mixture.noise_shapes), predictions.factors
        whitened = np.moveaxis(np.linalg.solve(factor, np.moveaxis(residuals, 0, 2)), 2, 0)
    else:
        widened = predictions.factors[:, :, None, None] * mixture.noise_shapes
        factor = cholesky(widened + _diagonal(added_shapes(mixture, predictions)))
        widening = np.ones_like(predictions.factors)
        whitened = np.linalg.solve(factor, residuals[..., None])[..., 0]
    distances = np.sum(whitened**2, axis=2) / widening
    constants = student_t.log_constants(factor, dofs)
    return student_t.log_densities(constants, dofs, mixture.n_outputs, widening, distances)


def _diagonal(variances: FloatArray) -> FloatArray:
    """Diagonal matrices (..., d, d) of variances (..., d)."""
    return variances[..., None] * np.eye(variances.shape[-1])
