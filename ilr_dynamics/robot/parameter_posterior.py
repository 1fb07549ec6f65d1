# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Posterior of the parameters of inverse dynamics, each joint with a noise of its own."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
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
    indices: NDArray[np.intp],
    gram: FloatArray,
    pull: FloatArray,
    energy: FloatArray,
    weight: FloatArray,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """
    Bayesian linear regression of all joints' torques on common parameters.

    Parameters
    ----------
    prior_mean, prior_precision : (P,)
        What is known of each parameter before any data.
    indices : (n, C)
        Parameters that each joint's columns phi multiply.
    gram : (n, C, C), pull : (n, C), energy : (n,)
        For each joint the weighted sums of phi phi', phi tau and tau^2 over all samples.
    weight : (n,)
        Sum of the weights.

    Returns
    -------
    mean : (P,)
    covariance : (n, C, C)
        Of the parameters of each joint's columns.
    noise : (n,)
        Variance of each joint's torque, Nm^2; 1 before any data.

    Raises
    ------
    InvalidDataError
        If the samples are too large to solve for the parameters.
    """
    noise = np.ones(len(energy))
    seen = weight > 0.0
    if not np.any(seen):
        return prior_mean, _blocks(np.diag(1.0 / prior_precision), indices), noise
    noise[seen] = np.maximum(energy[seen] / weight[seen], SMALLEST_NOISE)
    for _ in range(NOISE_ROUNDS):
        precision = np.diag(prior_precision)
        right = prior_precision * prior_mean
        # What overflowed in the sums is told below.
        with np.errstate(over="ignore", invalid="ignore"):
            for joint, own in enumerate(indices):
                precision[np.ix_(own, own)] += gram[joint] / noise[joint]
                right[own] += pull[joint] / noise[joint]
        try:
            factor = cho_factor(precision)
        except (np.linalg.LinAlgError, ValueError) as error:
            raise InvalidDataError(
                "the samples do not identify the arm's dynamics in double precision: some "
                "positions, velocities or accelerations are far too large"
            ) from error
        mean = cho_solve(factor, right)
        # In the order that files have, so that a loaded model computes the same bits.
        covariance = _blocks(cho_solve(factor, np.eye(len(mean))), indices)
        # E[(tau - phi' theta)^2], the doubt about theta included.
        own_mean = mean[indices]
        squared = (
            energy
            - 2.0 * np.sum(pull * own_mean, axis=1)
            + np.einsum("jp,jpq,jq->j", own_mean, gram, own_mean, optimize=True)
            + np.einsum("jpq,jpq->j", gram, covariance)
        )
        noise[seen] = np.maximum(squared[seen] / weight[seen], SMALLEST_NOISE)
    return mean, covariance, noise


def _blocks(covariance: FloatArray, indices: NDArray[np.intp]) -> FloatArray:
    """Those parts (n, C, C) of a covariance (P, P) that joints with columns (n, C) need."""
    return np.ascontiguousarray(covariance[indices[:, :, None], indices[:, None, :]])
