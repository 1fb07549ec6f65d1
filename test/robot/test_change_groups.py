# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
import numpy as np
from identification import motion

from ilr_dynamics.robot.change_groups import change_groups
from ilr_dynamics.robot.dynamics_regressor import (
    n_parameters,
    parameter_indices,
)
from ilr_dynamics.robot.dynamics_terms import N_INERTIAL
from ilr_dynamics.robot.identified_dynamics import IdentifiedDynamics
from ilr_dynamics.robot.payload import Payload
from ilr_dynamics.robot.payload_dynamics import PayloadDynamics


def groups_of(dynamics):
    parameters = dynamics.parameters
    return change_groups(dynamics.motors, dynamics.tool, parameters, np.ones_like(parameters))


def test_a_payload_is_a_body_at_the_tool(arm):
    start = IdentifiedDynamics.from_description(arm)
    payload = groups_of(start)[0]
    columns = start.regressor(motion(arm.n_joints, 20, 0))[:, :, payload.parameters]
    mass = Payload(1.0, np.zeros(3), np.zeros(6))
    torque = PayloadDynamics(arm).torque_of(mass)
    expected = [torque(*np.split(x, 3)) for x in motion(arm.n_joints, 20, 0)]
    np.testing.assert_allclose(columns @ payload.factor[:, 0], expected, atol=1e-9)


def test_friction_may_change_as_a_whole(arm):
    start = IdentifiedDynamics.from_description(arm)
    parameters = np.random.default_rng(0).normal(size=start.parameters.size)
    for group in change_groups(start.motors, start.tool, parameters, np.ones(parameters.size))[1:]:
        np.testing.assert_array_equal(group.factor[:, 0], parameters[group.parameters])


def test_a_group_acts_on_its_own_joints_and_no_others(arm):
    start = IdentifiedDynamics.from_description(arm)
    columns = start.regressor(motion(arm.n_joints, 50, 0))
    for group in groups_of(start):
        moved = np.zeros_like(start.parameters)
        moved[group.parameters] = np.random.default_rng(1).normal(size=group.parameters.size)
        torque = np.einsum("njc,jc->nj", columns, moved[parameter_indices(arm.n_joints)])
        np.testing.assert_array_equal(np.any(torque != 0.0, axis=0), group.joints, group.name)


def test_groups_have_no_parameter_in_common_and_none_of_the_bodies_but_the_last(arm):
    groups = groups_of(IdentifiedDynamics.from_description(arm))
    together = np.concatenate([group.parameters for group in groups])
    assert np.unique(together).size == together.size
    bodies = together[together < N_INERTIAL * arm.n_joints]
    assert bodies.tolist() == list(range(N_INERTIAL * (arm.n_joints - 1), bodies.max() + 1))


def test_a_motor_that_turns_one_joint_belongs_to_it_and_that_of_a_differential_to_none():
    turns = np.array([[1.0, 0.0, 0.0], [0.0, 0.6, 0.8], [0.0, 0.6, -0.8]])
    size = n_parameters(3)
    payload, first, second, third, *shared = change_groups(
        turns, np.zeros(3), np.zeros(size), np.ones(size)
    )
    assert payload.name == "payload"
    assert first.parameters.size > second.parameters.size == third.parameters.size
    assert [group.name for group in shared] == [
        "friction of motor 2 (joints 2 and 3)",
        "friction of motor 3 (joints 2 and 3)",
    ]
