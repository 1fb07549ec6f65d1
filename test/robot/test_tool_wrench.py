# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""The wrench at the tool: what joints tell is right, and what they do not tell is said."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ilr_dynamics.robot.description import load_description
from ilr_dynamics.robot.rigid_body import RigidBodyModel
from ilr_dynamics.robot.tool_wrench import WrenchPrior, tool_wrench

MODELS = {name: RigidBodyModel(load_description(name)) for name in ("wam4", "wam7")}
WRENCH = np.array([8.0, -5.0, 12.0, 0.4, -0.2, 0.3])
PRIOR = WrenchPrior(100.0, 10.0)


def bent(model):
    return np.array([0.3, 0.9, -0.4, 1.4, 0.5, 0.6, -0.3])[: model.n_joints]


def test_jacobian_is_the_motion_of_the_tool_frame():
    model = MODELS["wam7"]
    posture, step = bent(model), 1e-6
    pose = model.link_pose(posture, model.description.tool_frame)
    for joint, column in enumerate(model.tool_twist_jacobian(posture).T):
        moved = posture + step * np.eye(7)[joint]
        change = np.linalg.inv(pose) @ model.link_pose(moved, model.description.tool_frame)
        spin = (change[:3, :3] - change[:3, :3].T) / (2.0 * step)
        np.testing.assert_allclose(column[:3], change[:3, 3] / step, atol=1e-5)
        np.testing.assert_allclose(column[3:], [spin[2, 1], spin[0, 2], spin[1, 0]], atol=1e-5)


def test_a_wrench_that_seven_joints_feel_well_is_found():
    model = MODELS["wam7"]
    jacobian = model.tool_twist_jacobian(bent(model))
    found = tool_wrench(jacobian, jacobian.T @ WRENCH, np.full(7, 1e-3), PRIOR)
    np.testing.assert_allclose(found.mean, WRENCH, rtol=1e-3)
    assert (found.known > 0.999).all() and (found.std < 0.2).all()


def test_what_is_found_and_its_deviation_are_those_of_linear_regression():
    """By the precisions, as a textbook has it."""
    model = MODELS["wam4"]
    jacobian, std = model.tool_twist_jacobian(bent(model)), np.array([0.5, 0.4, 0.3, 0.1])
    torque = jacobian.T @ WRENCH
    prior = np.repeat(PRIOR, 3) ** -2.0
    covariance = np.linalg.inv(np.diag(prior) + jacobian / std**2 @ jacobian.T)
    found = tool_wrench(jacobian, torque, std, PRIOR)
    np.testing.assert_allclose(found.mean, covariance @ (jacobian @ (torque / std**2)), rtol=1e-6)
    np.testing.assert_allclose(found.std, np.sqrt(np.diag(covariance)), rtol=1e-6)
    np.testing.assert_allclose(found.known, 1.0 - np.diag(covariance) * prior, atol=1e-9)
    # Four joints tell four of the six components of a wrench.
    assert found.known.sum() < 4.0 + 1e-9


def test_a_direction_that_no_joint_feels_is_not_known():
    """As along an arm that is stretched out: the error does not become a force."""
    jacobian = MODELS["wam4"].tool_twist_jacobian(bent(MODELS["wam4"]))
    jacobian[2] = 0.0
    std = np.array([0.5, 0.4, 0.3, 0.1])
    found = tool_wrench(jacobian, 3.0 * std, std, PRIOR)
    assert found.known[2] == pytest.approx(0.0, abs=1e-9)
    assert found.mean[2] == pytest.approx(0.0, abs=1e-9)
    assert found.std[2] == pytest.approx(PRIOR.force)


@given(
    posture=st.lists(st.floats(-1.5, 1.5), min_size=7, max_size=7),
    torque=st.lists(st.floats(-20.0, 20.0), min_size=7, max_size=7),
)
def test_forces_are_bounded_everywhere(posture, torque):
    """No posture makes more of the torques than the prior's deviations allow."""
    jacobian = MODELS["wam7"].tool_twist_jacobian(posture)
    std = np.full(7, 0.2)
    found = tool_wrench(jacobian, np.array(torque), std, PRIOR)
    scaled = found.mean / np.repeat(PRIOR, 3)
    # The gain of a damped inverse is at most a half.
    assert np.linalg.norm(scaled) <= 0.5 * np.linalg.norm(np.array(torque) / std) + 1e-9
    assert ((found.known >= 0.0) & (found.known <= 1.0)).all()
    assert (found.std <= np.repeat(PRIOR, 3) + 1e-9).all()


@pytest.mark.parametrize("name", MODELS)
def test_prior_is_of_the_size_of_the_arm(name):
    prior = WrenchPrior.of_arm(MODELS[name])
    assert 50.0 < prior.force < 500.0 and 5.0 < prior.torque < 50.0
