# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""An arm that is moved by hand: what it carries, what it resists, and no jump of torque."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ilr_dynamics.control import (
    FeedForwardTorque,
    Gains,
    JointLimits,
    Mode,
    RigidBodyFeedForward,
    TrackingController,
)
from ilr_dynamics.control.guiding import DITHER_SPEED, Guidance, Guide
from ilr_dynamics.control.residual_observer import ResidualObserver
from ilr_dynamics.exceptions import InvalidParameterError, TrajectoryError
from ilr_dynamics.robot.description import load_description
from ilr_dynamics.robot.payload_dynamics import PayloadDynamics
from ilr_dynamics.robot.rigid_body import RigidBodyModel

PERIOD = 0.002
DRY, VISCOUS = np.array([2.0, 1.0]), np.array([0.5, 0.2])
LIMITS = JointLimits(
    joints=("j1", "j2"),
    position_lower=np.array([-2.0, -1.5]),
    position_upper=np.array([2.0, 1.5]),
    velocity=np.array([2.0, 2.0]),
    torque=np.array([20.0, 10.0]),
    torque_rate=np.array([200.0, 100.0]),
)


def make_guide(**changes):
    values = {
        "friction_share": 0.8,
        "dither": 0.9,
        "damping": [0.3, 0.1],
        "velocity": [1.0, 1.0],
        "brake": [15.0, 5.0],
        "margin": 0.1,
        "stiffness": [40.0, 20.0],
    }
    return Guide(**{**values, **changes})


def weight(position):
    return np.array([8.0, 3.0]) * np.sin(position)


class Model:
    """Weight and friction; counts how often it is asked."""

    def __init__(self, change=0.0):
        self.asked, self.change = 0, change

    def __call__(self, reference):
        self.asked += 1
        velocity = reference.velocity
        friction = DRY * np.tanh(velocity / 0.01) + VISCOUS * velocity
        torque = weight(reference.position) + friction + self.change
        return FeedForwardTorque(torque, np.ones(2), 3, 0.1, 0.7)


finite = st.floats(-1.4, 1.4)


@given(finite, finite, st.floats(0.02, 0.5), st.floats(0.0, 0.95))
def test_the_weight_is_carried_and_a_share_of_friction_compensated(a, b, speed, share):
    guide = make_guide(friction_share=share, dither=0.0)
    position, velocity = np.array([a, b]), np.array([speed, -speed])
    found = guide.carry(Model(), 0.0, position, velocity)
    friction = DRY * np.tanh(velocity / 0.01) + VISCOUS * velocity
    share *= 1.0 - speed
    np.testing.assert_allclose(found.torque, weight(position) + share * friction, atol=1e-9)
    # What else the model says is in the reports.
    assert (found.component, found.unseen_weight, found.gate) == (3, 0.1, 0.7)


def test_a_joint_that_stands_still_is_pushed_either_way_by_turns():
    guide, still = make_guide(), np.zeros(2)
    times = np.arange(0.0, 1.0, PERIOD)
    torques = np.array([guide.carry(Model(), t, still, still).torque for t in times])
    np.testing.assert_allclose(torques.mean(axis=0), 0.0, atol=0.02)
    assert np.all(torques.max(axis=0) > 0.75 * DRY)
    # Never by more than the share.
    assert np.all(np.abs(torques) <= 0.9 * (DRY + DITHER_SPEED * VISCOUS) + 1e-9)
    without = make_guide(dither=0.0)
    torques = np.array([without.carry(Model(), t, still, still).torque for t in times])
    np.testing.assert_allclose(torques, 0.0, atol=1e-12)


def test_less_friction_is_compensated_of_a_fast_joint():
    guide, position = make_guide(dither=0.0), np.zeros(2)
    for speed, share in ((0.25, 0.6), (0.5, 0.4), (1.0, 0.0), (1.5, 0.0)):
        velocity = np.array([speed, speed])
        found = guide.carry(Model(), 0.0, position, velocity).torque
        np.testing.assert_allclose(found, share * (DRY + VISCOUS * speed), atol=1e-6)


