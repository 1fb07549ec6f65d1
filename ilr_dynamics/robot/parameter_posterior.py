# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Posterior of the parameters of inverse dynamics, with a noise variance for each joint."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg import cho_solve
from scipy.linalg.lapack import dpotrf, dpotri

from ilr_dynamics.arrays import FloatArray, IndexArray
from ilr_dynamics.exceptions import InvalidDataError
from ilr_dynamics.robot.dynamics_regressor import n_parameters, parameter_indices
from ilr_dynamics.robot.earlier_knowledge import EarlierKnowledge

__all__ = ["ParameterPosterior", "parameter_posterior"]

# Alternations of parameters given the noise and noise given the parameters, until no variance of
# the noise changes by more than this share.
NOISE_TOLERANCE = 1e-3
NOISE_ROUNDS = 50
# Of few samples each round gains a part of what is left, the same part each time: every so many
# rounds the noise goes on to where that series ends (Aitken), if it is no farther than this many
# times the last change.
AITKEN_INTERVAL, FARTHEST = 3, 10.0
SMALLEST_NOISE = 1e-6


@dataclass(frozen=True, eq=False)
class ParameterPosterior:
    """
    Gaussian posterior of the parameters of n joints, and its predictions of torques.

    Attributes
    ----------
    mean : ndarray of shape (P,)
        Posterior mean of the parameters, in the order of `DynamicsRegressor`.
    covariance : ndarray of shape (n, C, C)
        Posterior covariance of the parameters of each joint's columns.
    noise : ndarray of shape (n,)
        Noise variance of each joint's torque, Nm^2; 1 before any data.
    """

    mean: FloatArray
    covariance: FloatArray
    noise: FloatArray

    def expected(self, columns: FloatArray) -> FloatArray:
        """Mean torques (n_samples, n) for columns phi (n_samples, n, C)."""
        return (columns.transpose(1, 0, 2) @ self.of_joints[:, :, None])[:, :, 0].T

    def variance(self, columns: FloatArray) -> FloatArray:
        """Variance phi' S phi (n_samples, n) of the mean torques, without the noise."""
        by_joint = columns.transpose(1, 0, 2)
        return np.asarray(np.sum((by_joint @ self.covariance) * by_joint, axis=2)).T

    @cached_property
    def of_joints(self) -> FloatArray:
        """Posterior mean (n, C) of the parameters of each joint's columns."""
        n = len(self.noise)
        n_frequencies = (len(self.mean) - n_parameters(n)) // 2
        return self.mean[parameter_indices(n, n_frequencies)]


def parameter_posterior(
    prior_mean: FloatArray,
    prior_precision: FloatArray,
    indices: IndexArray,
    gram: FloatArray,
    pull: FloatArray,
    energy: FloatArray,
    weight: FloatArray,
    earlier: EarlierKnowledge | None = None,
) -> ParameterPosterior:
    """
    Bayesian linear regression of all joints' torques on common parameters.

    Parameters
    ----------
    prior_mean, prior_precision : ndarray of shape (P,)
        Independent normal prior of each parameter.
    indices : ndarray of shape (n, C)
        Indices of the parameters of each joint's columns phi.
    gram, pull, energy : ndarray of shape (n, C, C), (n, C) and (n,)
        Weighted sums of phi phi', phi tau and tau^2 over all samples, for each joint.
    weight : ndarray of shape (n,)
        Sums of the weights.
    earlier : EarlierKnowledge, optional
        What samples that are in no sum say besides.

    Returns
    -------
    ParameterPosterior

    Raises
    ------
    InvalidDataError
        If the samples are too large to solve for the parameters.
    """
    noise = np.ones(len(energy))
    seen = weight > 0.0
    if not np.any(seen):
        covariance = _blocks(np.diag(1.0 / prior_precision), indices)
        return ParameterPosterior(prior_mean, covariance, noise)
    noise[seen] = np.maximum(energy[seen] / weight[seen], SMALLEST_NOISE)
    changed = np.zeros_like(noise)
    for index in range(NOISE_ROUNDS):
        precision = np.diag(prior_precision)
        right = prior_precision * prior_mean
        if earlier is not None:
            precision += earlier.precision
            right += earlier.pull
        # Sums that overflowed are reported below.
        with np.errstate(over="ignore", invalid="ignore"):
            for joint, own in enumerate(indices):
                precision[np.ix_(own, own)] += gram[joint] / noise[joint]
                right[own] += pull[joint] / noise[joint]
        mean, covariance = _solved(precision, right)
        # In the memory order of loaded arrays, so that a loaded model computes the same bits.
        covariance = _blocks(covariance, indices)
        # E[(tau - phi' chi)^2], including the posterior variance of chi.
        own_mean = mean[indices]
        squared = (
            energy
            - 2.0 * np.sum(pull * own_mean, axis=1)
            + np.einsum("jp,jpq,jq->j", own_mean, gram, own_mean, optimize=True)
            + np.einsum("jpq,jpq->j", gram, covariance)
        )
        found = noise.copy()
        found[seen] = np.maximum(squared[seen] / weight[seen], SMALLEST_NOISE)
        before, changed = changed, np.log(found / noise)
        noise = found
        if np.all(np.abs(changed) <= NOISE_TOLERANCE):
            break
        if index % AITKEN_INTERVAL == AITKEN_INTERVAL - 1:
            noise = np.maximum(noise * np.exp(_rest_of_series(before, changed)), SMALLEST_NOISE)
    return ParameterPosterior(mean, covariance, noise)


def _solved(precision: FloatArray, right: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Solution (P,) and inverse (P, P) of a positive definite matrix."""
    factor, failed = dpotrf(precision, lower=1)
    if failed or not np.all(np.isfinite(factor)):
        raise InvalidDataError(
            "the samples do not identify the arm's dynamics in double precision: some "
            "positions, velocities or accelerations are far too large"
        )
    # A third of the work of solving for the columns of the identity.
    inverse, _ = dpotri(factor, lower=1)
    inverse = np.tril(inverse) + np.tril(inverse, -1).T
    return cho_solve((factor, True), right), inverse


def _rest_of_series(before: FloatArray, last: FloatArray) -> FloatArray:
    """Sum (n,) of all further terms of geometric series of which two terms are known."""
    ratio = np.divide(last, before, out=np.zeros_like(last), where=before != 0.0)
    ratio = np.clip(ratio, 0.0, FARTHEST / (1.0 + FARTHEST))
    return np.asarray(last * ratio / (1.0 - ratio))


def _blocks(covariance: FloatArray, indices: IndexArray) -> FloatArray:
    """Blocks (n, C, C) of a covariance (P, P) for joints with columns (n, C)."""
    return np.ascontiguousarray(covariance[indices[:, :, None], indices[:, None, :]])
