# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
from typing import NamedTuple

import numpy as np
import pytest

from ilr_dynamics.control import (
    ConfidenceGate,
    LearnedFeedForward,
    NoFeedForward,
    Reference,
    RigidBodyFeedForward,
)
from ilr_dynamics.robot.description import load_description
from ilr_dynamics.robot.rigid_body import RigidBodyModel

STATE = Reference(np.array([0.1, 0.7, 0.0, 1.8]), np.full(4, 0.3), np.full(4, -0.5))
GATE = ConfidenceGate(0.2, 0.8, np.full(4, 1.0), np.full(4, 2.0))


class Prediction(NamedTuple):
    mean: np.ndarray
    std: np.ndarray
    doubt: np.ndarray
    component: int
    unseen_weight: float


class SumOfInputs:
    """A model whose torque is the sum of the inputs at every joint."""

    def __init__(self, unseen_weight, has_global_model=False):
        self.unseen_weight = unseen_weight
        self.has_global_model = has_global_model

    def query(self, x):
        std, doubt = np.full(4, 0.5), np.array([0.0, 0.1, 0.2, 0.4])
        return Prediction(np.full(4, x.sum()), std, doubt, 7, self.unseen_weight)


@pytest.fixture(scope="module")
def model():
    return RigidBodyModel(load_description("wam4"))


def test_no_feedforward_is_zero():
    answer = NoFeedForward(4)(STATE)
    assert answer.torque.tolist() == [0.0] * 4
    assert (answer.component, answer.gate) == (-1, 0.0)


def test_rigid_body_feedforward_is_the_inverse_dynamics(model):
    expected = model.inverse_dynamics(STATE.position, STATE.velocity, STATE.acceleration)
    np.testing.assert_allclose(RigidBodyFeedForward(model)(STATE).torque, expected)


def test_gravity_is_left_to_a_driver_that_adds_it(model):
    rest = Reference.at_rest(STATE.position)
    feedforward = RigidBodyFeedForward(model, driver_compensates_gravity=True)
    assert np.abs(model.gravity(rest.position)).max() > 1.0
    np.testing.assert_allclose(feedforward(rest).torque, 0.0, atol=1e-9)


def test_trusted_model_is_used_alone(model):
    answer = LearnedFeedForward(SumOfInputs(0.0), GATE, RigidBodyFeedForward(model))(STATE)
    np.testing.assert_allclose(answer.torque, 2.6 + 1.2 - 2.0)
    assert (answer.component, answer.gate, answer.std[0]) == (7, 1.0, 0.5)
    np.testing.assert_array_equal(answer.common_doubt, np.zeros(4))
    # Variance of what is expected there, by the weight of the component that has seen nothing.
    answer = LearnedFeedForward(SumOfInputs(0.25, True), GATE, RigidBodyFeedForward(model))(STATE)
    np.testing.assert_allclose(answer.common_doubt, [0.0, 0.05, 0.1, 0.2])


def test_unknown_region_falls_back_to_the_physics(model):
    physics = RigidBodyFeedForward(model)
    answer = LearnedFeedForward(SumOfInputs(0.9), GATE, physics)(STATE)
    np.testing.assert_allclose(answer.torque, physics(STATE).torque)
    assert (answer.gate, answer.unseen_weight) == (0.0, 0.9)


def test_a_model_with_dynamics_of_its_own_is_used_where_no_component_has_data(model):
    learned = SumOfInputs(0.9, has_global_model=True)
    answer = LearnedFeedForward(learned, GATE, RigidBodyFeedForward(model))(STATE)
    np.testing.assert_allclose(answer.torque, 1.8)
    assert (answer.gate, answer.unseen_weight) == (1.0, 0.9)


def test_each_joint_takes_more_of_the_one_that_errs_less(model):
    physics, error = RigidBodyFeedForward(model), np.full(4, 0.4)
    answer = LearnedFeedForward(SumOfInputs(0.0), GATE, physics, error)(STATE)
    shares = np.array([1.0, 16.0 / 17.0, 0.8, 0.5])
    expected = shares * 1.8 + (1.0 - shares) * physics(STATE).torque
    np.testing.assert_allclose(answer.torque, expected)
    assert answer.gate == pytest.approx(0.5)


def test_half_known_region_takes_half_of_each():
    answer = LearnedFeedForward(SumOfInputs(0.5), GATE, NoFeedForward(4))(STATE)
    np.testing.assert_allclose(answer.torque, 0.5 * 1.8)
    assert answer.gate == pytest.approx(0.5)
