# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Gaussian process regression."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import Kernel

from ilr_dynamics.arrays import FloatArray

from .kernels import CORRELATIONS, Covariances, optimised_kernels, random_subset
from .peer import CHUNK, Peer

__all__ = ["GaussianProcess", "fitted_processes"]

# A Cholesky factor of 0.5 GB for each output, found within half a minute.
MOST_SAMPLES = 8000


def fitted_processes(
    X: FloatArray, Y: FloatArray, kernels: Sequence[Kernel]
) -> list[GaussianProcessRegressor]:
    """One for each output, with hyperparameters as they are."""
    return [
        GaussianProcessRegressor(kernel, optimizer=None).fit(X, y)
        for kernel, y in zip(kernels, Y.T, strict=True)
    ]


class GaussianProcess(Peer):
    """
    Full Gaussian process regression, a process for each output.

    On all samples, or a random 8,000 of more. Hyperparameters are those of `optimised_kernels`: of
    a random subset, and of one start.
    """

    name = "gaussian_process"
    correlation = "squared_exponential"
    n_kernel_points = 500
    choices: ClassVar = {"correlation": tuple(CORRELATIONS), "n_kernel_points": (500, 1000)}

    def _fit(self, X: FloatArray, Y: FloatArray) -> None:
        kernels = optimised_kernels(
            X, Y, self.random_state, self.n_kernel_points, self.correlation
        )
        chosen = random_subset(len(X), MOST_SAMPLES, self.random_state)
        self.processes = fitted_processes(X[chosen], Y[chosen], kernels)
        self.covariances = Covariances.of(X[chosen], kernels, self.correlation)
        self.weights = np.array([process.alpha_ for process in self.processes])

    def _predict(self, X: FloatArray) -> tuple[FloatArray, FloatArray]:
        parts = [self._predict_chunk(X[i : i + CHUNK]) for i in range(0, len(X), CHUNK)]
        mean, std = (np.concatenate(part) for part in zip(*parts, strict=True))
        return mean, std

    def _predict_chunk(self, X: FloatArray) -> tuple[FloatArray, FloatArray]:
        predictions = [process.predict(X, return_std=True) for process in self.processes]
        mean, std = (np.column_stack(columns) for columns in zip(*predictions, strict=True))
        return mean, std

    def _mean_at(self, x: FloatArray) -> FloatArray:
        return np.einsum("dm,dm->d", self.covariances(x), self.weights)
