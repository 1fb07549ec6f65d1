# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest
from _plant_inverse import PlantInverse

from ilr_dynamics.control import (
    FeedForwardTorque,
    Gains,
    JointLimits,
    JointPath,
    RigidBodyFeedForward,
    Supervision,
    TrackingController,
    track,
)
from ilr_dynamics.exceptions import TrajectoryError
from ilr_dynamics.robot.description import load_description
from ilr_dynamics.robot.plant import WamPlant
from ilr_dynamics.robot.plant_config import load_plant_config
from ilr_dynamics.robot.rigid_body import RigidBodyModel
from ilr_dynamics.robot.tool_paths import figure_eight, joint_path

GAINS = Gains([40.0, 60.0, 25.0, 15.0], [3.0, 5.0, 1.5, 1.0])


@pytest.fixture(scope="module")
def arm():
    return load_description("wam4")


@pytest.fixture(scope="module")
def model(arm):
    return RigidBodyModel(arm)


@pytest.fixture(scope="module")
def plant(arm):
    return WamPlant(arm, load_plant_config("wam4"), seed=0)


@pytest.fixture(scope="module")
def eight(model):
    motion = joint_path(figure_eight(3.4), model, rate=50.0)
    return JointPath(*(field[:171] for field in motion))


def controller(arm, feedforward=None, tracking_error=0.5):
    limits = JointLimits(
        arm.joint_names,
        arm.position_lower,
        arm.position_upper,
        arm.velocity_limit,
        arm.torque_limit,
        torque_rate=arm.torque_limit / 0.2,
    )
    supervision = Supervision(np.full(4, 0.1), np.full(4, tracking_error), np.full(4, 3.0))
    return TrackingController(limits, GAINS, supervision, feedforward)


class PerfectFeedForward:
    def __init__(self, plant):
        self.inverse = PlantInverse(plant)

    def __call__(self, reference):
        torque = self.inverse(reference.position, reference.velocity, reference.acceleration)
        return FeedForwardTorque(torque, np.zeros(4))


def test_better_feedforward_tracks_better_with_less_feedback(arm, model, plant, eight):
    pd, analytic, perfect = (
        track(plant, controller(arm, feedforward), eight)
        for feedforward in (None, RigidBodyFeedForward(model), PerfectFeedForward(plant))
    )
    assert pd.mean_squared_error > 2.0 * analytic.mean_squared_error
    assert analytic.mean_squared_error > 50.0 * perfect.mean_squared_error
    assert perfect.mean_squared_error < 1e-4
    assert pd.mean_pd_torque > analytic.mean_pd_torque > 5.0 * perfect.mean_pd_torque


def test_result_covers_the_path_cycle_by_cycle(arm, plant, eight):
    result = track(plant, controller(arm), eight)
    assert len(result.time) == pytest.approx(eight.end / 0.002, abs=2)
    np.testing.assert_allclose(np.diff(result.time), 0.002)
    np.testing.assert_allclose(result.torque, result.feedforward + result.pd)
    middle = len(result.time) // 2
    reference = eight.sample(result.time[middle])
    np.testing.assert_allclose(result.desired[middle], reference.position, atol=1e-3)


def test_pass_repeats_bit_for_bit(arm, plant, eight):
    first, second = (track(plant, controller(arm), eight) for _ in range(2))
    np.testing.assert_array_equal(first.position, second.position)


def test_fault_ends_the_pass_with_its_reason(arm, plant, eight):
    with pytest.raises(TrajectoryError, match="tracking error of joint j2 is"):
        track(plant, controller(arm, tracking_error=0.1), eight)
