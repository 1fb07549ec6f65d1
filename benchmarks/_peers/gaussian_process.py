# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Gaussian process regression."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import Kernel

from ilr_dynamics.arrays import FloatArray

from .kernels import Covariances, optimised_kernels, random_subset
from .peer import Peer

__all__ = ["GaussianProcess", "WithKernels", "fitted_processes"]


class WithKernels(Peer):
    """
    A method made of Gaussian processes.

    Parameters
    ----------
    random_state
    kernels
        Of `optimised_kernels` for the same samples, to do that once for several methods; None:
        optimised in `fit`.
    """

    def __init__(
        self, random_state: int = 0, kernels: Sequence[Kernel] | None = None, **settings: Any
    ) -> None:
        super().__init__(random_state, **settings)
        self.kernels = kernels

    def _fit(self, X: FloatArray, Y: FloatArray) -> None:
        kernels = self.kernels
        if kernels is None:
            kernels = optimised_kernels(X, Y, self.random_state)
        self._condition(X, Y, kernels)

    @abstractmethod
    def _condition(self, X: FloatArray, Y: FloatArray, kernels: Sequence[Kernel]) -> None:
        """Learn with these kernels."""


def fitted_processes(
    X: FloatArray, Y: FloatArray, kernels: Sequence[Kernel]
) -> list[GaussianProcessRegressor]:
    """One for each output, with hyperparameters as they are."""
    return [
        GaussianProcessRegressor(kernel, optimizer=None).fit(X, y)
        for kernel, y in zip(kernels, Y.T, strict=True)
    ]


class GaussianProcess(WithKernels):
    """
    Gaussian process regression on a random subset of 1,500 points, a process for each output.

    Kernels as in `optimised_kernels`.
    """

    name = "gaussian_process"
    n_points = 1500
    choices: ClassVar = {"n_points": (1500, 4000)}

    def _condition(self, X: FloatArray, Y: FloatArray, kernels: Sequence[Kernel]) -> None:
        chosen = random_subset(len(X), self.n_points, self.random_state)
        self.processes = fitted_processes(X[chosen], Y[chosen], kernels)
        self.covariances = Covariances.of(X[chosen], kernels)
        self.weights = np.array([process.alpha_ for process in self.processes])

    def _predict(self, X: FloatArray) -> tuple[FloatArray, FloatArray]:
        predictions = [process.predict(X, return_std=True) for process in self.processes]
        mean, std = (np.column_stack(columns) for columns in zip(*predictions, strict=True))
        return mean, std

    def _mean_at(self, x: FloatArray) -> FloatArray:
        return np.einsum("dm,dm->d", self.covariances(x), self.weights)
