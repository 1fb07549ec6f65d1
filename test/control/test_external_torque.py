# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""What pushes is told from what the model does not know, by a stated rate of false alarms."""

from __future__ import annotations

from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ilr_dynamics.control import Command, Mode, Reference
from ilr_dynamics.control.external_torque import ExternalTorqueObserver, alarm_quantile
from ilr_dynamics.control.feedforward import FeedForwardTorque
from ilr_dynamics.exceptions import InvalidParameterError

PERIOD, EVERY, LIMIT = 0.002, 5, np.array([50.0, 20.0])
INERTIA, DRY, STD = np.array([2.0, 0.5]), np.array([3.0, 1.0]), np.array([0.3, 0.1])


def arm_of_test(reference):
    """Inertia and dry friction, which is known of joints that slip and not of those that stick."""
    speed = reference.velocity
    share = speed**2 / (speed**2 + 0.02**2)
    torque = INERTIA * reference.acceleration + DRY * np.tanh(speed / 0.02)
    return FeedForwardTorque(torque, np.sqrt(STD**2 + (1.0 - share) * DRY**2))


def swing(time):
    """Both joints slip, with accelerations of 2 and 4 rad/s^2."""
    rate, size = np.array([2.0, 4.0]), np.array([0.5, 0.25])
    position = 2.0 * time + size * np.sin(rate * time)
    velocity = 2.0 + size * rate * np.cos(rate * time)
    return Reference(position, velocity, -size * rate**2 * np.sin(rate * time))


def still(time):
    return Reference.at_rest([0.3, -0.2])


def looks(
    observer,
    motion,
    external,
    n=200,
    *,
    effort=lambda torque: None,
    mode=Mode.TRACKING,
    expected=arm_of_test,
):
    """Looks at a motion in which something pushes; commands act from the next state on."""
    found = []
    drive = {}
    for cycle in range(n):
        time = cycle * PERIOD
        # What is at work from this state to the next is known one state before.
        for ahead in (0, 1):
            middle = motion(time + (ahead + 0.5) * PERIOD)
            pushed = external((cycle + ahead + 0.5) * PERIOD)
            drive[cycle + ahead] = arm_of_test(middle).torque - pushed
        state = motion(time)
        command = Command(
            time,
            mode,
            drive[cycle + 1],
            arm_of_test(state),
            np.zeros(2),
            state,
            state.position,
            state.velocity,
            False,
            True,
        )
        look = observer.add(command, effort(drive[cycle]), expected)
        if look is not None:
            found.append(look)
    return found


def observer_of(least_std=(0.0, 0.0), **options):
    return ExternalTorqueObserver(LIMIT, np.array(least_std), PERIOD, EVERY, 1.0, **options)


@pytest.mark.parametrize("measured", [False, True])
def test_a_constant_push_is_measured_at_its_time(measured):
    push = np.array([4.0, -1.5])
    observer = observer_of(measured=measured)
    found = looks(observer, swing, lambda _: push, effort=lambda torque: torque)
    assert len(found) == (200 - 2 - 30) // EVERY + 1
    for look in found:
        np.testing.assert_allclose(look.torque, push, atol=0.02)
        np.testing.assert_allclose(look.position, swing(look.time).position, atol=1e-4)
        np.testing.assert_allclose(look.std, STD, rtol=0.05)
        assert look.contact
    steps = np.diff([look.time for look in found])
    np.testing.assert_allclose(steps, EVERY * PERIOD)


def test_free_motion_is_no_contact_and_a_push_that_begins_is_one_within_50_ms():
    observer = observer_of()
    began, push = 0.2, np.array([0.0, 1.2])
    found = looks(observer, swing, lambda time: push * (time > began))
    first = next(look.time + observer.delay for look in found if look.contact)
    assert 0.0 < first - began <= 0.05


def test_a_model_that_is_too_sure_is_not_believed():
    """What even the best model errs by is no contact, whatever the model says."""
    error = np.array([0.0, 1.5 * 4.9 * STD[1]])
    assert any(look.contact for look in looks(observer_of(), swing, lambda _: error))
    observer = observer_of(2.0 * STD)
    found = looks(observer, swing, lambda _: error)
    assert not any(look.contact for look in found)
    np.testing.assert_allclose(found[-1].threshold, observer.quantile * found[-1].std)


