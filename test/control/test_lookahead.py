# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""A feed-forward torque asked for ahead of time is the one that would have been asked for."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ilr_dynamics.control import FeedForwardTorque, JointPath, Mode, TrackingController
from ilr_dynamics.exceptions import TrajectoryError

PERIOD = 0.002
START = 50.0


class Inertia:
    """A torque that depends on all of the desired state, and how often it was asked for."""

    def __init__(self, gain=1.0):
        self.gain, self.n_asked = gain, 0

    def __call__(self, reference):
        self.n_asked += 1
        q, qd, qdd = reference
        return FeedForwardTorque(self.gain * (3.0 * q + qd + 0.5 * qdd), np.zeros(2), gate=1.0)


class Follower:
    """A controller and the arm that is where it shall be, looking ahead or not."""

    def __init__(self, make_controller, *, looks_ahead):
        self.model, self.of_faults = Inertia(), Inertia(0.1)
        self.controller = make_controller(self.model, self.of_faults)
        self.looks_ahead = looks_ahead
        self.time = START

    def step(self, after=PERIOD):
        self.time += after
        wanted = self.controller.reference
        command = self.controller.step(self.time, wanted.position + 0.01, wanted.velocity)
        if self.looks_ahead and command is not None:
            self.controller.look_ahead()
        return command


@pytest.fixture
def make(limits, gains, supervision):
    def make(*, looks_ahead=True):
        follower = Follower(
            lambda model, of_faults: TrackingController(
                limits, gains, supervision, model, fault_feedforward=of_faults
            ),
            looks_ahead=looks_ahead,
        )
        follower.step()
        return follower

    return make


@pytest.fixture
def tracking(make, sway):
    follower = make()
    follower.controller.set_trajectory(sway)
    for _ in range(100):
        follower.step()
    return follower


def asked_in_step(follower, feedforward, after=PERIOD):
    """How often the model is asked before the torque is there."""
    before = feedforward.n_asked
    follower.time += after
    wanted = follower.controller.reference
    follower.controller.step(follower.time, wanted.position, wanted.velocity)
    return feedforward.n_asked - before


def test_it_is_asked_before_the_joint_state_comes(tracking):
    assert tracking.controller.mode is Mode.TRACKING
    assert asked_in_step(tracking, tracking.model) == 0


@pytest.mark.parametrize("late", [-0.3e-3, 0.3e-3, 1.5e-3, 20e-3])
def test_it_is_asked_again_for_a_joint_state_at_another_time(tracking, late):
    assert asked_in_step(tracking, tracking.model, PERIOD + late) == 1


@pytest.mark.parametrize("rate", [300.0, 400.0, 1000.0])
def test_it_is_asked_once_a_cycle_whatever_the_rate_of_the_driver(tracking, rate):
    # A block to learn the rate, another to see that it holds.
    for _ in range(110):
        tracking.step(1.0 / rate)
    feedforward = tracking.model
    before = feedforward.n_asked
    for _ in range(50):
        assert asked_in_step(tracking, feedforward, 1.0 / rate) == 0
        tracking.controller.look_ahead()
    assert feedforward.n_asked - before == 50
    assert tracking.controller.mode is Mode.TRACKING


def test_it_is_asked_once_a_cycle_where_stamps_come_at_any_time(tracking):
    random = np.random.default_rng(0)
    for after in random.uniform(0.2, 1.8, 200) * PERIOD:
        tracking.step(after)
    feedforward = tracking.model
    before = feedforward.n_asked
    for after in random.uniform(0.2, 1.8, 40) * PERIOD:
        tracking.step(after)
    assert feedforward.n_asked - before == 40
    assert tracking.controller.mode is Mode.TRACKING


def test_jitter_of_stamps_changes_the_torque_by_what_it_changes_in_that_time(make, sway):
    commands = []
    for looks_ahead in (True, False):
        follower = make(looks_ahead=looks_ahead)
        follower.controller.set_trajectory(sway)
        for _ in range(100):
            before = follower.step()
        commands.append(follower.step(PERIOD + 0.1e-3))
    ahead, exact = (command.feedforward.torque for command in commands)
    in_a_cycle = np.abs(exact - before.feedforward.torque)
    assert np.all(np.abs(ahead - exact) < 0.1 * in_a_cycle)
    assert np.any(ahead != exact)
    np.testing.assert_array_equal(*(command.reference.position for command in commands))


def exchange(follower):
    follower.model = Inertia(2.0)
    follower.controller.set_feedforward(follower.model)


def replace(follower):
    q = follower.controller.reference.position
    follower.controller.set_trajectory(JointPath([1.0], [q], [np.zeros(2)], [np.zeros(2)]))


@pytest.mark.parametrize(
    "change",
    [exchange, replace, lambda f: f.controller.stop(), lambda f: f.controller.hold()],
)
def test_it_is_asked_again_after_a_change(tracking, change):
    change(tracking)
    assert asked_in_step(tracking, tracking.model) == 1


