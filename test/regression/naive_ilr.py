# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""
Infinite local regression written a second time, to check the first against.

Nothing here is shared with the package. Updates are the textbook ones with centred scatters
(Gelman et al., Bayesian Data Analysis; Minka, Bayesian linear regression), the loops run sample by
sample and component by component, the bound is summed up term by term, and densities and entropies
are SciPy's wherever it has them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import betaln, digamma
from scipy.stats import beta, wishart

LOG_2PI = np.log(2.0 * np.pi)


@dataclass(frozen=True)
class Component:
    """A normal-Wishart over (mu, Lambda) and a matrix-normal-Wishart over (A, V)."""

    mean: np.ndarray  # m (m,)
    kappa: float
    scale: np.ndarray  # Psi (m, m)
    dof: float  # nu
    map: np.ndarray  # M (d, m + 1)
    column_precision: np.ndarray  # L (m + 1, m + 1)
    noise_scale: np.ndarray  # Phi (d, d)
    noise_dof: float  # eta

    @property
    def sizes(self):
        return self.mean.size, self.map.shape[0]


def components_of(region, regression):
    """Components from the package's stacked arrays."""
    return [
        Component(
            region.mean[k],
            region.kappa[k],
            np.linalg.inv(region.inverse_scale[k]),
            region.dof[k],
            regression.mean[k],
            regression.column_precision[k],
            np.linalg.inv(regression.inverse_scale[k]),
            regression.dof[k],
        )
        for k in range(region.kappa.size)
    ]


def random_component(generator, m, d):
    """A component with means far from zero and full matrices."""

    def positive(p):
        A = generator.normal(size=(p, p))
        return A @ A.T + 0.5 * np.eye(p)

    return Component(
        mean=generator.normal(size=m) * 2.0,
        kappa=generator.uniform(0.2, 5.0),
        scale=positive(m),
        dof=m + generator.uniform(0.5, 6.0),
        map=generator.normal(size=(d, m + 1)),
        column_precision=positive(m + 1),
        noise_scale=positive(d),
        noise_dof=d + generator.uniform(3.5, 8.0),
    )


def region_and_regression(components):
    """Arguments of the package's NormalWishart and MatrixNormalWishart."""
    region = (
        np.stack([c.mean for c in components]),
        np.array([c.kappa for c in components]),
        np.stack([np.linalg.inv(c.scale) for c in components]),
        np.array([c.dof for c in components]),
    )
    regression = (
        np.stack([c.map for c in components]),
        np.stack([c.column_precision for c in components]),
        np.stack([np.linalg.inv(c.noise_scale) for c in components]),
        np.array([c.noise_dof for c in components]),
    )
    return region, regression


def update(prior, X, Y, weights):
    """Posterior of one component after weighted samples."""
    n = weights.sum()
    if n == 0.0:
        return prior
    centre = sum(w * x for w, x in zip(weights, X, strict=True)) / n
    scatter = sum(w * np.outer(x - centre, x - centre) for w, x in zip(weights, X, strict=True))
    shift = centre - prior.mean
    pull = prior.kappa * n / (prior.kappa + n)
    inverse_scale = np.linalg.inv(prior.scale) + scatter + pull * np.outer(shift, shift)

    U = [np.append(x, 1.0) for x in X]
    precision = prior.column_precision + sum(
        w * np.outer(u, u) for w, u in zip(weights, U, strict=True)
    )
    # As a correction to the prior's map: of what the prior does not explain.
    surprise = sum(
        w * np.outer(y - prior.map @ u, u) for w, u, y in zip(weights, U, Y, strict=True)
    )
    fitted = prior.map + surprise @ np.linalg.inv(precision)
    step = fitted - prior.map
    inverse_noise = np.linalg.inv(prior.noise_scale) + step @ prior.column_precision @ step.T
    for w, u, y in zip(weights, U, Y, strict=True):
        inverse_noise = inverse_noise + w * np.outer(y - fitted @ u, y - fitted @ u)
    return Component(
        mean=prior.mean + n / (prior.kappa + n) * shift,
        kappa=prior.kappa + n,
        scale=np.linalg.inv(inverse_scale),
        dof=prior.dof + n,
        map=fitted,
        column_precision=precision,
        noise_scale=np.linalg.inv(inverse_noise),
        noise_dof=prior.noise_dof + n,
    )


def expected_log_determinant(scale, dof):
    """E log |W| of a Wishart matrix W."""
    p = scale.shape[0]
    total = sum(digamma(0.5 * (dof + 1.0 - i)) for i in range(1, p + 1))
    return total + p * np.log(2.0) + np.linalg.slogdet(scale)[1]


def expected_log_input(c, x):
    """E log N(x | mu, Lambda)."""
    m, _ = c.sizes
    r = x - c.mean
    mahalanobis = c.dof * r @ c.scale @ r + m / c.kappa
    return 0.5 * (expected_log_determinant(c.scale, c.dof) - m * LOG_2PI - mahalanobis)


