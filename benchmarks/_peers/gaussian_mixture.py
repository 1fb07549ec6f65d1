# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Gaussian mixture regression."""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.mixture import BayesianGaussianMixture

from ilr_dynamics.arrays import FloatArray

from .peer import CHUNK, Peer

__all__ = ["GaussianMixtureRegression"]


class GaussianMixtureRegression(Peer):
    r"""
    A variational Gaussian mixture over inputs and outputs together, conditioned on the inputs.

    With :math:`w_k(x) \propto \pi_k N(x; \mu_k^x, \Sigma_k^{xx})` and each component's

    .. math::

        m_k(x) = \mu_k^y + \Sigma_k^{yx} (\Sigma_k^{xx})^{-1} (x - \mu_k^x), \qquad
        C_k = \Sigma_k^{yy} - \Sigma_k^{yx} (\Sigma_k^{xx})^{-1} \Sigma_k^{xy},

    mean and variance of the conditional mixture are

    .. math::

        m(x) = \sum_k w_k(x) m_k(x), \qquad
        v(x) = \sum_k w_k(x) (\mathrm{diag}\, C_k + m_k(x)^2) - m(x)^2.

    100 components with full covariances under a Dirichlet process, at most 100 iterations.
    `n_experts` counts those that hold at least one sample.
    """

    name = "gaussian_mixture_regression"
    n_components = 100

    def _fit(self, X: FloatArray, Y: FloatArray) -> None:
        n, m = X.shape
        mixture = BayesianGaussianMixture(
            n_components=min(self.n_components, n),
            covariance_type="full",
            max_iter=100,
            random_state=self.random_state,
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            mixture.fit(np.hstack([X, Y]))
        held = mixture.weights_ * n >= 1.0
        self.n_experts = int(held.sum())
        centres, covariances = mixture.means_[held], mixture.covariances_[held]
        factors = np.linalg.cholesky(covariances[:, :m, :m])
        # log w_k(x) is a constant minus half the squared length of whitening @ x - centre.
        self.whitening = np.linalg.inv(factors)
        self.whitened_centres = np.einsum("kij,kj->ki", self.whitening, centres[:, :m])
        self.log_weights = np.log(mixture.weights_[held]) - np.log(
            np.diagonal(factors, axis1=1, axis2=2)
        ).sum(axis=1)
        self.slopes = np.linalg.solve(covariances[:, :m, :m], covariances[:, :m, m:])
        self.intercepts = centres[:, m:] - np.einsum("ki,kid->kd", centres[:, :m], self.slopes)
        explained = np.einsum("kid,kid->kd", covariances[:, :m, m:], self.slopes)
        self.variances = np.diagonal(covariances[:, m:, m:], axis1=1, axis2=2) - explained

    def _predict(self, X: FloatArray) -> tuple[FloatArray, FloatArray]:
        parts = [self._predict_chunk(X[i : i + CHUNK]) for i in range(0, len(X), CHUNK)]
        mean, std = (np.concatenate(part) for part in zip(*parts, strict=True))
        return mean, std

    def _predict_chunk(self, X: FloatArray) -> tuple[FloatArray, FloatArray]:
        # (k, n, ...): a product of matrices for each component.
        whitened = X @ self.whitening.transpose(0, 2, 1) - self.whitened_centres[:, None]
        weights = self._weights((whitened**2).sum(axis=2).T)
        means = X @ self.slopes + self.intercepts[:, None]
        mean = np.einsum("nk,knd->nd", weights, means)
        spread = np.einsum("nk,knd->nd", weights, (means - mean) ** 2)
        return mean, np.sqrt(weights @ self.variances + spread)

    def _mean_at(self, x: FloatArray) -> FloatArray:
        whitened = self.whitening @ x - self.whitened_centres
        weights = self._weights((whitened**2).sum(axis=1))
        return weights @ (x @ self.slopes + self.intercepts)

    def _weights(self, squared_distances: FloatArray) -> FloatArray:
        logarithm = self.log_weights - 0.5 * squared_distances
        weights = np.exp(logarithm - logarithm.max(axis=-1, keepdims=True))
        return weights / weights.sum(axis=-1, keepdims=True)
