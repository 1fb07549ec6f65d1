# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Payloads are real bodies, and their torques those of such a body."""

import numpy as np
import pinocchio
import pytest
from hypothesis import given
from payloads import box, payloads
from scipy.spatial.transform import Rotation

from ilr_dynamics.exceptions import InvalidParameterError
from ilr_dynamics.robot.payload import Payload, central_derivatives
from ilr_dynamics.robot.payload_dynamics import PayloadDynamics
from ilr_dynamics.robot.pinocchio_model import pinocchio_model
from ilr_dynamics.robot.pseudo_inertia import inertial_parameters, moved, pseudo_inertia


@given(payloads())
def test_parameters_are_those_of_pinocchio_and_lead_back(payload):
    inertia = pinocchio.Inertia(payload.mass, payload.com, payload.tensor)
    np.testing.assert_allclose(payload.parameters, inertia.toDynamicParameters(), atol=1e-12)
    back = Payload.from_parameters(payload.parameters)
    assert back.mass == pytest.approx(payload.mass)
    np.testing.assert_allclose(back.com, payload.com, atol=1e-9)
    np.testing.assert_allclose(back.inertia, payload.inertia, atol=1e-9)


@given(payloads())
def test_pseudo_inertia_of_a_body_is_positive_definite_and_linear(payload):
    matrix = pseudo_inertia(payload.parameters)
    assert np.linalg.eigvalsh(matrix).min() > 0.0
    np.testing.assert_allclose(inertial_parameters(matrix), payload.parameters, atol=1e-12)
    np.testing.assert_allclose(pseudo_inertia(2.0 * payload.parameters), 2.0 * matrix)


@given(payloads())
def test_parameters_move_as_the_body_does(payload):
    pose = np.eye(4)
    pose[:3, :3] = Rotation.from_euler("xyz", [0.3, -1.2, 2.0]).as_matrix()
    pose[:3, 3] = [0.1, -0.4, 0.2]
    inertia = pinocchio.Inertia(payload.mass, payload.com, payload.tensor)
    expected = inertia.se3Action(pinocchio.SE3(pose)).toDynamicParameters()
    np.testing.assert_allclose(moved(pose) @ payload.parameters, expected, atol=1e-10)


@given(payloads())
def test_derivatives_are_those_of_differences(payload):
    def central(parameters):
        body = Payload.from_parameters(parameters)
        return np.array([body.mass, *body.com, *body.inertia])

    parameters = payload.parameters
    steps = np.diag(1e-6 * payload.mass * np.repeat([1.0, 0.01, 1e-4], [1, 3, 6]))
    differences = np.column_stack(
        [
            (central(parameters + step) - central(parameters - step)) / (2.0 * np.sum(step))
            for step in steps
        ]
    )
    np.testing.assert_allclose(central_derivatives(parameters), differences, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ((0.0, [0, 0, 0], [0] * 6), "mass of the payload is 0 kg"),
        ((-1.0, [0, 0, 0], [0] * 6), "mass of the payload is -1 kg"),
        ((np.nan, [0, 0, 0], [0] * 6), "expected a positive number"),
        ((1.0, [0, np.inf, 0], [0] * 6), "com of the payload"),
        ((1.0, [0, 0], [0] * 6), "expected 3 finite numbers"),
        ((1.0, [0, 0, 0], [0] * 5), "expected 6 finite numbers"),
        ((1.0, [0, 0, 0], [1, 0, 0, 1, 0, 3]), "larger than the sum of the other two"),
        ((1.0, [0, 0, 0], [-1, 0, 0, 1, 0, 1]), "none negative"),
        ((1.0, [0, 0, 0], [1, 2, 0, 1, 0, 1]), "principal moments"),
    ],
)
def test_what_no_body_can_be_is_refused(fields, text):
    with pytest.raises(InvalidParameterError, match=text):
        Payload(*fields)


def test_a_point_mass_and_a_plate_are_bodies():
    assert Payload(1.0, [0, 0, 0.1], [0] * 6).mass == 1.0
    assert Payload(1.0, [0, 0, 0.1], [1, 0, 0, 1, 0, 2]).tensor[2, 2] == 2.0


def test_torques_are_those_of_the_arm_with_the_body_less_those_without(arm):
    payload = box(0.8, [0.03, -0.05, 0.1], [0.1, 0.06, 0.2])
    dynamics = PayloadDynamics(arm)
    bare, loaded = pinocchio_model(arm), pinocchio_model(arm)
    frame = loaded.frames[loaded.getFrameId(arm.tool_frame, pinocchio.FrameType.BODY)]
    body = pinocchio.Inertia(payload.mass, payload.com, payload.tensor)
    loaded.appendBodyToJoint(frame.parentJoint, body, frame.placement)
    random, of_payload = np.random.default_rng(0), dynamics.torque_of(payload)
    for _ in range(20):
        motion = random.normal(size=(3, arm.n_joints))
        expected = pinocchio.rnea(loaded, loaded.createData(), *motion) - pinocchio.rnea(
            bare, bare.createData(), *motion
        )
        np.testing.assert_allclose(of_payload(*motion), expected, atol=1e-9)
        columns = dynamics.columns(*motion)
        np.testing.assert_allclose(columns @ payload.parameters, expected, atol=1e-9)