def expected_log_output(c, x, y):
    """E log N(y | A u, V)."""
    _, d = c.sizes
    u = np.append(x, 1.0)
    r = y - c.map @ u
    mahalanobis = c.noise_dof * r @ c.noise_scale @ r + d * u @ np.linalg.solve(
        c.column_precision, u
    )
    return 0.5 * (expected_log_determinant(c.noise_scale, c.noise_dof) - d * LOG_2PI - mahalanobis)


def sticks(counts, concentration):
    """Parameters (a, b) of the Beta of each stick."""
    return [(1.0 + counts[k], concentration + sum(counts[k + 1 :])) for k in range(len(counts))]


def expected_log_weight(stick_posteriors, k):
    """E log pi_k."""
    a, b = stick_posteriors[k]
    log_weight = digamma(a) - digamma(a + b)
    for a, b in stick_posteriors[:k]:
        log_weight += digamma(b) - digamma(a + b)
    return log_weight


def responsibilities(posteriors, stick_posteriors, X, Y):
    """E-step: (n, K)."""
    r = np.empty((len(X), len(posteriors)))
    for n in range(len(X)):
        log_rho = np.array(
            [
                expected_log_weight(stick_posteriors, k)
                + expected_log_input(c, X[n])
                + expected_log_output(c, X[n], Y[n])
                for k, c in enumerate(posteriors)
            ]
        )
        rho = np.exp(log_rho - log_rho.max())
        r[n] = rho / rho.sum()
    return r


def lower_bound(priors, posteriors, prior_sticks, posterior_sticks, r, X, Y, weights):
    """E log p(X, Y, z, parameters) - E log q(z, parameters), one term after the other."""
    bound = 0.0
    for n in range(len(X)):
        for k, c in enumerate(posteriors):
            if r[n, k] > 0.0:
                bound += weights[n] * r[n, k] * expected_log_input(c, X[n])
                bound += weights[n] * r[n, k] * expected_log_output(c, X[n], Y[n])
                bound += weights[n] * r[n, k] * expected_log_weight(posterior_sticks, k)
                bound -= weights[n] * r[n, k] * np.log(r[n, k])
    for p, q in zip(priors, posteriors, strict=True):
        bound += expected_log_prior(p, q) + parameter_entropy(q)
    for (a0, b0), (a, b) in zip(prior_sticks, posterior_sticks, strict=True):
        bound += (a0 - 1.0) * (digamma(a) - digamma(a + b))
        bound += (b0 - 1.0) * (digamma(b) - digamma(a + b))
        bound += beta(a, b).entropy() - betaln(a0, b0)
    return float(bound)


def expected_log_prior(p, q):
    """E_q log p(mu, Lambda, A, V)."""
    m, d = p.sizes
    shift, step = q.mean - p.mean, q.map - p.map
    log_det = expected_log_determinant(q.scale, q.dof)
    centre = 0.5 * (m * np.log(p.kappa) - m * LOG_2PI + log_det)
    centre -= 0.5 * p.kappa * (m / q.kappa + q.dof * shift @ q.scale @ shift)
    log_det_noise = expected_log_determinant(q.noise_scale, q.noise_dof)
    regressors = m + 1
    slopes = 0.5 * (
        regressors * log_det_noise
        + d * np.linalg.slogdet(p.column_precision)[1]
        - d * regressors * LOG_2PI
        - d * np.trace(p.column_precision @ np.linalg.inv(q.column_precision))
        - q.noise_dof * np.trace(q.noise_scale @ step @ p.column_precision @ step.T)
    )
    return (
        centre
        + slopes
        + expected_log_wishart(p.scale, p.dof, q.scale, q.dof)
        + expected_log_wishart(p.noise_scale, p.noise_dof, q.noise_scale, q.noise_dof)
    )


def expected_log_wishart(scale0, dof0, scale, dof):
    """E log W(W | scale0, dof0) under W(scale, dof): log p at the identity, corrected."""
    p = scale.shape[0]
    at_identity = wishart(df=dof0, scale=scale0).logpdf(np.eye(p))
    inverse = np.linalg.inv(scale0)
    log_constant = at_identity + 0.5 * np.trace(inverse)
    log_det = expected_log_determinant(scale, dof)
    return log_constant + 0.5 * (dof0 - p - 1.0) * log_det - 0.5 * dof * np.trace(inverse @ scale)


def parameter_entropy(q):
    """-E_q log q(mu, Lambda, A, V)."""
    m, d = q.sizes
    log_det = expected_log_determinant(q.scale, q.dof)
    centre = 0.5 * (m + m * LOG_2PI - m * np.log(q.kappa) - log_det)
    log_det_noise = expected_log_determinant(q.noise_scale, q.noise_dof)
    slopes = 0.5 * (
        d * (m + 1) * (1.0 + LOG_2PI)
        - (m + 1) * log_det_noise
        - d * np.linalg.slogdet(q.column_precision)[1]
    )
    wisharts = wishart(df=q.dof, scale=q.scale).entropy()
    wisharts += wishart(df=q.noise_dof, scale=q.noise_scale).entropy()
    return centre + slopes + wisharts
