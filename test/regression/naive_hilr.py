# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""
Hierarchical infinite local regression written a second time, to check the first against.

Nothing here is shared with the package. All centres of an upper component, its own among them,
are one Gaussian, and its slope and all offsets one matrix-normal over [regressors, one-hot of the
lower component]. Both are weighted least squares: each prior and each sample adds a row to a
design, and precision, mean and scatter of the residuals are dense sums over the rows, with nothing
eliminated. The bound is summed up term by term.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from naive_ilr import (
    LOG_2PI,
    expected_log_determinant,
    expected_log_weight,
    expected_log_wishart,
    sticks,
)
from scipy.special import betaln, digamma
from scipy.stats import beta, multivariate_t, wishart


@dataclass(frozen=True)
class Linear:
    """[rows of B] ~ MN(mean, W, precision) with W ~ Wishart(scale, dof); B is (rows, columns)."""

    mean: np.ndarray  # (rows, columns)
    precision: np.ndarray  # (columns, columns)
    scale: np.ndarray  # (rows, rows)
    dof: float

    def updated(self, designs, targets, weights):
        """Posterior after rows with target = B design + noise, noise ~ N(0, W / weight)."""
        precision, pull = self.precision.copy(), self.mean @ self.precision
        for a, b, w in zip(designs, targets, weights, strict=True):
            precision = precision + w * np.outer(a, a)
            pull = pull + w * np.outer(b, a)
        mean = pull @ np.linalg.inv(precision)
        step = mean - self.mean
        inverse_scale = np.linalg.inv(self.scale) + step @ self.precision @ step.T
        for a, b, w in zip(designs, targets, weights, strict=True):
            inverse_scale = inverse_scale + w * np.outer(b - mean @ a, b - mean @ a)
        return Linear(mean, precision, np.linalg.inv(inverse_scale), self.dof + sum(weights))

    def variance(self, a):
        """Variance of B a in units of W^-1."""
        return a @ np.linalg.inv(self.precision) @ a

    def expected_distance(self, a, target):
        """E[(B a - target)' W (B a - target)]."""
        r = self.mean @ a - target
        return self.mean.shape[0] * self.variance(a) + self.dof * r @ self.scale @ r

    def expected_log_density(self, a, target):
        """E log N(target | B a, W)."""
        p = self.mean.shape[0]
        log_det = expected_log_determinant(self.scale, self.dof)
        return 0.5 * (log_det - p * LOG_2PI - self.expected_distance(a, target))

    def predictive(self, a):
        """Student-t of a target with this design."""
        dof = self.dof + 1.0 - self.mean.shape[0]
        shape = (1.0 + self.variance(a)) / dof * np.linalg.inv(self.scale)
        return multivariate_t(self.mean @ a, shape, df=dof)

    def log_normalizer(self):
        """Log of the integral over B and W of the density without its constants."""
        p, columns = self.mean.shape
        at_identity = wishart(df=self.dof, scale=self.scale).logpdf(np.eye(p))
        log_wishart = -at_identity - 0.5 * np.trace(np.linalg.inv(self.scale))
        return log_wishart + 0.5 * p * (columns * LOG_2PI - np.linalg.slogdet(self.precision)[1])

    def draw(self, generator, n_draws):
        """Draws of B (n, rows, columns) and W (n, rows, rows)."""
        p, columns = self.mean.shape
        W = wishart(df=self.dof, scale=self.scale).rvs(n_draws, random_state=generator)
        W = W.reshape(-1, p, p)
        rows = np.linalg.cholesky(np.linalg.inv(W))
        factor = np.linalg.cholesky(np.linalg.inv(self.precision))
        return self.mean + rows @ generator.normal(size=(n_draws, p, columns)) @ factor.T, W


@dataclass(frozen=True)
class Group:
    """An upper component: columns [tau, mu_1 .. mu_K] and [A, c_1 .. c_K]."""

    region: Linear
    regression: Linear

    @property
    def n_lower(self):
        return self.region.mean.shape[1] - 1

    @property
    def n_slopes(self):
        return self.regression.mean.shape[1] - self.n_lower

    def centre_design(self, k):
        """What picks mu_k out of the centres."""
        return np.eye(1 + self.n_lower)[1 + k]

    def output_design(self, k, features):
        """What [A, c_1 .. c_K] is multiplied by."""
        return np.concatenate([features, np.eye(self.n_lower)[k]])

    def updated(self, samples, weights):
        """Posterior after samples (x, features, y) with weights (n, K)."""
        rows = [(n, k) for n in range(len(samples)) for k in range(self.n_lower)]
        flat = [weights[n, k] for n, k in rows]
        return Group(
            self.region.updated(
                [self.centre_design(k) for _, k in rows], [samples[n][0] for n, _ in rows], flat
            ),
            self.regression.updated(
                [self.output_design(k, samples[n][1]) for n, k in rows],
                [samples[n][2] for n, _ in rows],
                flat,
            ),
        )

    def expected_log_likelihood(self, k, sample):
        """E log N(x | mu_k, Lambda) + E log N(y | A u + c_k, V)."""
        x, features, y = sample
        of_input = self.region.expected_log_density(self.centre_design(k), x)
        design = self.output_design(k, features)
        return of_input + self.regression.expected_log_density(design, y)

    def predictives(self, k, features):
        """Student-t of x, and of y given its features, of lower component k."""
        of_output = self.regression.predictive(self.output_design(k, features))
        return self.region.predictive(self.centre_design(k)), of_output


