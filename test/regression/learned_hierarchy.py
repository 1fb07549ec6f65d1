# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""A hierarchy learned along a path."""

import numpy as np

from ilr_dynamics.regression import HILR, BatchInference, TwoLevelPrior


def hierarchy_along_a_path(n_inputs):
    """Return the model and its inputs (1500, n_inputs)."""
    generator = np.random.default_rng(5)
    s = np.sort(generator.uniform(0.0, 30.0, 1500))
    X = np.stack([np.sin((0.5 + 0.2 * k) * s + k) for k in range(n_inputs)], axis=1)
    X += 0.01 * generator.normal(size=X.shape)
    Y = np.stack([np.sin(3.0 * s), X[:, 0] * X[:, 3]], axis=1)
    return HILR(
        80,
        prior=TwoLevelPrior(concentration=2.0, input_spread=0.1),
        inference=BatchInference(max_iterations=8),
    ).fit(X, Y), X
