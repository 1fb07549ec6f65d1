# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Friction curves: of known friction, and beside parameters drawn from the posterior."""

from __future__ import annotations

import numpy as np
import pytest

from ilr_dynamics.robot.arm_export import ArmExport
from ilr_dynamics.robot.description import load_description
from ilr_dynamics.robot.dynamics_regressor import parameter_indices
from ilr_dynamics.robot.friction_curves import N_POSTURES, friction_curves, learned_speeds
from ilr_dynamics.robot.identified_dynamics import IdentifiedDynamics

DRY, VISCOUS = 1.5, 0.4


def identified(robot: str) -> IdentifiedDynamics:
    """Dynamics that have learned rigid bodies with dry and viscous friction in each joint."""
    start = IdentifiedDynamics.from_description(load_description(robot))
    n, random = start.n_joints, np.random.default_rng(0)
    X = random.uniform(-1.0, 1.0, size=(600, 3 * n))
    qd = X[:, n : 2 * n]
    Y = start.expected(X) + DRY * np.tanh(qd / 0.03) + VISCOUS * qd
    return start.updated(X, Y + 0.01 * random.normal(size=Y.shape), np.ones(len(X)))


@pytest.fixture(scope="module", params=["wam4", "wam7"])
def dynamics(request):
    return identified(request.param)


def speeds(dynamics, *values):
    return np.tile(np.array(values)[:, None], dynamics.n_joints)


def test_known_friction_is_found_within_its_uncertainty(dynamics):
    speed = speeds(dynamics, -0.8, -0.3, 0.0, 0.2, 0.5, 0.9)
    curves = friction_curves(dynamics, speed)
    true = DRY * np.tanh(speed / 0.03) + VISCOUS * speed
    assert np.all(np.abs(curves.torque - true) < 0.1)
    # At rest it is known to be none.
    np.testing.assert_allclose(curves.torque[2], 0.0, atol=1e-9)
    np.testing.assert_allclose(curves.std[2], 0.0, atol=1e-9)
    assert np.all(curves.std[[0, 1, 3, 4, 5]] > 0.0)


def test_the_band_is_that_of_parameters_drawn_from_the_posterior():
    # Its second and third motor drive two joints each.
    description, dynamics = load_description("wam4"), identified("wam4")
    n, random = dynamics.n_joints, np.random.default_rng(1)
    arm = ArmExport(description, dynamics, dynamics.parameters)
    kept = dynamics.representatives.thinned(N_POSTURES)
    still = np.hstack([kept.X[:, :n], np.zeros((len(kept.mass), 2 * n))])
    speed = speeds(dynamics, -0.4, 0.05, 0.7)
    curves = friction_curves(dynamics, speed)
    for joint, own in enumerate(parameter_indices(n)):
        X = np.concatenate([still] * (1 + len(speed)))
        X[len(still) :, n + joint] = np.repeat(speed[:, joint], len(still))
        drawn = random.multivariate_normal(
            dynamics.parameters[own], dynamics.joint_covariances[joint], size=400
        )
        found = []
        for values in drawn:
            parameters = dynamics.parameters.copy()
            parameters[own] = values
            rest, *moving = np.split(arm.torque(X, parameters)[:, joint], 1 + len(speed))
            found.append([np.average(torque - rest, weights=kept.mass) for torque in moving])
        mean, std = np.mean(found, axis=0), np.std(found, axis=0)
        # Of 400 draws a deviation is known to 3.5 %, a mean to a twentieth of the deviation.
        np.testing.assert_allclose(std, curves.std[:, joint], rtol=0.2)
        assert np.all(np.abs(mean - curves.torque[:, joint]) < 0.25 * curves.std[:, joint])


def test_what_nothing_was_learned_of_has_no_friction_and_the_doubt_of_the_prior(dynamics):
    prior = dynamics.discounted(0.0)
    speed = speeds(dynamics, 0.5)
    before, after = friction_curves(prior, speed), friction_curves(dynamics, speed)
    np.testing.assert_allclose(before.torque, 0.0, atol=1e-9)
    assert np.all(before.std > 3.0 * after.std)


def test_curves_reach_as_far_as_what_was_learned(dynamics):
    n, X = dynamics.n_joints, dynamics.representatives.X
    np.testing.assert_array_equal(learned_speeds(dynamics), np.abs(X[:, n : 2 * n]).max(axis=0))
    np.testing.assert_array_equal(learned_speeds(dynamics.discounted(0.0)), 0.1)
