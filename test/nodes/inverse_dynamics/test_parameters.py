# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Parameters that change while the arm is held."""

import numpy as np
import pytest
from controller_bench import CYCLE, RATE_LIMIT
from lifecycle_msgs.msg import Transition
from rcl_interfaces.srv import DescribeParameters, GetParameters


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"gains__kp": [40.0, 60.0, 25.0]}, "gains.kp holds 3 values; expected 4"),
        (
            {"gains__kd": [-1.0, 0.0, 0.0, 0.0]},
            "expected floats, one per joint, each from 0 Nms/rad",
        ),
        ({"limits__torque": [500.0, 1.0, 1.0, 1.0]}, "expected at most"),
        ({"limits__torque_rate": [0.0, 1.0, 1.0, 1.0]}, "take torques of"),
        ({"controller": "magic"}, "controller is 'magic'; expected one of pd, analytic, ilr"),
        ({"gate__unseen_trusted": 0.9}, "expected 0 <= unseen_trusted < unseen_refused"),
        ({"supervision__input_timeout": 99.0}, "out of range Min: 0.001, Max: 10.0"),
        ({"joints": ["a", "b", "c", "d"]}, "read-only"),
        ({"files__directories": ["/"]}, "read-only"),
        ({"gains__kp": "stiff"}, "Wrong parameter type"),
        ({"gains__kp": "[80, 90.0, [, 1]"}, "Wrong parameter type"),
        ({"gains__kp": "2024-13-45"}, "Wrong parameter type"),
        ({"gains__kp": [True]}, "Wrong parameter type"),
    ],
)
def test_parameter_out_of_range_is_refused_with_its_reason(arm, change, reason):
    answer = arm.set_parameters(**change)
    assert not answer.successful
    assert reason in answer.reason
    arm.run(0.02)


@pytest.mark.parametrize("sent", [[80, 90, 70, 60], "[80, 90.0, 70, 60]"])
def test_integers_are_taken_for_floats(arm, sent):
    """A list of both comes as text from ``ros2 param set``."""
    assert arm.set_parameters(gains__kp=sent, learning__sample_rate=80).successful
    (gains,) = arm.ask(GetParameters, "get_parameters", names=["gains.kp"]).values
    assert list(gains.double_array_value) == [80.0, 90.0, 70.0, 60.0]


def test_choices_are_kept_before_the_node_is_configured(bench):
    assert bench.change_state(Transition.TRANSITION_CLEANUP)
    answer = bench.set_parameters(moving=False, controller="magic")
    assert not answer.successful and "expected one of pd, analytic, ilr" in answer.reason


def test_ranges_and_choices_are_shown_to_ros_tools(bench):
    """As ``ros2 param describe`` asks for them."""
    names = ["rate", "gains.kp", "learning.n_components", "controller"]
    rate, gains, components, controller = bench.ask(
        DescribeParameters, "describe_parameters", moving=False, names=names
    ).descriptors
    (range_,) = rate.floating_point_range
    assert (range_.from_value, range_.to_value, rate.read_only) == (10.0, 5000.0, True)
    assert rate.description == "joint states per second [Hz]"
    (range_,) = gains.floating_point_range
    assert (range_.from_value, range_.to_value, gains.read_only) == (0.0, np.inf, False)
    (range_,) = components.integer_range
    assert (range_.from_value, range_.to_value) == (1, 10000)
    assert controller.additional_constraints == "one of pd, analytic, ilr"


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
