# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Identified dynamics of the WAM after a few seconds of motion."""

import numpy as np

from ilr_dynamics.robot.description import load_description
from ilr_dynamics.robot.identified_dynamics import IdentifiedDynamics

HOME = np.array([0.0, 0.7, 0.0, 1.8])


def known_dynamics(n_samples=80):
    """Return dynamics that learned torques of an arm a tenth heavier than described."""
    start = IdentifiedDynamics.from_description(load_description("wam4"))
    random = np.random.default_rng(0)
    time = 0.05 * np.arange(n_samples)[:, None]
    phase = np.array([1.0, 1.37, 1.71, 2.13]) * time
    X = np.hstack([HOME + 0.2 * np.sin(phase), 0.3 * np.cos(phase), -0.4 * np.sin(phase)])
    Y = 1.1 * start.expected(X) + np.tanh(X[:, 4:8] / 0.05)
    Y += 0.05 * random.normal(size=Y.shape)
    return start.updated(X, Y, np.ones(n_samples))