@given(finite, finite, st.floats(-3.0, 3.0), st.floats(-3.0, 3.0))
def test_motion_is_damped_never_driven(a, b, u, v):
    velocity = np.array([u, v])
    middle = make_guide().resist(LIMITS, 0.9 * np.array([a, b]), velocity)
    assert np.all(middle * velocity <= 0.0)
    slow = np.abs(velocity) <= 1.0
    expected = -np.array([0.3, 0.1]) * velocity
    np.testing.assert_allclose(middle[slow], expected[slow], atol=1e-12)
    assert np.all(np.abs(middle[~slow]) > np.abs(expected[~slow]))


def test_joints_are_pushed_back_from_the_ends_softly():
    guide, still = make_guide(), np.zeros(2)
    at = [guide.resist(LIMITS, np.array([q, -q]), still) for q in (1.2, 1.39, 1.45, 1.6)]
    np.testing.assert_allclose(at[0], 0.0, atol=1e-12)
    np.testing.assert_allclose([t[1] for t in at], [0.0, 0.0, 1.0, 4.0], atol=1e-9)
    np.testing.assert_allclose(
        guide.resist(LIMITS, np.array([1.95, 0.0]), still), [-40.0 * 0.05, 0.0], atol=1e-9
    )


def test_a_joint_without_ends_is_pushed_nowhere_and_a_narrow_range_keeps_its_middle():
    limits = JointLimits(
        ("a", "b"),
        np.array([-np.inf, -0.1]),
        np.array([np.inf, 0.1]),
        LIMITS.velocity,
        LIMITS.torque,
        LIMITS.torque_rate,
    )
    guide = make_guide(margin=0.5)
    found = guide.resist(limits, np.array([50.0, 0.02]), np.zeros(2))
    np.testing.assert_array_equal(found, 0.0)
    assert guide.resist(limits, np.array([0.0, 0.09]), np.zeros(2))[1] < 0.0


@pytest.mark.parametrize(
    "changes, message",
    [
        ({"friction_share": 1.0}, "friction_share must be at least 0 and below 1, got 1"),
        ({"friction_share": np.nan}, "friction_share"),
        ({"dither": -0.1}, "dither must be at least 0 and below 1, got -0.1"),
        ({"margin": np.inf}, "margin must be finite"),
        ({"velocity": [1.0, 0.0]}, r"velocity must be positive, got \[1.0, 0.0\]"),
        ({"damping": [0.1, -1.0]}, "damping"),
        ({"brake": [1.0]}, "brake"),
    ],
)
def test_values_that_make_no_guide_are_refused(changes, message):
    with pytest.raises(InvalidParameterError, match=message):
        make_guide(**changes)


class Arm:
    """Two joints with friction that follow torques, and the controller that guides them."""

    def __init__(self, supervision, model=None, **changes):
        self.model = model or Model()
        self.controller = TrackingController(
            LIMITS,
            Gains(np.array([40.0, 20.0]), np.array([3.0, 1.0])),
            supervision,
            self.model,
            Model(),
            guidance=Guidance(make_guide(**changes), self.model),
        )
        self.time, self.position, self.velocity = 5.0, np.array([0.4, -0.3]), np.zeros(2)
        self.push = np.zeros(2)
        self.torques = []

    def run(self, duration, ahead=True):
        for _ in range(round(duration / PERIOD)):
            self.time += PERIOD
            command = self.controller.step(self.time, self.position.copy(), self.velocity.copy())
            if ahead:
                self.controller.look_ahead()
            self.torques.append(command.torque)
            self._move(command.torque)
        return command

    def _move(self, torque):
        inertia = np.array([0.5, 0.2])
        free = torque + self.push - weight(self.position) - VISCOUS * self.velocity
        moving = self.velocity + PERIOD * free / inertia
        stop = PERIOD * DRY / inertia
        self.velocity = np.sign(moving) * np.maximum(np.abs(moving) - stop, 0.0)
        self.position = self.position + PERIOD * self.velocity


@pytest.fixture
def arm(supervision):
    arm = Arm(supervision)
    arm.run(0.5)
    assert arm.controller.mode is Mode.HOLDING
    return arm


def guided(arm):
    assert arm.controller.guide() == ""
    arm.run(0.5)
    assert arm.controller.mode is Mode.GUIDING
    return arm


