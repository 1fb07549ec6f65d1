# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
import sys
from pathlib import Path

import numpy as np
import pytest

from ilr_dynamics.control import Gains, JointLimits, JointPath, Supervision

# Benchmarks are scripts, whose modules are found by their path.
sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

JOINTS = ("j1", "j2")
PERIOD = 0.002


@pytest.fixture
def limits():
    return JointLimits(
        joints=JOINTS,
        position_lower=np.array([-2.0, -1.5]),
        position_upper=np.array([2.0, 1.5]),
        velocity=np.array([2.0, 2.0]),
        torque=np.array([20.0, 10.0]),
        torque_rate=np.array([200.0, 100.0]),
    )


@pytest.fixture
def gains():
    return Gains(kp=np.array([40.0, 20.0]), kd=np.array([3.0, 1.0]))


@pytest.fixture
def supervision():
    return Supervision(
        start_tolerance=np.array([0.1, 0.1]),
        tracking_error=np.array([0.5, 0.5]),
        velocity=np.array([3.0, 3.0]),
        input_timeout=0.1,
        deceleration=5.0,
    )


@pytest.fixture
def sway():
    """One second out and back to rest."""
    times = np.linspace(0.0, 1.0, 51)
    phase = 2.0 * np.pi * times[:, None]
    amplitude = np.array([0.1, -0.05])
    return JointPath(
        times,
        amplitude * (1.0 - np.cos(phase)),
        amplitude * 2.0 * np.pi * np.sin(phase),
        amplitude * (2.0 * np.pi) ** 2 * np.cos(phase),
    )
