# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Moments, quantiles and densities of predictive mixtures, from the predictions of components."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.special import logsumexp

from ilr_dynamics.arrays import FloatArray
from ilr_dynamics.regression.prediction.predictive_mixture import (
    ComponentPredictions,
    PredictiveMixture,
)
from ilr_dynamics.regression.prediction.quantiles import mixture_quantile

__all__ = [
    "interval",
    "log_conditional_density",
    "mean_and_variance",
    "most_probable_only",
    "with_unseen_prediction",
]

# Share of the mixture, its lightest components, that a quantile leaves out at most, and that in
# shares of what lies outside the interval: these bound the error of the coverage.
QUANTILE_WEIGHT, QUANTILE_SHARE = 1e-6, 1e-3


def with_unseen_prediction(
    predictions: ComponentPredictions,
    mean: FloatArray,
    factor: FloatArray,
    added: FloatArray | None = None,
) -> ComponentPredictions:
    """Let the unseen component say something else: mean (n, d), widening (n,), variance (n, d)."""
    means, factors = predictions.means.copy(), predictions.factors.copy()
    means[:, -1], factors[:, -1] = mean, factor
    return replace(predictions, means=means, factors=factors, added_to_unseen=added)


def mean_and_variance(
    mixture: PredictiveMixture, predictions: ComponentPredictions
) -> tuple[FloatArray, FloatArray]:
    """Mean and variance (n, d) of each output of the mixture, in standard units."""
    weights, means = predictions.weights, predictions.means
    mean = np.matmul(weights[:, None, :], means)
    # Spread around the mixture's mean, not E[y^2] - mean^2: no cancellation. In place, of which
    # there is a number for each row, component and output.
    between = means - mean
    between *= between
    variance = np.matmul(weights[:, None, :], between)[:, 0]
    variance += (weights * predictions.factors) @ mixture.variances()
    if predictions.added is not None:
        variance += np.sum(weights[:, :-1, None] * predictions.added, axis=1)
    if predictions.added_to_unseen is not None:
        variance += weights[:, -1:] * predictions.added_to_unseen
    return mean[:, 0], variance


def most_probable_only(predictions: ComponentPredictions) -> ComponentPredictions:
    """Give all weight to the heaviest component of each input."""
    log_weights = np.full_like(predictions.log_weights, -np.inf)
    best = predictions.log_weights.argmax(axis=1)[:, None]
    np.put_along_axis(log_weights, best, 0.0, axis=1)
    return replace(predictions, log_weights=log_weights)


def interval(
    mixture: PredictiveMixture, predictions: ComponentPredictions, coverage: float
) -> tuple[FloatArray, FloatArray]:
    """Central interval (n, d) of each output: two quantiles of the mixture, in standard units."""
    kept = np.argsort(-predictions.weights, axis=1)
    weights = np.take_along_axis(predictions.weights, kept, axis=1)
    left_out = min(QUANTILE_WEIGHT, QUANTILE_SHARE * (1.0 - coverage))
    n_kept = int(np.max(np.sum(np.cumsum(weights, axis=1) < 1.0 - left_out, axis=1))) + 1
    kept, weights = kept[:, :n_kept], weights[:, :n_kept]
    weights = weights / weights.sum(axis=1, keepdims=True)
    means = np.take_along_axis(predictions.means, kept[:, :, None], axis=1)
    factors = np.take_along_axis(predictions.factors, kept, axis=1)[:, :, None]
    added = np.take_along_axis(mixture.added_shapes(predictions), kept[:, :, None], axis=1)
    scales = np.sqrt(factors * np.diagonal(mixture.noise_shapes, axis1=1, axis2=2)[kept] + added)
    dofs = mixture.dofs[kept]
    # The upper one of the mirrored mixture: close to 1 a probability has few digits left.
    beyond = 0.5 * (1.0 - coverage)
    lower, mirrored = (
        np.stack(
            [
                mixture_quantile(beyond, weights, side * means[:, :, j], scales[:, :, j], dofs)
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
    log_terms = mixture.log_output_densities(predictions, Y)
    return np.asarray(logsumexp(log_terms + predictions.log_weights, axis=1))
