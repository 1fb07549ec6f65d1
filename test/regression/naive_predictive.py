# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Predictive distributions of the naive implementation, and draws from its posterior."""

from __future__ import annotations

import numpy as np
from naive_ilr import sticks, update
from scipy.stats import multivariate_t, wishart


def input_predictive(c):
    """Student-t of x."""
    m, _ = c.sizes
    dof = c.dof + 1.0 - m
    shape = (1.0 + c.kappa) / (c.kappa * dof) * np.linalg.inv(c.scale)
    return multivariate_t(c.mean, shape, df=dof)


def output_predictive(c, x):
    """Student-t of y at x."""
    _, d = c.sizes
    u = np.append(x, 1.0)
    dof = c.noise_dof + 1.0 - d
    widening = 1.0 + u @ np.linalg.solve(c.column_precision, u)
    return multivariate_t(c.map @ u, widening / dof * np.linalg.inv(c.noise_scale), df=dof)


def log_marginal_likelihood(prior, X, Y):
    """Log p(X, Y | one component), by the chain rule over predictive densities."""
    total = 0.0
    known = prior
    for x, y in zip(X, Y, strict=True):
        total += input_predictive(known).logpdf(x) + output_predictive(known, x).logpdf(y)
        known = update(known, x[None], y[None], np.ones(1))
    return float(total)


def predictive(posteriors, prior, counts, concentration, x):
    """Weights (K + 1,) and output distributions of the predictive mixture at x."""
    rest, shares = 1.0, []
    for a, b in sticks(counts, concentration):
        shares.append(rest * a / (a + b))
        rest *= b / (a + b)
    shares.append(rest)
    everyone = [*posteriors, prior]
    weights = np.array(
        [s * input_predictive(c).pdf(x) for s, c in zip(shares, everyone, strict=True)]
    )
    return weights / weights.sum(), [output_predictive(c, x) for c in everyone]


def draw_parameters(c, generator, n_draws):
    """Draws of mu (n, m), Lambda (n, m, m), A (n, d, m + 1), V (n, d, d)."""
    m, d = c.sizes
    precisions = wishart(df=c.dof, scale=c.scale).rvs(n_draws, random_state=generator)
    noises = wishart(df=c.noise_dof, scale=c.noise_scale).rvs(n_draws, random_state=generator)
    precisions, noises = precisions.reshape(-1, m, m), noises.reshape(-1, d, d)
    row_factor = np.linalg.cholesky(np.linalg.inv(noises))
    column_factor = np.linalg.cholesky(np.linalg.inv(c.column_precision))
    maps = c.map + row_factor @ generator.normal(size=(n_draws, d, m + 1)) @ column_factor.T
    centre_factor = np.linalg.cholesky(np.linalg.inv(c.kappa * precisions))
    centres = c.mean + (centre_factor @ generator.normal(size=(n_draws, m, 1)))[:, :, 0]
    return centres, precisions, maps, noises


def normal_densities(y, means, precisions):
    """N(y | mean, precision) (n,) for stacked means and precisions."""
    r = y - means
    distance = np.einsum("ni,nij,nj->n", r, precisions, r)
    return np.sqrt(np.linalg.det(precisions / (2.0 * np.pi))) * np.exp(-0.5 * distance)
