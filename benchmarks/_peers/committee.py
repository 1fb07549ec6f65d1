# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Committees of Gaussian processes."""

from __future__ import annotations

from abc import abstractmethod

import numpy as np
from scipy.linalg import solve_triangular

from ilr_dynamics.arrays import FloatArray

from .gaussian_process import fitted_processes
from .kernels import Covariances, optimised_kernels
from .peer import CHUNK, Peer

__all__ = ["GeneralisedProductOfExperts", "RobustBCM"]


class _Committee(Peer):
    """
    Gaussian processes of 1,000 random samples each, whose predictions are combined.

    All experts share the kernels of `optimised_kernels`. What is combined are predictions of the
    function; the noise, which they share too, is added afterwards.
    """

    samples_per_expert = 1000

    def _fit(self, X: FloatArray, Y: FloatArray) -> None:
        kernels = optimised_kernels(X, Y, self.random_state)
        self.n_experts = max(1, round(len(X) / self.samples_per_expert))
        order = np.random.default_rng(self.random_state).permutation(len(X))
        chunks = np.array_split(order, self.n_experts)
        self.experts = [fitted_processes(X[chunk], Y[chunk], kernels) for chunk in chunks]
        self.covariances = [Covariances.of(X[chunk], kernels) for chunk in chunks]
        self.prior_variance = np.array([kernel.k1.k1.constant_value for kernel in kernels])
        self.noise_variance = np.array([kernel.k2.noise_level for kernel in kernels])

    @abstractmethod
    def _combine(self, means: FloatArray, variances: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Mean and variance (..., d) of the function from those of the experts, (k, ..., d)."""

    def _predict(self, X: FloatArray) -> tuple[FloatArray, FloatArray]:
        parts = [self._predict_chunk(X[i : i + CHUNK]) for i in range(0, len(X), CHUNK)]
        mean, variance = (np.concatenate(part) for part in zip(*parts, strict=True))
        return mean, np.sqrt(variance + self.noise_variance)

    def _predict_chunk(self, X: FloatArray) -> tuple[FloatArray, FloatArray]:
        means = np.empty((len(self.experts), len(X), len(self.noise_variance)))
        variances = np.empty_like(means)
        for k, processes in enumerate(self.experts):
            for j, process in enumerate(processes):
                means[k, :, j], std = process.predict(X, return_std=True)
                variances[k, :, j] = std**2 - self.noise_variance[j]
        return self._combine(means, self._bounded(variances))

    def _mean_at(self, x: FloatArray) -> FloatArray:
        means = np.empty((len(self.experts), len(self.noise_variance)))
        variances = np.empty_like(means)
        for k, (processes, covariances) in enumerate(
            zip(self.experts, self.covariances, strict=True)
        ):
            for j, (process, row) in enumerate(zip(processes, covariances(x), strict=True)):
                whitened = solve_triangular(process.L_, row, lower=True, check_finite=False)
                means[k, j] = row @ process.alpha_
                variances[k, j] = self.prior_variance[j] - whitened @ whitened
        return self._combine(means, self._bounded(variances))[0]

    def _bounded(self, variances: FloatArray) -> FloatArray:
        # Differences of nearly equal numbers; nothing is known better than to rounding errors.
        return np.clip(variances, 1e-9 * self.prior_variance, self.prior_variance)


class GeneralisedProductOfExperts(_Committee):
    r"""
    The generalised product of experts (Cao and Fleet, 2014).

    .. math::

        \sigma^{-2}(x) = \sum_k \beta_k(x) \sigma_k^{-2}(x), \qquad
        \mu(x) = \sigma^2(x) \sum_k \beta_k(x) \sigma_k^{-2}(x) \mu_k(x)

    with weights in proportion to what an expert has learnt about x, the difference in differential
    entropy between prior and posterior
    :math:`\frac{1}{2} (\log \sigma_{**}^2 - \log \sigma_k^2(x))`, and
    :math:`\sum_k \beta_k(x) = 1`, so that far from all samples the prior is left.

    Experts have 1,000 samples each; kernels as in `optimised_kernels`.
    """

    name = "gpoe"

    def _combine(self, means: FloatArray, variances: FloatArray) -> tuple[FloatArray, FloatArray]:
        weights = _learnt_entropy(variances, self.prior_variance)
        # Experts that all know nothing count the same.
        weights = weights + 1e-12
        weights /= weights.sum(axis=0)
        precision = (weights / variances).sum(axis=0)
        return (weights * means / variances).sum(axis=0) / precision, 1.0 / precision


class RobustBCM(_Committee):
    r"""
    The robust Bayesian committee machine (Deisenroth and Ng, 2015).

    .. math::

        \sigma^{-2}(x) = \sum_k \beta_k(x) \sigma_k^{-2}(x)
            + \Bigl(1 - \sum_k \beta_k(x)\Bigr) \sigma_{**}^{-2}, \qquad
        \mu(x) = \sigma^2(x) \sum_k \beta_k(x) \sigma_k^{-2}(x) \mu_k(x)

    with :math:`\beta_k(x) = \frac{1}{2} (\log \sigma_{**}^2 - \log \sigma_k^2(x))`, the difference
    in differential entropy between the prior and the posterior of expert k.

    Experts have 1,000 samples each; kernels as in `optimised_kernels`.
    """

    name = "rbcm"

    def _combine(self, means: FloatArray, variances: FloatArray) -> tuple[FloatArray, FloatArray]:
        weights = _learnt_entropy(variances, self.prior_variance)
        precision = (weights / variances).sum(axis=0)
        precision += (1.0 - weights.sum(axis=0)) / self.prior_variance
        return (weights * means / variances).sum(axis=0) / precision, 1.0 / precision


def _learnt_entropy(variances: FloatArray, prior_variance: FloatArray) -> FloatArray:
    return 0.5 * (np.log(prior_variance) - np.log(variances))
