# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ilr_dynamics.exceptions import RobotDescriptionError
from ilr_dynamics.robot.plant_config import load_plant_config

WAM4 = load_plant_config("wam4").friction
ZERO = np.zeros(4)
vectors = st.tuples(*[st.floats(-3, 3)] * 4).map(np.array)


def test_level_at_speed_without_load_is_the_dry_friction():
    np.testing.assert_allclose(WAM4.dry_level(ZERO, ZERO + 1.0, ZERO), [2.0, 2.0, 1.0, 0.8])


def test_level_at_rest_is_half_as_high_again():
    np.testing.assert_allclose(WAM4.dry_level(ZERO, ZERO, ZERO), [3.0, 3.0, 1.5, 1.2])


def test_level_grows_by_three_percent_of_the_load():
    load = np.array([10.0, -20.0, 5.0, 0.0])
    grown = WAM4.dry_level(ZERO, ZERO + 1.0, load) - WAM4.dry_level(ZERO, ZERO + 1.0, ZERO)
    np.testing.assert_allclose(grown, [0.3, 0.6, 0.15, 0.0])


def test_level_varies_by_thirty_percent_over_a_period_of_0_7_rad():
    crest = WAM4.dry_level(ZERO + 0.7 / 4, ZERO + 1.0, ZERO)
    trough = WAM4.dry_level(ZERO - 0.7 / 4, ZERO + 1.0, ZERO)
    np.testing.assert_allclose(crest, 1.3 * WAM4.dry)
    np.testing.assert_allclose(trough, 0.7 * WAM4.dry)


@given(vectors, vectors, vectors)
def test_smooth_friction_opposes_motion_and_never_exceeds_level_and_viscous(q, v, load):
    torque = WAM4.smooth_torque(q, v, load, width=0.01)
    assert (torque * v >= 0).all()
    bound = WAM4.dry_level(q, v, load) + WAM4.viscous * np.abs(v)
    assert (np.abs(torque) <= bound + 1e-12).all()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"dry": [1.0, 1.0]}, "shapes"),
        ({"dry": [1.0, 1.0, 1.0, -1.0]}, "negative"),
        ({"position_amplitude": 1.5}, "position_amplitude is 1.5"),
        ({"stribeck_velocity": 0.0}, "positive"),
    ],
)
def test_impossible_friction_is_refused(change, words):
    with pytest.raises(RobotDescriptionError, match=words):
        dataclasses.replace(WAM4, **change)
