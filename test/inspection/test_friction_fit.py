# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Friction as hypotheses on torques take it."""

from __future__ import annotations

import numpy as np
import pytest

from ilr_dynamics.inspection.evidence import SIGN_SPEEDS
from ilr_dynamics.inspection.friction_fit import fit_friction

# Where joints slip.
VELOCITY = np.linspace(0.03, 0.15, 200)


def columns(velocity):
    """As of `Evidence.friction`, at no acceleration."""
    signs = [np.tanh(velocity / speed) for speed in SIGN_SPEEDS]
    return np.stack([*signs, velocity, 0.0 * velocity, np.ones_like(velocity)], axis=-1)


def stribeck(velocity):
    """Friction that falls with the speed, Nm."""
    return np.sign(velocity) * (4.0 + 2.0 * np.exp(-((velocity / 0.06) ** 2)))


@pytest.mark.parametrize("friction", [stribeck, np.sign])
def test_friction_never_pushes(friction):
    velocity = np.concatenate([-VELOCITY, VELOCITY])
    torque = friction(velocity)
    _, right = fit_friction(torque, columns(velocity))
    _, wrong = fit_friction(-torque, columns(velocity))
    size = np.sqrt(np.mean(torque**2))
    assert right < 0.1 * size
    assert wrong > 0.9 * size
