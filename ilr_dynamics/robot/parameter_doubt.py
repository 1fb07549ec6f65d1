# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
r"""
Factor on the uncertainty of identified parameters, from regions that are held out.

A few independent samples tell the size of what no term describes badly, and with it that of the
parameters' uncertainty: it may be far too large, or too small. How far predictions are off where
nothing was learned shows it. The postures are halved along each of their main directions, either
half is predicted from the other, and the factor b maximizes

.. math::
    \sum_i w_i \log N\big(e_i \mid 0,\; b^2 \phi_i^\top S \phi_i + \sigma_i^2\big)
    - \tfrac12 (\log b)^2

over the errors e of all halves, each counted as the independent samples w that it is worth. The
last term is the prior of b: the uncertainty is right within a factor of e. It decides what few
samples leave open.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np
import scipy

from ilr_dynamics.arrays import BoolArray, FloatArray
from ilr_dynamics.robot.parameter_posterior import ParameterPosterior

__all__ = ["HeldOut", "held_out_density", "parameter_doubt"]

# Main directions of the postures that are halved.
N_DIRECTIONS = 3
# Fewer samples are no region, nor is what is left of them.
FEWEST_SAMPLES = 20
SMALLEST_DOUBT, LARGEST_DOUBT = 0.01, 10.0


@dataclass(frozen=True, eq=False)
class HeldOut:
    """
    Samples of which some are held out.

    Attributes
    ----------
    columns : ndarray of shape (m, n, C)
        Columns of `DynamicsRegressor`.
    positions, torques : ndarray of shape (m, n)
        Joint angles, rad, and torques, Nm.
    weights : ndarray of shape (m, n)
        Independent samples that each torque counts as.
    """

    columns: FloatArray
    positions: FloatArray
    torques: FloatArray
    weights: FloatArray


Regression = Callable[[FloatArray, FloatArray, FloatArray], ParameterPosterior]
"""Posterior from columns, torques and weights of some of the samples."""


def parameter_doubt(samples: HeldOut, posterior: Regression, noise: FloatArray) -> float:
    """
    Return the factor on the standard deviations of the parameters.

    Parameters
    ----------
    samples : HeldOut
    posterior : callable
        Posterior from columns, torques and weights of some of the samples.
    noise : ndarray of shape (m, n)
        Variance of each torque given the parameters, Nm^2.
    """
    halves = _halves(samples.positions)
    if not halves:
        return 1.0
    predictions = [_Prediction.of(samples, half, posterior) for half in halves]
    noises = np.concatenate([noise[half] for half in halves])
    return _fitted(_joined(predictions), noises, _shares(samples.weights, halves))[0]


def held_out_density(samples: HeldOut, posterior: Regression, counted: FloatArray) -> float:
    """
    Return the log density of torques in regions that are held out, with the best doubt, nats.

    Parameters
    ----------
    samples : HeldOut
    posterior : callable
        Posterior from columns, torques and weights of some of the samples.
    counted : ndarray of shape (m, n)
        Independent samples that each torque counts as in the density.
    """
    halves = _halves(samples.positions)
    if not halves:
        return -np.inf
    predictions = [_Prediction.of(samples, half, posterior) for half in halves]
    noises = np.concatenate([np.tile(of.noise, (len(of.errors), 1)) for of in predictions])
    return _fitted(_joined(predictions), noises, _shares(counted, halves))[1]


class _Prediction(NamedTuple):
    """Errors (h, n) of the torques of one half, their variances, and noise (n,) of the other."""

    errors: FloatArray
    variances: FloatArray
    noise: FloatArray

    @classmethod
    def of(cls, samples: HeldOut, half: BoolArray, posterior: Regression) -> Self:
        known = ~half
        learned = posterior(samples.columns[known], samples.torques[known], samples.weights[known])
        columns = samples.columns[half]
        errors = samples.torques[half] - learned.expected(columns)
        return cls(errors, learned.variance(columns), learned.noise)


def _joined(predictions: list[_Prediction]) -> tuple[FloatArray, FloatArray]:
    """Squared errors and variances of all halves, one after the other."""
    errors = np.concatenate([of.errors for of in predictions])
    return errors**2, np.concatenate([of.variances for of in predictions])


def _shares(weights: FloatArray, halves: list[BoolArray]) -> FloatArray:
    """Weights of all halves: each sample is held out once for each direction."""
    return np.concatenate([weights[half] for half in halves]) * 2.0 / len(halves)


def _fitted(
    held_out: tuple[FloatArray, FloatArray], noise: FloatArray, counted: FloatArray
) -> tuple[float, float]:
    """Most probable doubt, and the log density with it."""
    squared, doubtful = held_out

    def loss(log_doubt: float) -> float:
        variance = np.exp(2.0 * log_doubt) * doubtful + noise
        of_samples = 0.5 * counted * (np.log(variance) + squared / variance)
        return float(np.sum(of_samples)) + 0.5 * log_doubt**2

    bounds = np.log([SMALLEST_DOUBT, LARGEST_DOUBT])
    found = scipy.optimize.minimize_scalar(loss, bounds=bounds, method="bounded")
    return float(np.exp(found.x)), -float(found.fun)


def _halves(positions: FloatArray) -> list[BoolArray]:
    """
    Both halves of the postures along each main direction, as masks (m,).

    None of few postures, or of a single one.
    """
    if len(positions) < FEWEST_SAMPLES:
        return []
    centred = positions - np.mean(positions, axis=0)
    directions = np.linalg.svd(centred, full_matrices=False)[2][:N_DIRECTIONS]
    halves = []
    for along in (centred @ directions.T).T:
        upper = along > np.median(along)
        halves += [half for half in (upper, ~upper) if 0 < np.sum(half) < len(half)]
    return halves