@dataclass(frozen=True)
class Hyperparameters:
    """Of both levels, named as in the paper's generative process."""

    location: np.ndarray  # m_0 (m,)
    upper_strength: float  # lambda_0
    lower_strength: float  # kappa_0
    scale: np.ndarray  # Psi_0 (m, m)
    dof: float  # nu_0
    slope: np.ndarray  # M_0 (d, r)
    slope_precision: np.ndarray  # K_0 (r, r)
    offset: np.ndarray  # theta_0 (d,)
    offset_strength: float  # rho_0
    noise_scale: np.ndarray  # Phi_0 (d, d)
    noise_dof: float  # eta_0
    concentration: float  # alpha_0
    upper_concentration: float  # beta_0

    def group(self, n_lower):
        """What is known of an upper component with `n_lower` lower ones before any data."""
        # tau - m_0 counts lambda_0 times, each mu_k - tau kappa_0 times.
        contrasts = np.eye(1 + n_lower)
        contrasts[1:, 0] = -1.0
        strengths = np.diag([self.upper_strength] + n_lower * [self.lower_strength])
        r = len(self.slope_precision)
        precision = np.zeros((r + n_lower, r + n_lower))
        precision[:r, :r] = self.slope_precision
        precision[r:, r:] = self.offset_strength * np.eye(n_lower)
        return Group(
            Linear(
                np.tile(self.location[:, None], 1 + n_lower),
                contrasts.T @ strengths @ contrasts,
                self.scale,
                self.dof,
            ),
            Linear(
                np.column_stack([self.slope] + n_lower * [self.offset]),
                precision,
                self.noise_scale,
                self.noise_dof,
            ),
        )


def random_hyperparameters(generator, m, d, r):
    """Locations far from zero and full matrices."""

    def positive(p):
        A = generator.normal(size=(p, p))
        return A @ A.T + 0.5 * np.eye(p)

    return Hyperparameters(
        location=2.0 * generator.normal(size=m),
        upper_strength=generator.uniform(0.05, 3.0),
        lower_strength=generator.uniform(0.05, 3.0),
        scale=positive(m) / m,
        dof=m + generator.uniform(4.5, 8.0),
        slope=generator.normal(size=(d, r)),
        slope_precision=positive(r),
        offset=generator.normal(size=d),
        offset_strength=generator.uniform(0.05, 3.0),
        noise_scale=positive(d),
        noise_dof=d + generator.uniform(6.5, 9.0),
        concentration=generator.uniform(0.3, 3.0),
        upper_concentration=generator.uniform(0.3, 3.0),
    )


def hyperparameters_of(prior):
    """From the package's prior."""
    region, regression = prior.region, prior.regression
    r = regression.mean.shape[2] - 1
    return Hyperparameters(
        location=region.mean[0],
        upper_strength=prior.upper_strength,
        lower_strength=region.kappa[0],
        scale=np.linalg.inv(region.inverse_scale[0]),
        dof=region.dof[0],
        slope=regression.mean[0, :, :r],
        slope_precision=regression.column_precision[0, :r, :r],
        offset=regression.mean[0, :, r],
        offset_strength=regression.column_precision[0, r, r],
        noise_scale=np.linalg.inv(regression.inverse_scale[0]),
        noise_dof=regression.dof[0],
        concentration=prior.concentration,
        upper_concentration=prior.upper_concentration,
    )


def prior_arrays(h):
    """Arguments of the package's NormalWishart and MatrixNormalWishart."""
    d, r = h.slope.shape
    columns = np.zeros((r + 1, r + 1))
    columns[:r, :r] = h.slope_precision
    columns[r, r] = h.offset_strength
    region = (
        h.location[None],
        np.array([h.lower_strength]),
        np.linalg.inv(h.scale)[None],
        np.array([h.dof]),
    )
    regression = (
        np.column_stack([h.slope, h.offset])[None],
        columns[None],
        np.linalg.inv(h.noise_scale)[None],
        np.array([h.noise_dof]),
    )
    return region, regression


