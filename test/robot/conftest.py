# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""An arm with friction at its motors, and what is identified of it."""

import sys
from pathlib import Path

import numpy as np
import pytest

# Test folders are no packages (--import-mode=importlib), so a shared module is found by its path.
sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

from identification import motion, rigid_torque  # noqa: E402

from ilr_dynamics.robot.description import load_description  # noqa: E402
from ilr_dynamics.robot.identified_dynamics import IdentifiedDynamics  # noqa: E402
from ilr_dynamics.robot.rigid_body import RigidBodyModel  # noqa: E402


@pytest.fixture(scope="session", params=["wam4", "wam7"])
def arm(request):
    return load_description(request.param)


@pytest.fixture(scope="session")
def rubbing(arm):
    """Torque of rigid bodies with twice the tool's share of mass and friction at the motors."""
    model = RigidBodyModel(arm)
    gears = arm.gear_matrix / np.linalg.norm(arm.gear_matrix, axis=1, keepdims=True)

    def torque(X):
        qd = X[:, arm.n_joints : 2 * arm.n_joints]
        friction = (1.0 * np.tanh(qd @ gears.T / 0.1) + 0.5 * qd @ gears.T) @ gears
        return 1.2 * rigid_torque(model, X) + friction

    return torque


@pytest.fixture(scope="session")
def samples(arm, rubbing):
    X = motion(arm.n_joints, 3000, 0)
    generator = np.random.default_rng(1)
    return X, rubbing(X) + 0.05 * generator.normal(size=(3000, arm.n_joints))


@pytest.fixture(scope="session")
def identified(arm, samples):
    return IdentifiedDynamics.from_description(arm).updated(*samples, np.ones(3000))
