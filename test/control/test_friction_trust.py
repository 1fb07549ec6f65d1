# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""What each joint of a guided arm keeps of its compensated friction."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ilr_dynamics.control.friction_trust import LEAST, FrictionTrust

PERIOD = 0.002


def followed(trust, motion, begin, end):
    """Let it see a motion; return both shares over time."""
    shares = []
    for time in np.arange(begin, end, PERIOD):
        position, velocity = motion(time)
        trust.observe(time, np.array(position), np.array(velocity))
        shares.append([trust.moving + np.zeros(2), trust.resting + np.zeros(2)])
    return np.array(shares)


def steady(time):
    return [0.3 * time, -1.0 * time], [0.3, -1.0]


def test_a_joint_that_keeps_its_speed_keeps_all():
    np.testing.assert_array_equal(followed(FrictionTrust(), steady, 0.0, 1.0), 1.0)


def test_a_joint_that_slows_down_keeps_less_the_faster_it_does_so():
    trust = FrictionTrust()
    followed(trust, steady, 0.0, 1.0)

    def slowing(time):
        speed = np.exp(-np.array([0.4, 6.0]) * (time - 1.0)) * [0.3, -1.0]
        return [0.0, 0.0], speed

    moving = followed(trust, slowing, 1.0, 1.5)[:, 0]
    assert np.all(np.diff(moving[:50], axis=0) <= 0.0)
    slowly, fast = moving[-1]
    assert 0.7 < slowly < 0.95 and fast < 0.1


def test_a_joint_that_gains_speed_keeps_all():
    found = followed(FrictionTrust(), lambda t: ([t**2, -(t**2)], [2.0 * t, -2.0 * t]), 0.0, 1.0)
    np.testing.assert_array_equal(found[:, 0], 1.0)


def test_a_joint_that_turns_round_keeps_all():
    """As a hand makes it do, which has to bring its inertia too."""

    def swinging(time):
        return [0.0, 0.0], 0.5 * np.cos(6.0 * time) * np.array([1.0, -1.0])

    found = followed(FrictionTrust(), swinging, 0.0, 1.0)
    turned = round(np.pi / 12.0 / PERIOD) + 25
    np.testing.assert_array_equal(found[turned : turned + 50, 0], 1.0)


def test_noise_of_a_joint_that_has_come_to_rest_makes_nothing_of_its_direction():
    trust = FrictionTrust()
    followed(trust, steady, 0.0, 1.0)
    noise = np.random.default_rng(0).normal(0.0, 0.005, (500, 2))
    found = followed(trust, lambda t: ([0.0, 0.0], noise[round((t - 1.0) / PERIOD)]), 1.0, 2.0)
    # All or nothing would be by turns.
    assert np.max(np.abs(np.diff(found[50:, 0], axis=0))) < 0.5


def creeping(time):
    """The first joint by 0.01 rad/s."""
    return [0.01 * time, 0.0], [0.01, 0.0]


def test_a_joint_that_creeps_keeps_less_at_rest_and_gets_it_back_when_it_stands_still():
    trust = FrictionTrust()
    resting = followed(trust, creeping, 0.0, 2.0)[:, 1]
    np.testing.assert_array_equal(resting[:, 1], 1.0)
    assert np.all(np.diff(resting[:, 0]) <= 0.0)
    np.testing.assert_allclose(resting[-1, 0], LEAST, atol=1e-6)
    # Never by a step.
    assert np.min(np.diff(resting[:, 0])) > -0.02

    def still(time):
        return [0.02, 0.0], [0.0, 0.0]

    back = followed(trust, still, 2.0, 7.0)[:, 1, 0]
    assert np.all(np.diff(back) >= -1e-9)
    assert 0.05 < back[-1] - LEAST < 0.15


def test_after_a_gap_and_when_forgotten_all_is_kept():
    trust = FrictionTrust()
    assert followed(trust, creeping, 0.0, 1.0)[-1, 1, 0] < 0.9
    trust.observe(3.0, np.zeros(2), np.zeros(2))
    np.testing.assert_array_equal(trust.resting, 1.0)
    followed(trust, creeping, 3.0, 4.0)
    trust.forget()
    assert (trust.moving, trust.resting) == (1.0, 1.0)


def test_a_state_that_was_seen_changes_nothing():
    trust = FrictionTrust()
    followed(trust, creeping, 0.0, 0.5)
    before = trust.moving, trust.resting
    trust.observe(0.498, np.ones(2), np.ones(2))
    assert before[0] is trust.moving and before[1] is trust.resting


@given(
    st.lists(
        st.tuples(st.floats(-0.1, 0.3), st.floats(-3.0, 3.0), st.floats(-30.0, 30.0)),
        min_size=1,
        max_size=60,
    )
)
def test_shares_are_never_above_one_nor_below_zero(states):
    trust, time = FrictionTrust(), 0.0
    for step, position, velocity in states:
        time += step
        trust.observe(time, np.array([position]), np.array([velocity]))
        for share in (trust.moving, trust.resting):
            assert np.all((share >= 0.0) & (share <= 1.0))
