# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Posterior of the parameters of inverse dynamics, each joint with a noise of its own."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from ilr_dynamics.arrays import FloatArray, IndexArray
from ilr_dynamics.exceptions import InvalidDataError
from ilr_dynamics.robot.dynamics_regressor import N_OF_JOINT, parameter_indices

__all__ = ["ParameterPosterior", "parameter_posterior"]

# Rounds of parameters given the noise and noise given the parameters; it settles in three.
NOISE_ROUNDS = 5
SMALLEST_NOISE = 1e-6


@dataclass(frozen=True, eq=False)
class ParameterPosterior:
    """
    What is known of the parameters of n joints, and what follows for torques.

    Parameters
    ----------
    mean : (P,)
        Expected parameters, in the order of `DynamicsRegressor`.
    covariance : (n, C, C)
        Of the parameters of each joint's columns.
    noise : (n,)
        Variance of each joint's torque, Nm^2; 1 before any data.
    """

    mean: FloatArray
    covariance: FloatArray
    noise: FloatArray

    def expected(self, columns: FloatArray) -> FloatArray:
        """Expected torques (n_samples, n) of columns phi (n_samples, n, C)."""
        return (columns.transpose(1, 0, 2) @ self._of_joints)[:, :, 0].T

    def variance(self, columns: FloatArray) -> FloatArray:
        """Variance phi' S phi (n_samples, n) of those torques, without the noise."""
        # In few calls, as one sample costs what they do.
        common, own = self._parts
        pulls = np.empty_like(columns)
        np.matmul(columns[:, :, : len(common)], common, out=pulls[:, :, : len(common)])
        of_own = pulls.transpose(1, 0, 2)[:, :, len(common) :]
        np.matmul(columns.transpose(1, 0, 2), own, out=of_own)
        return (columns[:, :, None] @ pulls[:, :, :, None])[:, :, 0, 0]

    @cached_property
    def _of_joints(self) -> FloatArray:
        """Expected parameters (n, C, 1) of each joint's columns."""
        return self.mean[parameter_indices(len(self.noise))][:, :, None]

    @cached_property
    def _parts(self) -> tuple[FloatArray, FloatArray]:
        """
        The covariances S, for phi' S phi with less to read.

        What parameters common to all joints have among them, (C', C') once instead of for each
        joint; what a joint's own ones have with all, (n, C, C - C'), that with the common ones
        twice, as S is symmetric.
        """
        n_common = self.covariance.shape[1] - N_OF_JOINT
        own = self.covariance[:, :, n_common:].copy()
        own[:, :n_common] *= 2.0
        return self.covariance[0, :n_common, :n_common].copy(), own


def parameter_posterior(
    prior_mean: FloatArray,
    prior_precision: FloatArray,
    indices: IndexArray,
    gram: FloatArray,
    pull: FloatArray,
    energy: FloatArray,
    weight: FloatArray,
) -> ParameterPosterior:
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
    return ParameterPosterior(mean, covariance, noise)


def _blocks(covariance: FloatArray, indices: IndexArray) -> FloatArray:
    """Those parts (n, C, C) of a covariance (P, P) that joints with columns (n, C) need."""
    return np.ascontiguousarray(covariance[indices[:, :, None], indices[:, None, :]])
