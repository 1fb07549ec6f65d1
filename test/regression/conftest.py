# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Let the tests import naive_ilr; fit a few models that many tests look at."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

# Test folders are no packages (--import-mode=importlib), so a shared module is found by its path.
sys.path.insert(0, str(Path(__file__).parent))

from ilr_dynamics.regression import ILR  # noqa: E402


@pytest.fixture(scope="session")
def motion():
    """Two inputs along a curve and two outputs with noise, in units far from 1."""
    generator = np.random.default_rng(7)
    t = np.linspace(0.0, 12.0, 400)
    X = np.stack([3.0 + np.sin(t), 200.0 * np.cos(0.7 * t)], axis=1)
    clean = np.stack([np.sin(2.0 * X[:, 0]) + 0.01 * X[:, 1], 50.0 * np.cos(X[:, 0])], axis=1)
    return X, clean + generator.normal(size=clean.shape) * [0.05, 2.0]


@pytest.fixture(scope="session")
def model(motion):
    return ILR(n_components=25, random_state=3).fit(*motion)
