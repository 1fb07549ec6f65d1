# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
import dataclasses

import numpy as np
import pytest

from ilr_dynamics.control import Reference
from ilr_dynamics.exceptions import InvalidParameterError

REST = Reference.at_rest([0.0, 0.0])
JOINTS = ("j1", "j2")


def test_state_within_all_bounds_is_no_violation(supervision):
    state = np.array([0.5, -0.5]), np.array([-3.0, 3.0])
    assert supervision.violation(REST, *state, JOINTS) is None


def test_largest_tracking_error_is_named(supervision):
    text = supervision.violation(REST, np.array([0.6, -0.8]), np.zeros(2), JOINTS)
    assert text == "tracking error of joint j2 is 0.800 rad: expected at most 0.5 rad"


def test_excess_velocity_is_named(supervision):
    text = supervision.violation(REST, np.zeros(2), np.array([-3.5, 0.0]), JOINTS)
    assert text == "velocity of joint j1 is -3.500 rad/s: expected at most 3 rad/s"


def test_arm_is_held_for_ever_or_let_down(supervision):
    assert supervision.held_share(1e6) == 1.0
    sinking = dataclasses.replace(supervision, let_down_time=2.0)
    assert [sinking.held_share(t) for t in (0.0, 1.0, 2.0, 9.0)] == [1.0, 0.5, 0.0, 0.0]


@pytest.mark.parametrize(
    ("field", "value", "text"),
    [
        ("input_timeout", 0.0, "input_timeout must be positive and finite, got 0"),
        ("deceleration", np.inf, "deceleration must be positive"),
        ("let_down_time", -1.0, "let_down_time must be positive"),
        ("tracking_error", [0.1], "tracking_error must hold 2 values"),
    ],
)
def test_unusable_bounds_are_refused(supervision, field, value, text):
    with pytest.raises(InvalidParameterError, match=text):
        dataclasses.replace(supervision, **{field: value})
