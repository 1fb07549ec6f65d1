# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""A Gaussian process of random Fourier features."""

from __future__ import annotations

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from ilr_dynamics.arrays import FloatArray

from .peer import Peer

__all__ = ["SparseSpectrumGP"]


class SparseSpectrumGP(Peer):
    r"""
    A Gaussian process of 500 random Fourier features, learnt sample by sample.

    As Gijsberts and Metta (2013): cosines and sines of 250 random frequencies
    (Rahimi and Recht, 2008), then recursive Bayesian linear regression. With features
    :math:`\Phi` of new samples, whose noise has the unknown variance :math:`\sigma^2`, and weights
    with covariance :math:`\sigma^2 P`,

    .. math::

        S = I + \Phi P \Phi^\top, \quad G = P \Phi^\top S^{-1}, \quad
        W \leftarrow W + G (Y - \Phi W), \quad P \leftarrow P - G \Phi P

    and the inverse-gamma posterior of each output's :math:`\sigma^2` counts the squared
    innovations in units of S. The result doesn't depend on how samples are split into updates.

    One length scale for all standardised inputs, and the ratio of prior to noise variance, are
    those with the least error on the last fifth of the training samples, the rest being learnt
    from; frequencies are of a squared-exponential kernel.
    """

    name = "sparse_spectrum_gp"
    n_frequencies = 250
    length_scales = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0)
    # Of one weight; features have a mean square of 1/2, so the process has 250 times this.
    prior_variances = (0.01, 0.1, 1.0, 10.0, 100.0)

    def _fit(self, X: FloatArray, Y: FloatArray) -> None:
        generator = np.random.default_rng(self.random_state)
        directions = generator.standard_normal((X.shape[1], self.n_frequencies))
        scale, prior_variance = self._select(X, Y, directions)
        self.frequencies = directions / scale
        n_features = 2 * self.n_frequencies
        self.covariance = prior_variance * np.eye(n_features)
        self.weights = np.zeros((n_features, Y.shape[1]))
        # Weak: one sample's worth of a noise variance that is a hundredth of the outputs'.
        self.shape = 0.5
        self.rate = np.full(Y.shape[1], 0.5 * 0.01)
        for i in range(0, len(X), 100):
            self._update(X[i : i + 100], Y[i : i + 100])

    def update(self, X: FloatArray, Y: FloatArray) -> None:
        """Learn from further samples: inputs (n, m), outputs (n, d)."""
        self._update(self.inputs.apply(X), self.outputs.apply(Y))

    def _update(self, X: FloatArray, Y: FloatArray) -> None:
        features = self._features(X)
        projected = features @ self.covariance
        factor = cho_factor(np.eye(len(X)) + projected @ features.T, lower=True)
        innovation = Y - features @ self.weights
        scaled = cho_solve(factor, innovation)
        self.weights += projected.T @ scaled
        self.covariance -= projected.T @ cho_solve(factor, projected)
        # Rounding errors would add up to a covariance that is none.
        self.covariance = 0.5 * (self.covariance + self.covariance.T)
        self.shape += 0.5 * len(X)
        self.rate = self.rate + 0.5 * (innovation * scaled).sum(axis=0)

    def _select(self, X: FloatArray, Y: FloatArray, directions: FloatArray) -> tuple[float, float]:
        """Length scale and prior variance of a weight with the least error on the last fifth."""
        n = len(X) - len(X) // 5
        best = (np.inf, self.length_scales[0], self.prior_variances[0])
        for scale in self.length_scales:
            features = _cosines_and_sines(X @ (directions / scale))
            gram, moment = features[:n].T @ features[:n], features[:n].T @ Y[:n]
            for prior_variance in self.prior_variances:
                precision = gram + np.eye(len(gram)) / prior_variance
                weights = cho_solve(cho_factor(precision, lower=True), moment)
                error = ((Y[n:] - features[n:] @ weights) ** 2).mean()
                best = min(best, (float(error), scale, prior_variance))
        return best[1], best[2]

    def _features(self, X: FloatArray) -> FloatArray:
        return _cosines_and_sines(X @ self.frequencies)

    def _predict(self, X: FloatArray) -> tuple[FloatArray, FloatArray]:
        features = self._features(X)
        spread = np.einsum("ni,ni->n", features @ self.covariance, features)
        noise_variance = self.rate / self.shape
        return features @ self.weights, np.sqrt((1.0 + spread)[:, None] * noise_variance)

    def _mean_at(self, x: FloatArray) -> FloatArray:
        return self._features(x) @ self.weights


def _cosines_and_sines(phase: FloatArray) -> FloatArray:
    return np.concatenate([np.cos(phase), np.sin(phase)], axis=-1)