def test_a_joint_at_rest_hides_what_its_friction_holds():
    """A push below dry friction may be friction; one far beyond is not."""
    for push, is_contact in ((0.9 * DRY, False), (3.5 * DRY, True)):
        found = looks(observer_of(), still, lambda _, push=push: push)
        assert {look.contact for look in found} == {is_contact}
        assert (found[-1].std > DRY).all() and (found[-1].std < 1.5 * DRY).all()


@pytest.mark.parametrize(("motion", "n_states"), [(swing, 1), (still, 3)])
def test_the_model_is_asked_once_a_look(motion, n_states):
    """A joint that may stick has three velocities, in one question."""
    asked = []

    def expected(states):
        asked.append(states)
        return arm_of_test(states)

    found = looks(observer_of(), motion, lambda _: np.zeros(2), expected=expected)
    assert len(asked) == len(found) > 30
    assert {array.shape for states in asked for array in states} == {(n_states, 2)}


def test_friction_that_turns_round_is_no_push():
    def turns(time):
        return Reference(
            np.full(2, (time - 0.2) ** 2), np.full(2, 2.0 * (time - 0.2)), np.full(2, 2.0)
        )

    assert not any(look.contact for look in looks(observer_of(), turns, lambda _: np.zeros(2)))


@given(n_joints=st.integers(1, 30), period=st.floats(1e-4, 1.0), alarms=st.floats(1e-3, 1e3))
def test_so_many_looks_find_a_normal_variable_beyond_the_quantile(n_joints, period, alarms):
    quantile = alarm_quantile(n_joints, period, alarms)
    beyond = 2.0 * NormalDist().cdf(-quantile) * n_joints * 3600.0 / period
    assert beyond == pytest.approx(min(alarms, n_joints * 3600.0 / period), rel=1e-4)


def test_noise_of_the_stated_deviation_gives_no_more_alarms_than_stated():
    """Looks that depend on each other, as those at blocks that overlap do."""
    random = np.random.default_rng(0)
    n, alarms = 400_000, 500.0
    noise = random.normal(size=(n + 6, 2))
    smooth = np.cumsum(noise, axis=0)
    smooth = (smooth[6:] - smooth[:-6]) / np.sqrt(6.0)
    hours = n * 0.01 / 3600.0
    beyond = np.abs(smooth) > alarm_quantile(2, 0.01, alarms)
    # The bound holds for the expectation; the count has a deviation of some tens.
    assert 0.8 * alarms * hours < beyond.sum() < 1.2 * alarms * hours


@pytest.mark.parametrize("value", [0.0, -1.0, np.inf, np.nan])
def test_a_rate_of_alarms_that_cannot_be_is_refused(value):
    with pytest.raises(InvalidParameterError, match="alarms_per_hour must be positive"):
        alarm_quantile(4, 0.01, value)


@pytest.mark.parametrize(
    ("effort", "text"),
    [
        (lambda torque: None, "hold no efforts"),
        (lambda torque: torque * [1.0, np.nan], "expected finite torques"),
        (lambda torque: torque * [1.0, np.inf], "expected finite torques"),
        (lambda torque: np.minimum(torque + [0.0, 99.0], LIMIT), "a torque is at its limit"),
    ],
)
def test_efforts_that_tell_nothing_give_nothing(effort, text):
    observer = observer_of(measured=True)
    assert looks(observer, swing, lambda _: np.zeros(2), effort=effort) == []
    assert text in observer.objection
    # And as soon as they tell something again, there is something to say.
    assert looks(observer, swing, lambda _: np.zeros(2), effort=lambda torque: torque)
    assert observer.objection == ""


@pytest.mark.parametrize("mode", [Mode.FAULT, Mode.WAITING])
def test_nothing_is_known_while_no_command_is_followed(mode):
    observer = observer_of()
    assert looks(observer, swing, lambda _: np.ones(2), mode=mode) == []
    assert mode.name in observer.objection


@pytest.mark.parametrize(("torque", "std"), [(np.nan, 1.0), (1.0, np.nan), (1.0, 0.0)])
def test_a_model_without_an_answer_or_doubt_gives_nothing(torque, std):
    observer = observer_of()

    def answer(states):
        shape = states.position.shape
        return FeedForwardTorque(np.full(shape, torque), np.full(shape, std))

    state = swing(0.0)
    for cycle in range(100):
        command = Command(
            cycle * PERIOD,
            Mode.HOLDING,
            np.ones(2),
            arm_of_test(state),
            np.zeros(2),
            state,
            *state[:2],
            False,
            True,
        )
        assert observer.add(command, None, answer) is None
    assert "no finite torque, or has no deviation" in observer.objection
