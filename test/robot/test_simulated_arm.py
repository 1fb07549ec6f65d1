# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import numpy as np
import pytest

from ilr_dynamics.robot.description import load_description
from ilr_dynamics.robot.driver import EventKind
from ilr_dynamics.robot.plant import WamPlant
from ilr_dynamics.robot.plant_config import load_plant_config
from ilr_dynamics.robot.simulated_arm import SimulatedArm


@pytest.fixture
def arm():
    return SimulatedArm(WamPlant(load_description("wam4"), load_plant_config("wam4")))


def push(arm, torque, cycles):
    for _ in range(cycles):
        assert arm.command(arm.time, torque) is None
        arm.advance()


def test_brakes_hold_the_arm_without_commands(arm):
    start = arm.plant.position
    for _ in range(100):
        assert arm.advance() is None
    np.testing.assert_allclose(arm.plant.position, start, atol=1e-5)


def test_commands_move_the_arm(arm):
    start = arm.plant.position
    push(arm, [10.0, 0.0, 5.0, 2.0], 100)
    assert np.abs(arm.plant.position - start).max() > 0.1
    np.testing.assert_array_equal(arm.measurement.torque, [10.0, 0.0, 5.0, 2.0])


def test_silence_ends_in_a_stop(arm):
    push(arm, [10.0, 0.0, 5.0, 2.0], 100)
    events = [arm.advance() for _ in range(20)]
    kinds = [event.kind for event in events if event]
    assert kinds == 10 * [EventKind.MISSING] + [EventKind.BRAKED]
    np.testing.assert_allclose(arm.plant.velocity, 0.0, atol=1e-4)


def test_reset_brakes_at_the_start_and_time_goes_on(arm):
    start = arm.plant.position
    push(arm, [10.0, 0.0, 5.0, 2.0], 100)
    arm.reset()
    np.testing.assert_array_equal(arm.plant.position, start)
    assert arm.driver.braked
    assert arm.advance() is None
    assert arm.time == pytest.approx(0.202)
