# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
r"""
How well torques are predicted where nothing was learned, and the doubt of parameters by that.

Few independent samples determine the residual's size poorly, and hence the parameters'
uncertainty, which may be far too large or too small. Prediction errors where nothing was learned
determine it better. The postures are halved along each of their main directions, either
half is predicted from the other, and the factor b maximizes

.. math::
    \sum_i w_i \log N\big(e_i \mid 0,\; b^2 \phi_i^\top S \phi_i + \sigma_i^2\big)
    - \tfrac12 (\log b)^2

over the errors e of all halves, each counted as the independent samples w that it is worth. The
last term is the prior of b: the uncertainty is right within a factor of e. It decides what few
samples leave open. The maximum itself tells which of two descriptions of an arm holds where
nothing was learned.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import scipy

from ilr_dynamics.arrays import BoolArray, FloatArray
from ilr_dynamics.robot.parameter_posterior import ParameterPosterior

__all__ = ["Doubt", "HeldOut", "held_out_doubt", "main_halves", "parameter_doubt"]

# Main directions of the postures that are halved.
N_DIRECTIONS = 3
# Fewer samples are no region, nor is what is left of them.
FEWEST_SAMPLES = 20
SMALLEST_DOUBT, LARGEST_DOUBT = 0.01, 10.0


Regression = Callable[[FloatArray, FloatArray, FloatArray], ParameterPosterior]
"""Posterior from columns, torques and weights of some of the samples."""


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
    noise : ndarray of shape (m, n)
        Variance of each torque given the parameters, Nm^2; that of each posterior by default.
    """

    columns: FloatArray
    positions: FloatArray
    torques: FloatArray
    weights: FloatArray
    noise: FloatArray | None = None


class Doubt(NamedTuple):
    """
    How far predictions are off where nothing was learned.

    Attributes
    ----------
    factor : float
        On the standard deviations of the parameters.
    log_density : float
        Log density of the torques that were held out, with this factor, nats.
    """

    factor: float
    log_density: float


def parameter_doubt(samples: HeldOut, posterior: Regression) -> float:
    """
    Return the factor on the standard deviations of the parameters.

    Parameters
    ----------
    samples : HeldOut
    posterior : callable
        Posterior from columns, torques and weights of some of the samples.
    """
    if len(samples.positions) < FEWEST_SAMPLES:
        return 1.0
    halves = [half for both in main_halves(samples.positions) for half in both]
    # None of a single posture.
    return held_out_doubt(samples, halves, posterior).factor if halves else 1.0


def held_out_doubt(samples: HeldOut, halves: list[BoolArray], posterior: Regression) -> Doubt:
    """
    Return the doubt with which each half is predicted from all other samples.

    Parameters
    ----------
    samples : HeldOut
    halves : list of ndarray of shape (m,)
        Masks; each sample is in as many of them as in others.
    posterior : callable
        Posterior from columns, torques and weights of some of the samples.
    """
    errors, variances, noises, weights = [], [], [], []
    for held_out in halves:
        known = ~held_out
        learned = posterior(samples.columns[known], samples.torques[known], samples.weights[known])
        columns = samples.columns[held_out]
        errors.append(samples.torques[held_out] - learned.expected(columns))
        variances.append(learned.variance(columns))
        of_posterior = np.broadcast_to(learned.noise, errors[-1].shape)
        noises.append(of_posterior if samples.noise is None else samples.noise[held_out])
        weights.append(samples.weights[held_out])
    squared = np.concatenate(errors) ** 2
    doubtful, noise = np.concatenate(variances), np.concatenate(noises)
    # Each sample is held out once for each two halves.
    counted = np.concatenate(weights) * 2.0 / len(halves)

    def loss(log_doubt: float) -> float:
        variance = np.exp(2.0 * log_doubt) * doubtful + noise
        of_samples = 0.5 * counted * (np.log(variance) + squared / variance)
        return float(np.sum(of_samples)) + 0.5 * log_doubt**2

    bounds = np.log([SMALLEST_DOUBT, LARGEST_DOUBT])
    found = scipy.optimize.minimize_scalar(loss, bounds=bounds, method="bounded")
    return Doubt(float(np.exp(found.x)), -float(found.fun))


def main_halves(points: FloatArray) -> list[list[BoolArray]]:
    """Both halves of points (m, k) along each main direction in which they differ, as masks."""
    centred = points - np.mean(points, axis=0)
    directions = np.linalg.svd(centred, full_matrices=False)[2][:N_DIRECTIONS]
    upper = [along > np.median(along) for along in (centred @ directions.T).T]
    return [[half, ~half] for half in upper if 0 < np.sum(half) < len(half)]
