# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Posterior of the parameters of inverse dynamics, each joint with a noise of its own."""

from __future__ import annotations

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from ilr_dynamics.exceptions import InvalidDataError
from ilr_dynamics.robot.arrays import FloatArray

__all__ = ["parameter_posterior"]

# Rounds of parameters given the noise and noise given the parameters; it settles in three.
NOISE_ROUNDS = 5
SMALLEST_NOISE = 1e-6


def parameter_posterior(
    prior_mean: FloatArray,
    prior_precision: FloatArray,
    gram: FloatArray,
    pull: FloatArray,
    energy: FloatArray,
    weight: float,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """
    Bayesian linear regression of all joints' torques on common parameters.

    Parameters
    ----------
    prior_mean, prior_precision : (P,)
        What is known of each parameter before any data.
    gram : (n, P, P), pull : (n, P), energy : (n,)
        For each joint the weighted sums of phi phi', phi tau and tau^2 over all samples.
    weight
        Sum of the weights.

    Returns
    -------
    mean : (P,)
    covariance : (P, P)
    noise : (n,)
        Variance of each joint's torque, Nm^2; 1 before any data.

    Raises
    ------
    InvalidDataError
        If the samples are too large to solve for the parameters.
    """
    if not weight > 0.0:
        return prior_mean, np.diag(1.0 / prior_precision), np.ones(len(energy))
    noise = np.maximum(energy / weight, SMALLEST_NOISE)
    for _ in range(NOISE_ROUNDS):
        precision = np.diag(prior_precision) + np.einsum("jpq,j->pq", gram, 1.0 / noise)
        try:
            factor = cho_factor(precision)
        except (np.linalg.LinAlgError, ValueError) as error:
            raise InvalidDataError(
                "the samples do not identify the arm's dynamics in double precision: some "
                "positions, velocities or accelerations are far too large"
            ) from error
        mean = cho_solve(factor, prior_precision * prior_mean + pull.T @ (1.0 / noise))
        # In the order that files have, so that a loaded model computes the same bits.
        covariance = np.ascontiguousarray(cho_solve(factor, np.eye(len(mean))))
        # E[(tau - phi' theta)^2], the doubt about theta included.
        squared = (
            energy
            - 2.0 * pull @ mean
            + np.einsum("p,jpq,q->j", mean, gram, mean, optimize=True)
            + np.einsum("jpq,pq->j", gram, covariance)
        )
        noise = np.maximum(squared / weight, SMALLEST_NOISE)
    return mean, covariance, noise