def test_the_arm_let_go_stays_and_a_small_push_moves_it(arm):
    start = guided(arm).position
    arm.run(2.0)
    np.testing.assert_allclose(arm.position, start, atol=1e-4)
    # A third of dry friction, which holds it otherwise.
    arm.push = DRY / 3.0 * [1.0, -1.0]
    arm.run(1.0)
    assert np.all((arm.position - start) * [1.0, -1.0] > 0.05)
    arm.push = np.zeros(2)
    arm.run(0.5)
    there = arm.position
    arm.run(1.0)
    np.testing.assert_allclose(arm.position, there, atol=1e-3)


class Overestimate(Model):
    """Takes friction for larger than it is, and is wrong about the weight too, by these shares."""

    def __init__(self, of_friction, of_weight):
        super().__init__()
        self.of_friction, self.of_weight = of_friction, of_weight

    def __call__(self, reference):
        right = super().__call__(reference)
        friction = right.torque - weight(reference.position)
        error = self.of_friction * friction + self.of_weight * DRY
        return right._replace(torque=right.torque + error)


@pytest.mark.parametrize(
    "model, dither, push, tolerance",
    [
        # What sticks and creeps, and what slides on evenly unless it is let go with a jerk.
        (Overestimate(0.125, 0.05), 0.9, DRY / 3.0 * [1.0, -1.0], 5e-3),
        (Overestimate(0.25, 0.2), 0.6, DRY / 4.0, 1e-3),
    ],
)
def test_an_arm_whose_friction_is_overestimated_stays_where_it_is_let_go(
    supervision, model, dither, push, tolerance
):
    """If all of the compensation were kept, either joint would go on by itself."""
    arm = Arm(supervision, model, friction_share=0.85, dither=dither)
    arm.run(0.5)
    guided(arm)
    start = arm.position
    arm.push = push
    arm.run(1.0)
    assert np.all((arm.position - start) * np.sign(push) > 0.05)
    arm.push = np.zeros(2)
    arm.run(1.0)
    there = arm.position
    arm.run(2.0)
    np.testing.assert_allclose(arm.position, there, atol=tolerance)
    # And a hand still moves it.
    arm.push = DRY / 2.0 * [1.0, -1.0]
    arm.run(1.0)
    assert np.all((arm.position - there) * [1.0, -1.0] > 0.05)


def test_what_is_desired_is_what_is_measured(arm):
    command = guided(arm).run(0.1)
    np.testing.assert_array_equal(command.reference.position, command.position)
    np.testing.assert_array_equal(command.reference.velocity, command.velocity)
    np.testing.assert_array_equal(command.reference.acceleration, 0.0)
    assert command.prepared
    assert not arm.run(0.01, ahead=False).prepared


@pytest.mark.parametrize("ahead", [True, False])
def test_torque_never_jumps(arm, supervision, ahead):
    """Into guiding with an error of position, through a push, against an end, and out again."""
    arm.position = arm.position + [0.05, -0.05]
    arm.run(0.1)
    arm.torques.clear()
    guided(arm)
    arm.push = np.array([6.0, -3.0])
    arm.run(2.0, ahead=ahead)
    arm.controller.hold()
    arm.push = np.zeros(2)
    assert arm.run(0.002).mode is Mode.STOPPING
    arm.run(1.0)
    assert arm.controller.mode is Mode.HOLDING
    steps = np.abs(np.diff(arm.torques, axis=0))
    assert np.all(steps <= LIMITS.torque_rate * PERIOD + 1e-9)
    # Nor does it often need the limit of the rate, which the dither alone may reach.
    assert np.all(np.abs(arm.torques) <= LIMITS.torque)


def test_leaving_holds_the_arm_where_it_came_to_rest(arm):
    arm.push = np.array([4.0, 0.0])
    guided(arm)
    arm.run(0.3)
    arm.push = np.zeros(2)
    arm.controller.hold()
    arm.run(1.0)
    assert arm.controller.mode is Mode.HOLDING
    np.testing.assert_allclose(arm.controller.reference.position, arm.position, atol=0.05)
    assert np.max(np.abs(arm.velocity)) < 1e-6


