# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Parameters that change while the arm is held."""

import numpy as np
import pytest
from controller_bench import CYCLE, RATE_LIMIT


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"gains__kp": [40.0, 60.0, 25.0]}, "gains.kp holds 3 values: expected 4"),
        ({"gains__kd": [-1.0, 0.0, 0.0, 0.0]}, "kd must not be negative"),
        ({"limits__torque": [500.0, 1.0, 1.0, 1.0]}, "expected at most"),
        ({"limits__torque_rate": [0.0, 1.0, 1.0, 1.0]}, "take torques of"),
        ({"controller": "magic"}, "controller is 'magic': expected one of pd, analytic, ilr"),
        ({"gate__unseen_trusted": 0.9}, "expected 0 <= unseen_trusted < unseen_refused"),
        ({"supervision__input_timeout": 99.0}, "out of range Min: 0.001, Max: 10.0"),
        ({"joints": ["a", "b", "c", "d"]}, "read-only"),
        ({"files__directories": ["/"]}, "read-only"),
        ({"gains__kp": "stiff"}, "Wrong parameter type"),
    ],
)
def test_parameter_out_of_range_is_refused_with_its_reason(arm, change, reason):
    answer = arm.set_parameters(**change)
    assert not answer.successful
    assert reason in answer.reason
    arm.run(0.02)


def test_gains_change_within_the_rate_limit(arm):
    arm.run(0.2)
    assert arm.set_parameters(gains__kp=[400.0, 600.0, 250.0, 150.0]).successful
    torques = arm.run(0.1)
    assert (np.abs(np.diff(torques, axis=0)) <= RATE_LIMIT * CYCLE + 1e-9).all()
    state = arm.state()
    error, velocity_error = np.array(state.position_error), -np.array(state.measured_velocity)
    np.testing.assert_allclose(
        state.pd_torque, error * [400, 600, 250, 150] + velocity_error * [3, 5, 1.5, 1], atol=1e-9
    )