def samples_of(scatter, m, r):
    """Samples (x, features, y) and their weights (n, K) with these statistics (K, p, p)."""
    samples, rows = [], []
    for k, S in enumerate(scatter):
        centre = S[:, r] / S[r, r]
        spectrum, directions = np.linalg.eigh(S / S[r, r] - np.outer(centre, centre))
        steps = directions * np.sqrt(np.maximum(spectrum, 0.0) * len(S))
        steps[r] = 0.0
        for z in np.concatenate([centre + steps.T, centre - steps.T]):
            samples.append((z[:m], z[:r], z[r + 1 :]))
            rows.append(np.eye(len(scatter))[k] * S[r, r] / (2 * len(S)))
    return samples, np.array(rows)


def expected_log_weights(h, counts):
    """E log omega_g + E log pi_gk, for a list of counts for each group."""
    upper = sticks([sum(of_group) for of_group in counts], h.upper_concentration)
    result = []
    for g, of_group in enumerate(counts):
        lower = sticks(list(of_group), h.concentration)
        of_upper = expected_log_weight(upper, g)
        result.append([of_upper + expected_log_weight(lower, k) for k in range(len(lower))])
    return result


def log_responsibilities(groups, log_weights, sample):
    """Log q(h_n) (G,) and log q(h_n, z_n), a list of arrays (K_g,)."""
    log_rho = [
        np.array(
            [
                log_weights[g][k] + group.expected_log_likelihood(k, sample)
                for k in range(group.n_lower)
            ]
        )
        for g, group in enumerate(groups)
    ]
    # An upper component is as probable as its lower ones together.
    log_upper = np.array([np.logaddexp.reduce(of_group) for of_group in log_rho])
    total = np.logaddexp.reduce(log_upper)
    return log_upper - total, [of_group - total for of_group in log_rho]


def lower_bound(h, priors, groups, prior_counts, counts, r, samples, weights):
    """
    E log p - E log q, one term after the other.

    `priors` and `groups` are what is known of the upper components before and after the samples,
    `prior_counts`, `counts` and `r` lists over them.
    """
    log_weights = expected_log_weights(h, counts)
    bound = 0.0
    for g, group in enumerate(groups):
        for n, sample in enumerate(samples):
            for k in range(group.n_lower):
                if r[g][n, k] > 0.0:
                    terms = log_weights[g][k] + group.expected_log_likelihood(k, sample)
                    bound += weights[n] * r[g][n, k] * (terms - np.log(r[g][n, k]))
        for prior, posterior in (
            (priors[g].region, group.region),
            (priors[g].regression, group.regression),
        ):
            bound += expected_log_prior(prior, posterior) + entropy(posterior)
        bound += stick_terms(prior_counts[g], counts[g], h.concentration)
    totals, prior_totals = ([sum(c) for c in both] for both in (counts, prior_counts))
    return float(bound + stick_terms(prior_totals, totals, h.upper_concentration))


def stick_terms(prior_counts, counts, concentration):
    """E log p(sticks) - E log q(sticks)."""
    total = 0.0
    before, after = sticks(list(prior_counts), concentration), sticks(list(counts), concentration)
    for (a0, b0), (a, b) in zip(before, after, strict=True):
        total += (a0 - 1.0) * (digamma(a) - digamma(a + b)) - betaln(a0, b0)
        total += (b0 - 1.0) * (digamma(b) - digamma(a + b)) + beta(a, b).entropy()
    return total


def expected_log_prior(p, q):
    """E_q log p(B, W)."""
    rows, columns = q.mean.shape
    step = q.mean - p.mean
    linear = 0.5 * (
        columns * expected_log_determinant(q.scale, q.dof)
        + rows * np.linalg.slogdet(p.precision)[1]
        - rows * columns * LOG_2PI
        - rows * np.trace(p.precision @ np.linalg.inv(q.precision))
        - q.dof * np.trace(q.scale @ step @ p.precision @ step.T)
    )
    return linear + expected_log_wishart(p.scale, p.dof, q.scale, q.dof)


def entropy(q):
    """-E_q log q(B, W)."""
    rows, columns = q.mean.shape
    linear = 0.5 * (
        rows * columns * (1.0 + LOG_2PI)
        - columns * expected_log_determinant(q.scale, q.dof)
        - rows * np.linalg.slogdet(q.precision)[1]
    )
    return linear + wishart(df=q.dof, scale=q.scale).entropy()


