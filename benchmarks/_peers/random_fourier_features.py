# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Ridge regression on random Fourier features."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from scipy.linalg import eigh
from scipy.stats import norm, t
from sklearn.kernel_approximation import RBFSampler

from ilr_dynamics.arrays import FloatArray

from .peer import Peer

__all__ = ["RandomFourierFeatures"]


class RandomFourierFeatures(Peer):
    r"""
    Bayesian ridge regression on 1,500 random Fourier features (Rahimi and Recht, 2008).

    Weights of one output have the prior :math:`N(0, \sigma^2 I / \lambda)`, its noise variance the
    improper :math:`p(\sigma^2) \propto \sigma^{-2}`. With features :math:`\Phi` of the n samples
    and :math:`A = \Phi^\top \Phi + \lambda I`, the mean is that of ridge regression and the
    prediction Student's t:

    .. math::

        \hat w = A^{-1} \Phi^\top y, \quad
        s^2 = \tfrac{1}{n} (y^\top y - y^\top \Phi \hat w), \quad
        y_* \sim t_n\bigl(\phi_*^\top \hat w,\; s^2 (1 + \phi_*^\top A^{-1} \phi_*)\bigr)

    Bandwidth and ridge, the same for all outputs, are those of the grid with the least mean square
    of the training samples' leave-one-out errors (as in scikit-learn's `RidgeCV`),
    :math:`(y_i - \phi_i^\top \hat w) / (1 - \phi_i^\top A^{-1} \phi_i)`, of all standardised
    outputs together. The bandwidth is that of the kernel :math:`\exp(-\gamma |x - x'|^2)` in
    standardised inputs; the grid has multiples of :math:`\gamma = 1 / m`, m inputs.
    """

    name = "random_fourier_features"
    n_features = 1500
    choices: ClassVar = {"n_features": (1000, 1500, 2500)}
    bandwidths = (0.125, 0.25, 0.5, 1.0, 2.0)
    ridges = (1e-4, 1e-3, 1e-2, 1e-1, 1.0)

    def _fit(self, X: FloatArray, Y: FloatArray) -> None:
        best = np.inf
        for bandwidth in self.bandwidths:
            sampler = RBFSampler(
                gamma=bandwidth / X.shape[1],
                n_components=self.n_features,
                random_state=self.random_state,
            ).fit(X)
            features = sampler.transform(X)
            values, vectors = eigh(features.T @ features, overwrite_a=True)
            rotated = features @ vectors
            moments = rotated.T @ Y
            for ridge in self.ridges:
                precision = np.maximum(values, 0.0) + ridge
                weights = moments / precision[:, None]
                leverage = rotated**2 @ (1.0 / precision)
                left_out = (Y - rotated @ weights) / (1.0 - leverage)[:, None]
                error = float((left_out**2).mean())
                if error < best:
                    best = error
                    self.bandwidth, self.ridge = bandwidth, ridge
                    self.frequencies, self.offsets = (
                        sampler.random_weights_,
                        sampler.random_offset_,
                    )
                    self.weights = vectors @ weights
                    # Times features: rows whose squared lengths are phi A^-1 phi.
                    self.whitening = vectors / np.sqrt(precision)
                    self.noise_variance = (Y**2 - Y * (rotated @ weights)).mean(axis=0)
        # A deviation whose normal interval is as wide as Student's, at 95 %.
        self.widening = t.ppf(0.975, len(X)) / norm.ppf(0.975)

    def _features(self, X: FloatArray) -> FloatArray:
        return np.sqrt(2.0 / self.n_features) * np.cos(X @ self.frequencies + self.offsets)

    def _predict(self, X: FloatArray) -> tuple[FloatArray, FloatArray]:
        features = self._features(X)
        spread = ((features @ self.whitening) ** 2).sum(axis=1)
        std = np.sqrt((1.0 + spread)[:, None] * self.noise_variance)
        return features @ self.weights, self.widening * std

    def _mean_at(self, x: FloatArray) -> FloatArray:
        return self._features(x) @ self.weights
