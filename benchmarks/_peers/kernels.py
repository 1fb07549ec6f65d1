# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Kernels of the Gaussian processes: found from samples, and evaluated for one input."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Kernel, WhiteKernel

from ilr_dynamics.arrays import FloatArray

from .standardisation import Standardisation

__all__ = ["Covariances", "optimised_kernels", "random_subset"]

# Points on which the hyperparameters of the Gaussian processes are optimised, and for how long:
# an iteration costs the cube of the first and is needed once per output.
KERNEL_POINTS = 500
KERNEL_ITERATIONS = 40


def optimised_kernels(X: FloatArray, Y: FloatArray, random_state: int = 0) -> list[Kernel]:
    """
    A kernel for each output, its hyperparameters those of the highest marginal likelihood.

    Squared exponential with a length scale for each input, and white noise. Of a random subset of
    500 points, in at most 40 iterations per output: about a minute for 21 inputs and 7 outputs.

    Parameters
    ----------
    X : (n, m)
    Y : (n, d)
    random_state
        Seed of the subset.

    Returns
    -------
    kernels
        For standardised inputs and outputs, as `Peer.fit` makes them.
    """
    X, Y = Standardisation.of(X).apply(X), Standardisation.of(Y).apply(Y)
    chosen = random_subset(len(X), KERNEL_POINTS, random_state)
    start: Kernel = ConstantKernel(1.0, (1e-2, 1e3)) * RBF(
        np.full(X.shape[1], np.sqrt(X.shape[1])), (1e-1, 1e3)
    ) + WhiteKernel(1e-1, (1e-6, 1.0))
    kernels = []
    for y in Y[chosen].T:
        process = GaussianProcessRegressor(start, optimizer=_few_iterations)
        with warnings.catch_warnings():
            # Of a length scale at its bound: the input doesn't matter for this output.
            warnings.simplefilter("ignore", ConvergenceWarning)
            kernels.append(process.fit(X[chosen], y).kernel_)
    return kernels


def _few_iterations(
    objective: Any, start: FloatArray, bounds: FloatArray
) -> tuple[FloatArray, float]:
    """An optimiser for scikit-learn that stops when the time is better spent elsewhere."""
    result = minimize(
        objective,
        start,
        method="L-BFGS-B",
        jac=True,
        bounds=bounds,
        options={"maxiter": KERNEL_ITERATIONS},
    )
    return result.x, result.fun


def random_subset(n: int, size: int, random_state: int) -> NDArray[np.int64]:
    return np.random.default_rng(random_state).permutation(n)[:size]


class Covariances:
    """
    Covariance of one input with m points, for several squared-exponential kernels at a time.

    Parameters
    ----------
    points : (m, i)
    variances : (d,)
    length_scales : (d, i)
    """

    def __init__(
        self, points: FloatArray, variances: FloatArray, length_scales: FloatArray
    ) -> None:
        self.length_scales = length_scales
        self.scaled = points[None] / length_scales[:, None]
        self.constant = np.log(variances)[:, None] - 0.5 * (self.scaled**2).sum(axis=2)

    @classmethod
    def of(cls, points: FloatArray, kernels: Sequence[Kernel]) -> Covariances:
        signals = [kernel.k1 for kernel in kernels]
        return cls(
            points,
            np.array([signal.k1.constant_value for signal in signals]),
            np.array([signal.k2.length_scale for signal in signals]),
        )

    def __call__(self, x: FloatArray) -> FloatArray:
        """(d, m) of one input (i,)."""
        scaled = x / self.length_scales
        exponent = (self.scaled @ scaled[:, :, None])[:, :, 0]
        exponent += self.constant
        exponent -= 0.5 * (scaled**2).sum(axis=1)[:, None]
        return np.exp(exponent, out=exponent)
