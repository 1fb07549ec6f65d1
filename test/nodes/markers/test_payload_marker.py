# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""A payload is shown where it is, and none where there is none."""

import numpy as np
import pytest

from ilr_dynamics.nodes.markers.payload_marker import PayloadMarker
from ilr_dynamics.robot.description import load_description
from ilr_dynamics.robot.rigid_body import RigidBodyModel
from ilr_dynamics_msgs.msg import PayloadEstimate

MODEL = RigidBodyModel(load_description("wam4"))
POSTURE = np.array([0.3, 0.7, 0.1, 1.8])
ESTIMATED = PayloadEstimate(verdict=PayloadEstimate.PAYLOAD, mass=0.5, com=[0.0, 0.0, 0.1])
USED = PayloadEstimate(verdict=PayloadEstimate.UNKNOWN, used_mass=1.0, used_com=[0.02, 0.0, 0.05])


class State:
    measured = POSTURE


@pytest.mark.parametrize(
    ("estimate", "com", "text"),
    [
        (ESTIMATED, [0.0, 0.0, 0.1], "0.50 kg, not fed forward"),
        (USED, [0.02, 0.0, 0.05], "1.00 kg"),
    ],
)
def test_payload_is_at_its_centre_of_mass(estimate, com, text):
    shown = PayloadMarker(MODEL, "base")
    shown.estimate = estimate
    ball, label = shown.markers(State)
    at = [ball.pose.position.x, ball.pose.position.y, ball.pose.position.z]
    assert np.linalg.norm(at - MODEL.tool_position(POSTURE)) == pytest.approx(np.linalg.norm(com))
    assert ball.header.frame_id == "base"
    assert label.text == text
    assert label.pose.position.z > ball.pose.position.z + 0.5 * ball.scale.z


def test_twice_the_mass_has_twice_the_volume():
    shown, volumes = PayloadMarker(MODEL, "base"), []
    for mass in (1.0, 2.0):
        shown.estimate = PayloadEstimate(used_mass=mass)
        volumes.append(shown.markers(State)[0].scale.x ** 3)
    assert volumes[1] == pytest.approx(2.0 * volumes[0])


@pytest.mark.parametrize("verdict", [PayloadEstimate.UNKNOWN, PayloadEstimate.NONE])
def test_without_a_payload_nothing_is_shown(verdict):
    shown = PayloadMarker(MODEL, "base")
    assert shown.markers(State) == []
    shown.estimate = PayloadEstimate(verdict=verdict, mass=0.3)
    assert shown.markers(State) == []
