# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""States at random, and the correlation of a process there by the formula."""

from math import exp, sqrt

import numpy as np


def states(n, n_joints, seed, width=(1.0, 2.0)):
    generator = np.random.default_rng(seed)
    return generator.uniform(0.0, 1.0, (n, 2 * n_joints)) * np.repeat(width, n_joints)


def correlation(X, position_length, velocity_length):
    """Matern's with exponent 3/2, state by state."""
    scale = np.repeat([position_length, velocity_length], X.shape[1] // 2)
    rho = np.empty((len(X), len(X)))
    for i, x in enumerate(X):
        for j, y in enumerate(X):
            r = sqrt(3.0) * np.linalg.norm((x - y) / scale)
            rho[i, j] = (1.0 + r) * exp(-r)
    return rho
