# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest

from ilr_dynamics.control import Gains, Reference
from ilr_dynamics.control.pd import pd_torque
from ilr_dynamics.exceptions import InvalidParameterError


def test_pd_pulls_towards_the_reference():
    reference = Reference(np.array([1.0, 0.0]), np.array([0.5, 0.0]), np.zeros(2))
    torque = pd_torque(Gains([10.0, 20.0], [1.0, 2.0]), reference, np.zeros(2), np.ones(2))
    np.testing.assert_allclose(torque, [10.0 - 0.5, -2.0])


@pytest.mark.parametrize(
    ("kp", "kd", "text"),
    [
        ([1.0, -1.0], [0.0, 0.0], "kp must not be negative"),
        ([1.0, 1.0], [0.0], "kd must hold 2 values"),
        ([np.inf], [0.0], "kp must be finite"),
    ],
)
def test_unusable_gains_are_refused(kp, kd, text):
    with pytest.raises(InvalidParameterError, match=text):
        Gains(kp, kd)
