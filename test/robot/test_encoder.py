# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ilr_dynamics.exceptions import RobotDescriptionError
from ilr_dynamics.robot.description import load_description
from ilr_dynamics.robot.encoder import Encoder, JointSensor
from ilr_dynamics.robot.plant_config import load_plant_config
from ilr_dynamics.robot.transmission import Transmission

CONFIG = load_plant_config("wam4")
TRANSMISSION = Transmission(load_description("wam4").gear_matrix, CONFIG.rotor_inertia)
COUNT = 2 * np.pi / 4096
vectors = st.tuples(*[st.floats(-2, 2)] * 4).map(np.array)


def sensor(phase=(0.1, 0.3, 0.5, 0.9)):
    return JointSensor(CONFIG.encoder, TRANSMISSION, CONFIG.cycle, phase)


@given(vectors)
def test_motor_angle_is_read_to_half_a_count(position):
    measured, _ = sensor().reset(position)
    error = TRANSMISSION.motor_angle(measured - position)
    assert (np.abs(error) <= COUNT / 2 + 1e-9).all()


def test_readings_are_whole_counts_apart():
    reader = sensor()
    first, _ = reader.reset(np.zeros(4))
    second, _ = reader.read(np.array([0.011, 0.023, -0.037, 0.041]))
    counts = TRANSMISSION.motor_angle(second - first) / COUNT
    np.testing.assert_allclose(counts, np.rint(counts), atol=1e-6)
    assert (counts != 0).all()


def test_motion_below_a_count_is_not_seen():
    reader = sensor(phase=np.zeros(4))
    first, _ = reader.reset(np.zeros(4))
    second, velocity = reader.read(np.full(4, 1e-6))
    np.testing.assert_array_equal(second, first)
    np.testing.assert_array_equal(velocity, np.zeros(4))


def test_velocity_approaches_a_constant_speed_as_a_low_pass_of_180_rad_s():
    reader = sensor()
    reader.reset(np.zeros(4))
    speed = 1.0
    time = CONFIG.cycle * np.arange(1, 26)
    velocities = np.array([reader.read(np.full(4, speed * t))[1] for t in time])
    expected = speed * (1 - np.exp(-180.0 * time))
    np.testing.assert_allclose(velocities, np.tile(expected, (4, 1)).T, atol=0.03)


def test_velocity_is_zero_after_a_reset():
    reader = sensor()
    reader.reset(np.zeros(4))
    reader.read(np.full(4, 0.1))
    _, velocity = reader.reset(np.full(4, 0.5))
    np.testing.assert_array_equal(velocity, np.zeros(4))


@pytest.mark.parametrize("numbers", [(0, 180.0), (4096, -1.0)])
def test_impossible_encoder_is_refused(numbers):
    with pytest.raises(RobotDescriptionError, match="positive"):
        Encoder(*numbers)
