# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Kernels of the Gaussian processes: found from samples, and evaluated for one input."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve
from scipy.linalg.lapack import dpotri
from scipy.optimize import minimize
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Kernel, Matern, WhiteKernel

from ilr_dynamics.arrays import FloatArray

__all__ = [
    "CORRELATIONS",
    "SMOOTHNESS",
    "Covariances",
    "negative_log_likelihood",
    "optimised_kernels",
    "random_subset",
]

# An iteration costs the cube of the points that hyperparameters are optimised on.
MOST_ITERATIONS = 40
BOUNDS_OF_VARIANCE, BOUNDS_OF_LENGTH, BOUNDS_OF_NOISE = (1e-2, 1e3), (1e-1, 1e3), (1e-6, 1.0)


def _squared_exponential(squared: FloatArray) -> tuple[FloatArray, FloatArray]:
    correlation = np.exp(-0.5 * squared)
    return correlation, correlation


def _matern_3_2(squared: FloatArray) -> tuple[FloatArray, FloatArray]:
    scaled = np.sqrt(3.0 * squared)
    decay = np.exp(-scaled)
    return (1.0 + scaled) * decay, 3.0 * decay


def _matern_5_2(squared: FloatArray) -> tuple[FloatArray, FloatArray]:
    scaled = np.sqrt(5.0 * squared)
    decay = np.exp(-scaled)
    slope = 5.0 / 3.0 * (1.0 + scaled) * decay
    return (1.0 + scaled + 5.0 / 3.0 * squared) * decay, slope


# Correlation by squared distance in length scales, and minus twice its derivative.
CORRELATIONS: dict[str, Callable[[FloatArray], tuple[FloatArray, FloatArray]]] = {
    "squared_exponential": _squared_exponential,
    "matern_5_2": _matern_5_2,
    "matern_3_2": _matern_3_2,
}
# Of the Matern correlations, as libraries name them.
SMOOTHNESS = {"matern_5_2": 2.5, "matern_3_2": 1.5}


def optimised_kernels(
    X: FloatArray,
    Y: FloatArray,
    random_state: int = 0,
    n_points: int = 500,
    correlation: str = "squared_exponential",
) -> list[Kernel]:
    """
    A kernel for each output, its hyperparameters those of the highest marginal likelihood.

    With a length scale for each input, and white noise. Of a random subset of the samples, in at
    most 40 iterations per output.

    Parameters
    ----------
    X : (n, m)
        Standardised.
    Y : (n, d)
        Standardised.
    random_state
        Seed of the subset.
    n_points
        Size of the subset.
    correlation
        Name in `CORRELATIONS`.
    """
    chosen = random_subset(len(X), n_points, random_state)
    n_inputs = X.shape[1]
    start = np.log([1.0, *np.full(n_inputs, np.sqrt(n_inputs)), 0.1])
    bounds = np.log([BOUNDS_OF_VARIANCE, *[BOUNDS_OF_LENGTH] * n_inputs, BOUNDS_OF_NOISE])
    return [
        _kernel(
            minimize(
                negative_log_likelihood,
                start,
                (X[chosen], y, correlation),
                method="L-BFGS-B",
                jac=True,
                bounds=bounds,
                options={"maxiter": MOST_ITERATIONS},
            ).x,
            correlation,
        )
        for y in Y[chosen].T
    ]


def negative_log_likelihood(
    parameters: FloatArray, X: FloatArray, y: FloatArray, correlation: str
) -> tuple[float, FloatArray]:
    """
    Minus the log marginal likelihood of a Gaussian process without mean, and its gradient.

    As scikit-learn's, but for a gradient by matrix products in place of a matrix for each length
    scale, which is several times faster (Rasmussen and Williams, 2006, equation 5.9).

    Parameters
    ----------
    parameters : (m + 2,)
        Logarithms of the variance, of the length scales and of the noise variance.
    X : (n, m)
    y : (n,)
    correlation
        Name in `CORRELATIONS`.
    """
    variance, *lengths, noise = np.exp(parameters)
    scaled = X / lengths
    squares = (scaled**2).sum(axis=1)
    distances = np.maximum(squares[:, None] + squares - 2.0 * scaled @ scaled.T, 0.0)
    correlations, slopes = CORRELATIONS[correlation](distances)
    covariance = variance * correlations
    noisy = covariance + (noise + 1e-10) * np.eye(len(X))
    try:
        factor = cho_factor(noisy, lower=True, overwrite_a=True, check_finite=False)
    except np.linalg.LinAlgError:
        return np.inf, np.zeros_like(parameters)
    weights = cho_solve(factor, y, check_finite=False)
    half_log_determinant = np.log(np.diagonal(factor[0])).sum()
    bound = -0.5 * y @ weights - half_log_determinant - 0.5 * len(y) * np.log(2.0 * np.pi)
    inverse = np.tril(dpotri(factor[0], lower=True)[0])
    inverse += np.tril(inverse, -1).T
    inner = np.outer(weights, weights) - inverse
    by_distance = variance * inner * slopes
    gradient = np.concatenate(
        [
            [0.5 * np.vdot(inner, covariance)],
            by_distance.sum(axis=1) @ scaled**2 - (scaled * (by_distance @ scaled)).sum(axis=0),
            [0.5 * noise * np.trace(inner)],
        ]
    )
    return -float(bound), -gradient


def _kernel(parameters: FloatArray, correlation: str) -> Kernel:
    variance, *lengths, noise = np.exp(parameters)
    if correlation in SMOOTHNESS:
        signal: Kernel = Matern(lengths, nu=SMOOTHNESS[correlation])
    else:
        signal = RBF(lengths)
    return ConstantKernel(variance) * signal + WhiteKernel(noise)


def random_subset(n: int, size: int, random_state: int) -> NDArray[np.int64]:
    return np.random.default_rng(random_state).permutation(n)[:size]


class Covariances:
    """
    Covariance of one input with m points, for several kernels at a time.

    Parameters
    ----------
    points : (m, i)
    variances : (d,)
    length_scales : (d, i)
    correlation
        Name in `CORRELATIONS`.
    """

    def __init__(
        self,
        points: FloatArray,
        variances: FloatArray,
        length_scales: FloatArray,
        correlation: str = "squared_exponential",
    ) -> None:
        self.variances = variances[:, None]
        self.length_scales = length_scales
        self.correlation = CORRELATIONS[correlation]
        self.doubled = 2.0 * points[None] / length_scales[:, None]
        self.squares = 0.25 * (self.doubled**2).sum(axis=2)

    @classmethod
    def of(
        cls,
        points: FloatArray,
        kernels: Sequence[Kernel],
        correlation: str = "squared_exponential",
    ) -> Covariances:
        signals = [kernel.k1 for kernel in kernels]
        return cls(
            points,
            np.array([signal.k1.constant_value for signal in signals]),
            np.array([signal.k2.length_scale for signal in signals]),
            correlation,
        )

    def __call__(self, x: FloatArray) -> FloatArray:
        """(d, m) of one input (i,)."""
        scaled = x / self.length_scales
        squared = self.squares + (scaled**2).sum(axis=1)[:, None]
        squared -= (self.doubled @ scaled[:, :, None])[:, :, 0]
        return self.variances * self.correlation(np.maximum(squared, 0.0))[0]