def log_evidence(h, samples, weights):
    """
    Log p(x, y, labels), parameters and sticks integrated out, from a list of weights (n, K_g).

    Sticks are broken from the largest component to the smallest on both levels.
    """
    total = 0.0
    for of_group in weights:
        prior = h.group(of_group.shape[1])
        posterior = prior.updated(samples, of_group)
        for before, after in (
            (prior.region, posterior.region),
            (prior.regression, posterior.regression),
        ):
            total += after.log_normalizer() - before.log_normalizer()
        counts = sorted(of_group.sum(axis=0), reverse=True)
        total += sum(betaln(a, b) for a, b in sticks(counts, h.concentration))
        total -= len(counts) * betaln(1.0, h.concentration)
    totals = sorted([of_group.sum() for of_group in weights], reverse=True)
    total += sum(betaln(a, b) for a, b in sticks(totals, h.upper_concentration))
    total -= len(totals) * betaln(1.0, h.upper_concentration)
    m, d = len(h.location), len(h.offset)
    return float(total - 0.5 * sum(totals) * (m + d) * LOG_2PI)


def log_chance_of_labels(labels, concentration):
    """Of sticks broken in the order of the labels 0, 1, .., one label after the other."""
    counts, total = [0.0] * (max(labels) + 1), 0.0
    for label in labels:
        for k, (a, b) in enumerate(sticks(counts, concentration)[: label + 1]):
            total += np.log((a if k == label else b) / (a + b))
        counts[label] += 1.0
    return total


def log_chance_of_samples(group, samples, labels):
    """Log p(x) and log p(y | x), by the chain rule over predictive densities."""
    of_inputs, of_outputs = 0.0, 0.0
    for sample, label in zip(samples, labels, strict=True):
        x, features, y = sample
        input_density, output_density = group.predictives(label, features)
        of_inputs += input_density.logpdf(x)
        of_outputs += output_density.logpdf(y)
        group = group.updated([sample], np.eye(group.n_lower)[[label]])
    return float(of_inputs), float(of_outputs)


def predictive_masses(h, counts):
    """E of the weights: of lower components, a list of arrays (K_g,); of all that is unseen."""
    rest, seen, unseen = 1.0, [], 0.0
    upper = sticks([sum(of_group) for of_group in counts], h.upper_concentration)
    for (a, b), of_group in zip(upper, counts, strict=True):
        left = rest * a / (a + b)
        rest *= b / (a + b)
        masses = []
        for c, e in sticks(list(of_group), h.concentration):
            masses.append(left * c / (c + e))
            left *= e / (c + e)
        seen.append(np.array(masses))
        unseen += left
    return seen, unseen + rest


def predictive(h, groups, counts, x, features):
    """Weights (K + 1,) and output distributions: of the lower components, and the unseen."""
    seen, unseen = predictive_masses(h, counts)
    masses = [*np.concatenate(seen), unseen]
    parts = [group.predictives(k, features) for group in groups for k in range(group.n_lower)]
    parts.append(h.group(1).predictives(0, features))
    weights = np.array(
        [mass * of_input.pdf(x) for mass, (of_input, _) in zip(masses, parts, strict=True)]
    )
    return weights / weights.sum(), [of_output for _, of_output in parts]


def posterior_of_group(h, samples, weights):
    """Posterior of one upper component with lower ones whose samples have weights (n, K_g)."""
    return h.group(weights.shape[1]).updated(samples, weights)


def draw_components(h, groups, counts, generator, n_draws):
    """
    Draws of all that `predictive` integrates over, for each of its components in its order.

    Each is (weight (n,), mu (n, m), Lambda (n, m, m), [A, c] (n, d, r + 1), V (n, d, d)); the
    unseen one is drawn with its own tau.
    """
    rest, unseen = np.ones(n_draws), np.zeros(n_draws)
    seen = []
    upper = sticks([sum(of_group) for of_group in counts], h.upper_concentration)
    for group, (a, b), of_group in zip(groups, upper, counts, strict=True):
        stick = generator.beta(a, b, n_draws)
        left, rest = rest * stick, rest * (1.0 - stick)
        centres, precisions = group.region.draw(generator, n_draws)
        maps, noises = group.regression.draw(generator, n_draws)
        r = group.n_slopes

        def component(
            weight, k, centres=centres, precisions=precisions, maps=maps, noises=noises, r=r
        ):
            of_lower = np.concatenate([maps[:, :, :r], maps[:, :, [r + k]]], axis=2)
            return weight, centres[:, :, 1 + k], precisions, of_lower, noises

        for k, (c, e) in enumerate(sticks(list(of_group), h.concentration)):
            stick = generator.beta(c, e, n_draws)
            seen.append(component(left * stick, k))
            left = left * (1.0 - stick)
        unseen += left
    fresh = h.group(1)
    centres, precisions = fresh.region.draw(generator, n_draws)
    maps, noises = fresh.regression.draw(generator, n_draws)
    return [*seen, (unseen + rest, centres[:, :, 1], precisions, maps, noises)]
