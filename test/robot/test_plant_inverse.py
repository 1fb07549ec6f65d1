# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from _plant_inverse import PlantInverse

from ilr_dynamics.robot.description import load_description
from ilr_dynamics.robot.plant import WamPlant
from ilr_dynamics.robot.plant_config import load_plant_config
from ilr_dynamics.robot.rigid_body import RigidBodyModel
from ilr_dynamics.robot.tool_paths import joint_path, tool_path

DESCRIPTION = load_description("wam4")
CONFIG = load_plant_config("wam4")
MODEL = RigidBodyModel(DESCRIPTION)
KP = np.array([40.0, 60.0, 25.0, 15.0])
KD = np.array([3.0, 5.0, 1.5, 1.0])


def track(plant, feedforward, seconds=8.0):
    """Mean squared error [rad^2] and mean absolute PD torque [Nm] on the first seconds of T1."""
    motion = joint_path(tool_path("T1"), MODEL, rate=500.0)
    measurement = plant.reset(motion.positions[0])
    errors, torques = [], []
    for _, q, qd, qdd in list(zip(*motion, strict=True))[: round(500 * seconds)]:
        error = q - measurement.position
        pd = KP * error + KD * (qd - measurement.velocity)
        measurement = plant.step(feedforward(q, qd, qdd) + pd)
        errors.append(error)
        torques.append(pd)
    return np.mean(np.square(errors)), np.mean(np.abs(torques))


def test_low_gain_pd_sags_under_gravity():
    error, torque = track(WamPlant(DESCRIPTION, CONFIG), lambda *motion: np.zeros(4))
    assert error == pytest.approx(1.2e-2, rel=0.15)
    assert torque == pytest.approx(3.8, rel=0.1)


def test_published_inertials_leave_friction_to_the_pd():
    error, torque = track(WamPlant(DESCRIPTION, CONFIG), MODEL.inverse_dynamics)
    assert error == pytest.approx(3.0e-3, rel=0.2)
    assert torque == pytest.approx(1.8, rel=0.1)


def test_inverse_of_the_plant_leaves_almost_nothing():
    plant = WamPlant(DESCRIPTION, CONFIG)
    error, torque = track(plant, PlantInverse(plant))
    assert error < 2e-5
    assert torque < 0.1


def test_gravity_that_the_driver_adds_is_left_out():
    config = dataclasses.replace(CONFIG, driver_compensates_gravity=True)
    motion = np.array([0.1, 0.5, -0.2, 1.5]), np.full(4, 0.3), np.full(4, -1.0)
    full = PlantInverse(WamPlant(DESCRIPTION, CONFIG))(*motion)
    rest = PlantInverse(WamPlant(DESCRIPTION, config))(*motion)
    np.testing.assert_allclose(full - rest, MODEL.gravity(motion[0]), atol=1e-12)