def test_an_arm_beyond_its_range_is_not_pulled_back_by_the_end_of_guiding(arm):
    guided(arm)
    for q in np.arange(arm.position[0], 2.04, 0.04):
        arm.position, arm.velocity = np.array([q, arm.position[1]]), np.zeros(2)
        arm.run(0.002)
    arm.velocity = np.zeros(2)
    arm.controller.hold()
    command = arm.run(0.2)
    assert command.reference.position[0] > 2.0
    assert np.max(np.abs(command.reference.velocity)) < 0.1


def test_no_trajectory_is_accepted(arm, sway):
    guided(arm)
    with pytest.raises(TrajectoryError, match="while guiding: expected .* holding or tracking"):
        arm.controller.set_trajectory(sway)
    assert arm.controller.mode is Mode.GUIDING


def test_a_joint_that_is_pushed_too_fast_is_braked_and_at_last_held(arm):
    guided(arm)
    arm.push = np.array([10.0, 0.0])
    arm.run(1.0)
    assert arm.controller.mode is Mode.GUIDING
    assert 0.9 < np.max(arm.velocity) < 2.0
    arm.velocity = np.array([5.0, 0.0])
    assert arm.run(0.002).mode is Mode.FAULT
    assert "velocity of joint j1" in arm.controller.fault
    assert "is not guided while fault (velocity of joint j1" in arm.controller.guide()
    arm.push = np.zeros(2)
    arm.run(1.0)
    arm.controller.hold()
    arm.run(0.1)
    assert arm.controller.guide() == ""


def test_a_model_may_be_exchanged_meanwhile(arm):
    guided(arm)
    other = Model(change=np.array([0.5, -0.2]))
    arm.torques.clear()
    arm.run(0.01)
    arm.controller.set_feedforward(other, Guidance(make_guide(dither=0.0), other))
    arm.run(0.5)
    assert other.asked > 0
    expected = weight(arm.position) + [0.5, -0.2]
    np.testing.assert_allclose(arm.torques[-1], expected, atol=0.1)
    assert np.all(np.abs(np.diff(arm.torques, axis=0)) <= LIMITS.torque_rate * PERIOD + 1e-9)


def test_a_model_that_changes_by_itself_is_faded_in(arm):
    """As when a payload is set: what was evaluated ahead is of the model before."""
    guided(arm)
    arm.run(0.01)
    arm.torques.clear()
    before = arm.run(PERIOD).torque
    arm.model.change = np.array([3.0, -2.0])
    arm.controller.set_feedforward(arm.model)
    for _ in range(5):
        now = arm.run(PERIOD).torque
        # Beside the dither, a share of the change; the whole of it would be limited only in rate.
        assert np.all(np.abs(now - before) < 0.2 * np.abs(arm.model.change) + 0.5)
    arm.run(1.0)
    np.testing.assert_allclose(arm.torques[-1] - weight(arm.position), [3.0, -2.0], atol=1.0)


def test_a_model_that_is_not_finite_is_a_fault(supervision):
    arm = Arm(supervision)
    arm.run(0.1)
    guided(arm)
    arm.model.change = np.nan
    arm.run(0.01)
    assert arm.controller.mode is Mode.FAULT
    assert "expected finite" in arm.controller.fault
    assert np.all(np.isfinite(arm.torques))


def test_what_the_tool_carries_is_observed_again_as_soon_as_the_arm_brakes(arm):
    wam = load_description("wam4")
    observer = ResidualObserver(PayloadDynamics(wam), wam.torque_limit, PERIOD)
    physics = RigidBodyFeedForward(RigidBodyModel(wam))
    state = np.array([0.0, 0.7, 0.0, 1.8]), np.full(4, 0.3)
    command = guided(arm).run(PERIOD)
    arm.controller.hold()
    braking = arm.run(PERIOD)
    assert (command.mode, braking.mode) == (Mode.GUIDING, Mode.STOPPING)
    found = []
    for k in range(200):
        now = command if k < 100 else braking
        now = now._replace(time=k * PERIOD, torque=np.ones(4))
        now = now._replace(position=state[0] + now.time * state[1])
        found.append(observer.add(now, physics) is not None)
    # The window of the filter, 60 ms, and the two commands before it.
    assert found.index(True) == 100 + 30 + 1


def test_joint_states_that_stop_are_a_fault(arm):
    guided(arm)
    assert arm.controller.step_blind(0.6) is not None
    assert arm.controller.mode is Mode.FAULT
