# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Predictions of a fitted model as docs/mathematics.md writes them, without shortcuts."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import gammaln, logsumexp


class NaivePrediction(NamedTuple):
    """At one input: moments (d,) in physical units and weights (K + 1,) of the components."""

    mean: np.ndarray
    std: np.ndarray
    doubt: np.ndarray
    weights: np.ndarray


def naive_predictions(model, X):
    """Of a fitted ILR or HILR at inputs X (n, m)."""
    components = model.prior_.predictive(model.statistics_, model.groups_)
    return [_at_one(model, components, x) for x in np.asarray(X, dtype=float)]


def _at_one(model, components, x):
    transforms = model.transforms_
    unit, location = transforms.outputs.scale, transforms.outputs.location
    u = transforms.regressors(x[None])[0]
    weights = _weights(components, u[: len(x)])
    regression = components.regression
    d = regression.mean.shape[1]
    means = regression.mean @ u
    factors = 1.0 + np.einsum("i,kij,j->k", u, np.linalg.inv(regression.column_precision), u)
    freedom = regression.dof - 1.0 - d
    noise = np.diagonal(regression.inverse_scale, axis1=1, axis2=2) / freedom[:, None]
    noise = noise * transforms.spread.components**2
    noise[-1] *= (transforms.spread.unseen / transforms.spread.components) ** 2
    doubts, unlearnable = np.zeros_like(means), np.zeros_like(means)
    model_of_all, origin = transforms.global_model, location
    if model_of_all is not None:
        said, spread = model_of_all.predict(x[None]), transforms.spread.unseen**2
        covariance = model_of_all.noise_shape * model_of_all.dof / (model_of_all.dof - 2.0)
        residual_variance = np.diag(covariance) / unit**2
        noise[-1] = spread * residual_variance
        factors[-1] = said.factor[0]
        if said.doubt is not None:
            doubts[-1] = spread * said.doubt[0] / unit**2
        if said.unlearnable is not None:
            unlearnable[-1] = spread * said.unlearnable[0] / unit**2
        if transforms.learn_residual:
            origin = location + said.mean[0]
            if said.unlearnable is not None:
                unlearnable[:-1] = said.unlearnable[0] / unit**2
            rho = _correlations(model, components, x)
            none = -location / unit
            means[:-1] = none + rho[:, None] * (means[:-1] - none)
            doubts[:-1] = (1.0 - rho[:, None] ** 2) * residual_variance
        means[-1] = (said.mean[0] - origin) / unit
    mean = weights @ means
    between = (means - mean) ** 2
    doubt = weights @ ((factors[:, None] - 1.0) * noise + doubts + between)
    variance = weights @ (factors[:, None] * noise + doubts + unlearnable + between)
    return NaivePrediction(
        mean * unit + origin, np.sqrt(variance) * unit, np.sqrt(doubt) * unit, weights
    )


def _weights(components, x):
    """Of Student-t densities of the inputs, with their definition."""
    region = components.region
    m = len(x)
    dof = region.dof + 1.0 - m
    factor = (1.0 + region.kappa) / (region.kappa * dof)
    precision = np.linalg.inv(region.inverse_scale) / factor[:, None, None]
    deviation = x - region.mean
    distance = np.einsum("ki,kij,kj->k", deviation, precision, deviation)
    log_density = (
        gammaln(0.5 * (dof + m))
        - gammaln(0.5 * dof)
        - 0.5 * m * np.log(np.pi * dof)
        + 0.5 * np.linalg.slogdet(precision)[1]
        - 0.5 * (dof + m) * np.log1p(distance / dof)
    )
    log_weights = components.log_expected_weights + log_density
    return np.exp(log_weights - logsumexp(log_weights))


def _correlations(model, components, x):
    """Matern's, with exponent 3/2, of the residual at x with those in the components' boxes."""
    lengths = model.global_model_.residual_lengths
    if lengths is None:
        return np.ones(len(components.region.mean) - 1)
    centres, covariances = model.input_regions()
    extents = np.sqrt(np.diagonal(covariances, axis1=1, axis2=2))
    beyond = np.maximum(np.abs(x - centres) - extents, 0.0) / lengths
    root = np.sqrt(3.0 * np.sum(beyond**2, axis=1))
    return (1.0 + root) * np.exp(-root)
