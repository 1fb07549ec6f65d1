# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from ilr_dynamics.control import JointLimits, JointPath
from ilr_dynamics.control.limits import check_path, limit_torque
from ilr_dynamics.exceptions import InvalidParameterError, TrajectoryError

torques = hnp.arrays(float, 2, elements=st.floats(-1e6, 1e6))
within = st.floats(-1.0, 1.0)


def two_joints(torque=(20.0, 10.0)):
    return JointLimits(("a", "b"), [-1.0, -1.0], [1.0, 1.0], [2.0, 2.0], torque, [200.0, 100.0])


@given(torques, within, within, st.floats(0.0, 0.01))
def test_torque_keeps_to_limit_and_rate(wanted, first, second, elapsed):
    limits = two_joints()
    previous = np.array([first, second]) * limits.torque
    torque = limit_torque(wanted, previous, limits, elapsed)
    assert (np.abs(torque) <= limits.torque).all()
    assert (np.abs(torque - previous) <= limits.torque_rate * elapsed + 1e-12).all()


def test_torque_within_both_limits_is_unchanged():
    wanted = np.array([0.3, -0.1])
    assert (limit_torque(wanted, np.zeros(2), two_joints(), 0.002) == wanted).all()


def test_lowered_limit_is_reached_at_the_rate():
    lowered = two_joints(torque=(5.0, 5.0))
    torque = np.array([10.0, 5.0])
    path = [
        torque := limit_torque(np.array([50.0, 50.0]), torque, lowered, 0.01) for _ in range(4)
    ]
    np.testing.assert_allclose(np.array(path)[:, 0], [8.0, 6.0, 5.0, 5.0])


@pytest.mark.parametrize(
    ("field", "value", "text"),
    [
        ("torque", [1.0, -1.0], "torque must not be negative"),
        ("torque_rate", [1.0], "torque_rate must hold 2 values"),
        ("velocity", [1.0, np.nan], "velocity must be finite"),
        ("position_lower", [0.0, 2.0], "lower position limit must be below"),
        ("position_upper", [1.0, np.nan], "lower position limit must be below"),
    ],
)
def test_unusable_limits_are_refused(field, value, text):
    with pytest.raises(InvalidParameterError, match=text):
        dataclasses.replace(two_joints(), **{field: value})


def test_path_on_the_limits_is_accepted():
    check_path(JointPath([0.0, 1.0], [[-1.0, 0.0], [1.0, 0.0]]), two_joints())


@pytest.mark.parametrize(
    ("path", "text"),
    [
        (
            JointPath([0.0, 2.0], [[0.0, 0.0], [0.0, 1.5]]),
            "joint b would be at 1.062 rad at 1.417 s: expected -1 to 1 rad",
        ),
        (
            JointPath([0.0, 0.1], [[0.0, 0.0], [0.3, 0.0]]),
            "joint a would move at 3.000 rad/s at 0.000 s: expected at most 2 rad/s",
        ),
        (
            JointPath([0.5], [[0.0, 1.5]]),
            "joint b would be at 1.500 rad at 0.500 s: expected -1 to 1 rad",
        ),
        (JointPath([0.0], [[0.0]]), "the path moves 1 joints: expected 2"),
    ],
)
def test_path_beyond_a_limit_is_refused(path, text):
    with pytest.raises(TrajectoryError, match=text):
        check_path(path, two_joints())


def test_path_that_swings_out_between_its_points_is_refused():
    swing = JointPath([0.0, 2.0], [[0.9, 0.0], [0.9, 0.0]], [[1.0, 0.0], [-1.0, 0.0]])
    with pytest.raises(TrajectoryError, match="joint a would be at"):
        check_path(swing, two_joints())


def test_path_whose_bounding_points_lie_outside_is_accepted_if_it_stays_inside():
    path = JointPath([0.0, 1.0], [[0.9, 0.0], [0.9, 0.0]], [[0.38, 0.0], [-0.38, 0.0]])
    assert path.bounding_points()[0].max() > 1.0
    check_path(path, two_joints())


@pytest.mark.parametrize("rate", [[0.0, 100.0], [-1.0, 100.0], [0.5, 100.0]])
def test_a_torque_that_could_not_be_taken_back_is_refused(rate):
    with pytest.raises(InvalidParameterError, match="torque_rate"):
        dataclasses.replace(two_joints(), torque=[10.0, 10.0], torque_rate=rate)
