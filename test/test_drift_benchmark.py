# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""The drift benchmark's arm changes as it says, and the controller is told nothing of it."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"


@pytest.fixture(autouse=True)
def benchmarks(monkeypatch):
    monkeypatch.setattr(sys, "path", [str(BENCHMARKS), *sys.path])


def positions_under(plant, torque, n_cycles=60):
    plant.reset()
    return np.array([plant.step(torque).position for _ in range(n_cycles)])


def test_an_offset_acts_as_a_torque_that_nobody_measures():
    from _drift_arm import ChangingArm

    arm = ChangingArm(0, "wam4")
    plant, push = arm.plant, arm.of_joint(0, 6.0)
    hold = arm.model.gravity(plant.reset().position)
    as_commanded = positions_under(plant, hold + push)
    plant.offset = push
    np.testing.assert_allclose(positions_under(plant, hold)[2:], as_commanded[2:], atol=2e-3)
    np.testing.assert_array_equal(plant.step(hold).torque, hold)


def test_a_delay_shifts_what_a_torque_does():
    from _drift_arm import ChangingArm

    arm = ChangingArm(0, "wam4")
    plant = arm.plant
    hold = arm.model.gravity(plant.reset().position)
    torques = [hold] * 20 + [hold + [8.0, 0.0, 0.0, 0.0]] * 40

    def moved():
        plant.reset()
        return np.array([plant.step(torque).position[0] for torque in torques])

    soon = moved()
    plant.delay = 10
    late = moved()
    assert abs(soon[-1] - soon[19]) > 0.02
    np.testing.assert_allclose(late[10:], soon[:-10], atol=1e-3)


def test_friction_grows_of_the_joint_that_is_named():
    from _drift_arm import ChangingArm

    arm = ChangingArm(0, "wam4")
    plant, usual = arm.plant, arm.plant.config.friction
    plant.rub(1.0 + arm.of_joint(2, 1.0))
    factor = [1.0, 1.0, 2.0, 1.0]
    np.testing.assert_allclose(plant.config.friction.dry, usual.dry * factor)
    np.testing.assert_allclose(plant.config.friction.viscous, usual.viscous * factor)
    hold = arm.model.gravity(plant.reset().position)
    push = hold + [0.0, 0.0, 3.0, 0.0]
    rough = positions_under(plant, push)
    plant.rub(np.ones(4))
    smooth = positions_under(plant, push)
    assert abs(smooth[-1, 2] - smooth[0, 2]) > 1.2 * abs(rough[-1, 2] - rough[0, 2])
