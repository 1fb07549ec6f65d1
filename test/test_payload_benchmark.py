# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""The payload benchmark's arm takes something up without a jump, and carries it from then on."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"


@pytest.fixture(autouse=True)
def benchmarks(monkeypatch):
    monkeypatch.setattr(sys, "path", [str(BENCHMARKS), *sys.path])


def test_a_pick_up_changes_the_load_and_not_the_motion(tmp_path):
    from _payload_arm import LoadableArm, described_with, draw_payload

    from ilr_dynamics.robot.plant import WamPlant
    from ilr_dynamics.robot.rigid_body import RigidBodyModel

    arm, payload = LoadableArm(0, "wam4"), draw_payload(0.7, np.random.default_rng(0))
    plant = arm.plant
    plant.reset()
    hold = arm.model.gravity(plant.position)
    for _ in range(50):
        plant.step(hold + [6.0, 0.0, 0.0, 0.0])
    position, velocity = plant.position, plant.velocity
    assert np.abs(velocity).max() > 0.1
    plant.load(payload, tmp_path)
    np.testing.assert_array_equal(plant.position, position)
    np.testing.assert_array_equal(plant.velocity, velocity)
    # Held by what carries the loaded arm it stays, and falls by what carried the empty one.
    loaded = described_with(arm.description, payload, tmp_path)
    fallen = {}
    for name, model in (("loaded", RigidBodyModel(loaded)), ("empty", arm.model)):
        rest = WamPlant(loaded, plant.config, seed=0)
        start = rest.reset().position
        for _ in range(200):
            rest.step(model.gravity(rest.position))
        fallen[name] = np.abs(rest.position - start).max()
    assert fallen["loaded"] < 0.01 < fallen["empty"]
    plant.load(None, tmp_path)
    np.testing.assert_array_equal(plant.position, position)


def test_friction_is_doubled_and_payloads_are_those_asked_for():
    from _payload_arm import LoadableArm, draw_payload

    usual, rough = (LoadableArm(0, "wam4", friction=f).plant.config.friction for f in (1.0, 2.0))
    np.testing.assert_allclose(rough.dry, 2.0 * usual.dry)
    np.testing.assert_allclose(rough.viscous, 2.0 * usual.viscous)
    payload = draw_payload(0.25, np.random.default_rng(1))
    assert payload.mass == 0.25
    assert np.abs(payload.com).max() <= 0.06