def test_commands_say_whether_it_was_asked_before(tracking, make):
    assert tracking.step().prepared
    exchange(tracking)
    assert [tracking.step().prepared for _ in range(3)] == [False, True, True]
    assert not tracking.step(PERIOD + 0.3e-3).prepared
    tracking.controller.fail("found elsewhere")
    assert [tracking.step().prepared for _ in range(3)] == [False] * 3
    alone = make(looks_ahead=False)
    assert [alone.step().prepared for _ in range(3)] == [False] * 3


def test_a_fault_is_answered_by_its_own_model(tracking):
    tracking.controller.fail("found elsewhere")
    usual, of_faults = tracking.model, tracking.of_faults
    before = usual.n_asked
    assert asked_in_step(tracking, of_faults) == 1
    tracking.controller.look_ahead()
    assert asked_in_step(tracking, of_faults) == 1
    assert usual.n_asked == before


@pytest.mark.parametrize("early", [0.0, 0.1e-3])
def test_what_follows_the_end_of_a_motion_is_not_used_before(make, early):
    commands = []
    for looks_ahead in (True, False):
        follower = make(looks_ahead=looks_ahead)
        throw(follower, 0.5, end=0.6)
        for _ in range(299):
            follower.step()
        # Due at the end.
        commands.append(follower.step(PERIOD - early))
    assert follower.controller.mode is (Mode.TRACKING if early else Mode.STOPPING)
    np.testing.assert_array_equal(*(command.feedforward.torque for command in commands))


def test_where_a_point_is_held_it_is_not_asked_again_and_again(make):
    follower = make()
    follower.step()
    feedforward = follower.model
    before = feedforward.n_asked
    for _ in range(50):
        follower.step()
    assert feedforward.n_asked == before
    follower.controller.set_feedforward(other := Inertia(2.0))
    for _ in range(50):
        follower.step()
    # For the torque that was waited for, and ahead.
    assert other.n_asked == 2


EVENTS = {
    "step": lambda f, x: f.step(),
    "steps": lambda f, x: [f.step() for _ in range(40)][-1],
    "at another rate": lambda f, x: at_another_rate(f, x),
    "late": lambda f, x: f.step(PERIOD * (1.5 + round(10.0 * abs(x)))),
    "gap": lambda f, x: f.step(0.3),
    "back": lambda f, x: f.step(-5.0),
    "stop": lambda f, x: f.controller.stop(),
    "hold": lambda f, x: f.controller.hold(),
    "fail": lambda f, x: f.controller.fail("found elsewhere"),
    "model": lambda f, x: f.controller.set_feedforward(Inertia(1.0 + x)),
    "none": lambda f, x: f.controller.set_feedforward(None),
    "move": lambda f, x: move(f, x),
    "throw": lambda f, x: throw(f, x),
}


def at_another_rate(follower, x):
    """Long enough to be known, and far from other periods."""
    for _ in range(60):
        command = follower.step(PERIOD * (1.2345 if x > 0.0 else 0.4567))
    return command


def move(follower, x):
    here = follower.controller.reference.position
    zero = np.zeros(2)
    times, points = [0.0, 0.3, 0.6], [here, here + 0.1 * x, here]
    follower.controller.set_trajectory(JointPath(times, points, [zero] * 3, [zero] * 3))


def throw(follower, x, end=None):
    """A path that ends amid the motion.

    By itself between two joint states: where it ends before its fade does, the desired velocity
    jumps, and what is desired on a joint state there is a matter of rounding.
    """
    here, zero, velocity = follower.controller.reference.position, np.zeros(2), np.array([x, -x])
    end = end or 0.0203 + 0.001 * round(abs(x))
    # So far ahead that it begins without acceleration: nothing has to fade.
    points = [here, here + end * velocity / 3.0]
    follower.controller.set_trajectory(JointPath([0.0, end], points, [zero, velocity]))


def outcome(follower, event, x):
    try:
        return EVENTS[event](follower, x)
    except TrajectoryError as error:
        return str(error)


@settings(
    max_examples=150,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(st.lists(st.tuples(st.sampled_from(list(EVENTS)), st.floats(-1.0, 1.0)), max_size=40))
def test_whatever_happens_the_commands_are_those_without_it(make, events):
    pair = make(looks_ahead=True), make(looks_ahead=False)
    for event, x in events:
        ahead, usual = (outcome(follower, event, x) for follower in pair)
        assert type(ahead) is type(usual)
        if ahead is None or isinstance(ahead, str):
            continue
        assert ahead.mode is usual.mode
        np.testing.assert_allclose(ahead.torque, usual.torque, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(ahead.feedforward.torque, usual.feedforward.torque, atol=1e-9)
