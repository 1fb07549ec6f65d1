# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Random samples under a random hierarchy, for the package and for the naive code alike."""

import naive_hilr as naive
import numpy as np

from ilr_dynamics.regression.families.matrix_normal_wishart import MatrixNormalWishart
from ilr_dynamics.regression.families.normal_wishart import NormalWishart
from ilr_dynamics.regression.mixture.hierarchy import HierarchicalPrior

LOG_2PI = np.log(2.0 * np.pi)


class Problem:
    """Samples shared, by weights, among lower components in the order that sticks ask for."""

    def __init__(self, seed, m=2, d=2, features=0, groups=(0, 0, 0, 1, 2, 2), n=16, hard=False):
        generator = np.random.default_rng(seed)
        self.h = naive.random_hyperparameters(generator, m, d, m + features)
        self.prior = package_prior(self.h)
        self.X = 2.0 * generator.normal(size=(n, m)) + 1.0
        self.R = np.column_stack([self.X, generator.normal(size=(n, features))])
        self.Y = self.R @ generator.normal(size=(m + features, d)) + generator.normal(size=(n, d))
        self.Z = np.column_stack([self.R, np.ones(n), self.Y])
        self.samples = list(zip(self.X, self.R, self.Y, strict=True))
        weights = generator.uniform(0.0, 1.5, (n, len(groups)))
        if hard:
            # One for each, so that none is empty.
            labels = np.append(
                np.arange(len(groups)), generator.integers(0, len(groups), n - len(groups))
            )
            weights = np.eye(len(groups))[labels]
        order, self.groups = self.prior.arrange(
            self.scatter_of(weights), np.asarray(groups), len(groups)
        )
        self.weights = weights[:, order]
        self.scatter = self.scatter_of(self.weights)

    def scatter_of(self, weights):
        return np.einsum("nk,ni,nj->kij", weights, self.Z, self.Z)

    def by_group(self, weights, groups):
        return [weights[:, groups == g] for g in np.unique(groups)]

    def evidence(self, weights, groups):
        """Naive log evidence without the powers of 2 pi."""
        constant = 0.5 * weights.sum() * (self.X.shape[1] + self.Y.shape[1]) * LOG_2PI
        return naive.log_evidence(self.h, self.samples, self.by_group(weights, groups)) + constant

    def naive_posterior(self):
        """Naive groups and the counts in each."""
        members = self.by_group(self.weights, self.groups)
        groups = [self.h.group(w.shape[1]).updated(self.samples, w) for w in members]
        return groups, [w.sum(axis=0) for w in members]


def package_prior(h):
    region, regression = naive.prior_arrays(h)
    return HierarchicalPrior(
        NormalWishart(*region),
        MatrixNormalWishart(*regression),
        h.concentration,
        h.upper_concentration,
        h.upper_strength,
    )


def small_prior():
    return package_prior(naive.random_hyperparameters(np.random.default_rng(0), 2, 1, 2))
