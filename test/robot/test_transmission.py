# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ilr_dynamics.exceptions import RobotDescriptionError
from ilr_dynamics.robot.description import load_description
from ilr_dynamics.robot.plant_config import load_plant_config
from ilr_dynamics.robot.transmission import Transmission

WAM4 = Transmission(load_description("wam4").gear_matrix, load_plant_config("wam4").rotor_inertia)
vectors = st.tuples(*[st.floats(-10, 10)] * 4).map(np.array)


@given(vectors, vectors)
def test_power_is_the_same_on_both_sides(velocity, motor_torque):
    at_motors = motor_torque @ WAM4.motor_angle(velocity)
    at_joints = WAM4.joint_torque(motor_torque) @ velocity
    assert at_joints == pytest.approx(at_motors, abs=1e-8)


def test_inverse_undoes_the_gears():
    np.testing.assert_allclose(WAM4.motor_to_joint @ WAM4.joint_to_motor, np.eye(4), atol=1e-12)


def test_reflected_inertia_is_the_published_one():
    np.testing.assert_allclose(
        WAM4.reflected_inertia, [0.20517, 0.18884, 0.06691, 0.03462], rtol=1e-3
    )


def test_differential_couples_no_inertia():
    gears = WAM4.joint_to_motor
    full = gears.T @ np.diag(WAM4.rotor_inertia) @ gears
    np.testing.assert_allclose(full, np.diag(WAM4.reflected_inertia), atol=1e-12)


@pytest.mark.parametrize(
    ("gears", "inertia", "words"),
    [
        ([[1.0, 2.0]], [1.0], "square"),
        ([[1.0, 2.0], [2.0, 4.0]], [1.0, 1.0], "singular"),
        ([[1.0, 0.0], [0.0, 1.0]], [1.0], "rotor_inertia"),
    ],
)
def test_bad_gears_are_refused(gears, inertia, words):
    with pytest.raises(RobotDescriptionError, match=words):
        Transmission(gears, inertia)
