# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
r"""
Lengths of a Gaussian process, found by its evidence.

All outputs, in standard units, have in common

.. math::
    \mathrm{cov}(y_i, y_j) = \sigma^2 \big(\rho(x_i, x_j) + c\,(x_i^\top x_j + 1)
    + \lambda\,\delta_{ij}\big)

with Matern's correlation rho of a length for each input, a linear part and noise. The variance
sigma^2 of each output is integrated out (with the prior 1 / sigma^2), so that the evidence of n
samples is

.. math::
    -\tfrac{d}{2} \log |K| - \tfrac{n}{2} \sum_{k=1}^{d} \log\, y_k^\top K^{-1} y_k .

An input that does not matter gets a long length.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy
from scipy.linalg.lapack import dpotrf, dpotri

from ilr_dynamics.arrays import FloatArray
from ilr_dynamics.regression.shared.matern import correlation_and_slope

__all__ = ["Kernel", "most_probable_kernel"]

# The usual length, in standard deviations of an input, is this times the root of their number:
# distances grow with that. A prior holds it within a factor of e^2.
USUAL_LENGTH, LENGTH_DEVIATION = 2.0, 2.0
LENGTHS = (0.1, 1000.0)
# Where the search for the noise and the linear part starts, and bounds: shares of sigma^2.
USUAL_NOISE, NOISES = 0.01, (1e-5, 10.0)
USUAL_LINEAR, LINEARS = 0.1, (1e-5, 100.0)
# Of an output that never changes, as a share of the variance of the others.
LEAST_VARIANCE = 1e-10
ITERATIONS = 60
# Relative change of the evidence at which the search ends: lengths are then known to percents.
TOLERANCE = 1e-6


@dataclass(frozen=True, eq=False)
class Kernel:
    """
    Covariance of the outputs, as a share of their variance sigma^2.

    Parameters
    ----------
    lengths : (m,)
        Of the correlation, for each input.
    noise : float
        lambda.
    linear : float
        c.
    """

    lengths: FloatArray
    noise: float
    linear: float


def most_probable_kernel(X: FloatArray, Y: FloatArray) -> Kernel:
    """Search the most probable kernel given inputs X (n, m) and outputs Y (n, d), standardised."""
    m = X.shape[1]
    usual = np.full(m, np.log(USUAL_LENGTH * np.sqrt(m)))
    start = np.append(usual, np.log([USUAL_NOISE, USUAL_LINEAR]))
    bounds = [tuple(np.log(LENGTHS))] * m + [tuple(np.log(NOISES)), tuple(np.log(LINEARS))]
    found = scipy.optimize.minimize(
        _Evidence(X, Y, usual),
        start,
        jac=True,
        method="L-BFGS-B",
        bounds=bounds,
        options={"maxiter": ITERATIONS, "ftol": TOLERANCE},
    )
    values = np.exp(found.x if np.isfinite(found.fun) else start)
    return Kernel(values[:m], float(values[m]), float(values[m + 1]))


class _Evidence:
    """Negative log of evidence times prior, and its gradient."""

    def __init__(self, X: FloatArray, Y: FloatArray, usual: FloatArray) -> None:
        self._X, self._Y, self._usual = X, Y, usual
        self._linear = X @ X.T + 1.0

    def __call__(self, parameters: FloatArray) -> tuple[float, FloatArray]:
        """Evaluate at the logarithms of lengths, noise and linear part (m + 2,)."""
        X, Y, m = self._X, self._Y, len(self._usual)
        n, d = Y.shape
        scaled = X * np.exp(-parameters[:m])
        noise, linear = np.exp(parameters[m:])
        squares = np.sum(scaled**2, axis=1)
        squared = squares[:, None] + squares - 2.0 * (scaled @ scaled.T)
        rho, slope = correlation_and_slope(np.maximum(squared, 0.0))
        # In Fortran's order, in which LAPACK works without a copy.
        covariance = np.array(rho + linear * self._linear, order="F")
        covariance[np.diag_indices(n)] += noise
        factor, failed = dpotrf(covariance, lower=1, overwrite_a=1)
        if failed:
            return np.inf, np.zeros_like(parameters)
        log_determinant = 2.0 * float(np.sum(np.log(np.diagonal(factor))))
        inverse, _ = dpotri(factor, lower=1, overwrite_c=1)
        inverse = np.tril(inverse) + np.tril(inverse, -1).T
        pull = inverse @ Y
        energies = np.sum(Y * pull, axis=0) + LEAST_VARIANCE * n
        value = 0.5 * d * log_determinant + 0.5 * n * float(np.sum(np.log(energies)))
        # d value / d covariance, then the chain rule.
        sensitivity = 0.5 * d * inverse - 0.5 * n * (pull / energies) @ pull.T
        of_lengths = sensitivity * slope
        gradient = np.empty_like(parameters)
        # sum_ij W_ij (x_i - x_j)^2 of each input, without an array over pairs and inputs.
        gradient[:m] = 2.0 * np.sum(of_lengths, axis=1) @ scaled**2
        gradient[:m] -= 2.0 * np.sum(scaled * (of_lengths @ scaled), axis=0)
        gradient[m] = noise * np.trace(sensitivity)
        gradient[m + 1] = linear * np.sum(sensitivity * self._linear)
        from_usual = (parameters[:m] - self._usual) / LENGTH_DEVIATION
        gradient[:m] += from_usual / LENGTH_DEVIATION
        return value + 0.5 * float(from_usual @ from_usual), gradient
