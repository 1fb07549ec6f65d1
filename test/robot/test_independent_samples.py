# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Identified dynamics count samples as the independent ones that they are."""

import numpy as np
import pytest
from identification import motion_about, rigid_torque

from ilr_dynamics.robot.description import load_description
from ilr_dynamics.robot.identified_dynamics import IdentifiedDynamics
from ilr_dynamics.robot.rigid_body import RigidBodyModel

RECORDED, ELSEWHERE = np.zeros(4), np.array([1.0, -0.8, 0.8, 1.0])
FRICTION = np.array([1.5, 1.5, 0.8, 0.6])
FAST = 0.05


@pytest.fixture(scope="module")
def start():
    return IdentifiedDynamics.from_description(load_description("wam4"))


@pytest.fixture(scope="module")
def described():
    model = RigidBodyModel(load_description("wam4"))
    return lambda X: rigid_torque(model, X)


@pytest.fixture(scope="module")
def rippling(described):
    """Torques with friction of 15 waves a turn, which no term describes: those have up to 12."""

    def torque(X):
        wave = 1.0 + np.sin(15.0 * X[:, :4])
        return described(X) + FRICTION * wave * np.tanh(X[:, 4:8] / 0.03)

    return torque


def recorded(torque, X, seed):
    return X, torque(X) + 0.05 * np.random.default_rng(seed).normal(size=(len(X), 4))


def learned(known, X, Y):
    return known.updated(X, Y, np.ones(len(X)))


@pytest.fixture(scope="module")
def recording(rippling):
    return recorded(rippling, motion_about(RECORDED, 40.0, 50.0, 0), 0)


@pytest.fixture(scope="module")
def known(start, recording):
    return learned(start, *recording)


def errors(dynamics, X, truth):
    """Errors of the mean (n, 4) and deviations of what is predicted of torques, Nm."""
    found = dynamics.predict(X)
    noise = np.diag(dynamics.noise_shape) * dynamics.dof / (dynamics.dof - 2.0)
    return found.mean - truth, np.sqrt(noise + found.doubt + found.unlearnable)


@pytest.mark.parametrize("seed", range(3))
def test_far_from_the_recording_it_is_no_worse_than_the_description_and_says_how_wrong(
    start, described, rippling, seed
):
    """Although the bodies of the description are right, and what it lacks cannot be learned."""
    dynamics = learned(start, *recorded(rippling, motion_about(RECORDED, 40.0, 50.0, seed), seed))
    for posture in (ELSEWHERE, -ELSEWHERE):
        X = motion_about(posture, 20.0, 20.0, 50 + seed)
        truth = rippling(X)
        error, deviation = errors(dynamics, X, truth)
        of_description = described(X) - truth
        assert np.all(np.mean(error**2, axis=0) < np.mean(of_description**2, axis=0))
        fast = np.abs(X[:, 4:8]) > FAST
        # Few independent errors: a coverage that is right may be some percent lower.
        assert np.mean((np.abs(error) < 1.96 * deviation)[fast]) > 0.9


@pytest.mark.parametrize("seed", range(3))
def test_springs_of_which_the_description_says_nothing_are_found(start, described, rippling, seed):
    """They are not taken for what no term describes, which would leave next to no samples."""
    spring = np.array([20.0, 0.0, 0.0, 10.0])

    def torque(X):
        return rippling(X) + spring * np.sin(X[:, :4])

    dynamics = learned(start, *recorded(torque, motion_about(RECORDED, 40.0, 50.0, seed), seed))
    X = motion_about(0.5 * ELSEWHERE, 20.0, 20.0, 50 + seed)
    truth = torque(X)
    error, deviation = errors(dynamics, X, truth)
    of_description = described(X) - truth
    has_spring = spring > 0.0
    ratio = np.mean(error**2, axis=0) / np.mean(of_description**2, axis=0)
    assert np.all(ratio[has_spring] < 0.1)
    assert np.all(ratio < 1.0)
    assert np.mean(np.abs(error) < 1.96 * deviation) > 0.9


def test_near_the_recording_it_is_better_than_far_from_it_and_surer(known, rippling):
    near, far = (motion_about(posture, 20.0, 20.0, 60) for posture in (RECORDED, ELSEWHERE))
    errs = [np.mean(errors(known, X, rippling(X))[0] ** 2) for X in (near, far)]
    doubts = [np.mean(np.sqrt(known.predict(X).doubt)) for X in (near, far)]
    assert errs[0] < errs[1]
    assert doubts[0] < 0.6 * doubts[1]


def test_what_no_term_describes_makes_samples_few(start, known, recording, described):
    """Of 2,000 at 50 Hz, as many as there are lengths on the way count."""
    X, _ = recording
    exact = learned(start, *recorded(described, X, 1))
    assert np.all(known.weight < 0.05 * len(X))
    assert known.correlation.share > 0.9
    assert np.all(exact.weight > 3.0 * known.weight)


def test_parts_of_a_recording_are_nearly_the_whole(start, known, recording):
    X, Y = recording
    parts = start
    for rows in np.split(np.arange(2000), 2):
        parts = learned(parts, X[rows], Y[rows])
    np.testing.assert_allclose(parts.weight, known.weight, rtol=1.0 / 3.0)
    test = motion_about(ELSEWHERE, 20.0, 10.0, 61)
    distance = (parts.predict(test).mean - known.predict(test).mean) ** 2
    assert np.sqrt(np.mean(distance / known.predict(test).doubt)) < 0.25


def test_a_recording_learned_twice_more_leaves_what_was_known(known, recording):
    again = learned(learned(known, *recording), *recording)
    assert again.representatives.mass.sum() == pytest.approx(3 * len(recording[0]))
    # Lengths are found on a choice of samples, of which two differ by a third at most.
    np.testing.assert_allclose(again.weight, known.weight, rtol=1.0 / 3.0)
    X = motion_about(ELSEWHERE, 20.0, 10.0, 61)
    before, after = known.predict(X), again.predict(X)
    distance = (after.mean - before.mean) / np.sqrt(before.doubt)
    assert np.sqrt(np.mean(distance**2)) < 0.1
    ratio = np.sqrt(np.mean(after.doubt) / np.mean(before.doubt))
    assert ratio == pytest.approx(1.0, abs=0.05)


def test_a_moment_elsewhere_leaves_what_was_known(known, recording, rippling):
    X = motion_about(ELSEWHERE, 0.4, 50.0, 62)
    later = learned(known, *recorded(rippling, X, 62))
    # Lengths are found on another choice of samples: half of what two may differ by.
    np.testing.assert_allclose(later.weight, known.weight, rtol=1.0 / 6.0)
    # And says something of where it was.
    assert np.mean(later.predict(X).doubt) < np.mean(known.predict(X).doubt)


def test_standing_still_afterwards_leaves_what_was_known(known, described):
    X = np.zeros((5000, 12))
    X[:, :4] = ELSEWHERE + 1e-4 * np.random.default_rng(0).normal(size=(5000, 4))
    later = learned(known, X, described(X[:1]) + np.zeros((5000, 4)))
    # One posture more, by which both lengths may be found a third longer or shorter.
    ratio = later.weight / known.weight
    assert np.all((ratio > (2.0 / 3.0) ** 2) & (ratio < (3.0 / 2.0) ** 2))
    test = motion_about(RECORDED, 20.0, 10.0, 67)
    distance = (later.predict(test).mean - known.predict(test).mean) ** 2
    assert np.mean(distance / known.predict(test).doubt) < 1.0


@pytest.mark.parametrize("torque", [0.0, 1.0])
def test_an_arm_that_only_stood_at_one_posture_can_be_asked(start, torque):
    still = learned(start, np.zeros((50, 12)), np.full((50, 4), torque))
    X = motion_about(RECORDED, 1.0, 10.0, 63)
    prediction = still.predict(X)
    assert np.all(np.isfinite(prediction.mean))
    # A share of a hundredth of one sample or so: gravity may be a bit clearer, or the description
    # a bit farther off than it said.
    assert np.all(prediction.doubt <= 1.2 * start.predict(X).doubt)
    assert np.all(still.weight < 0.02)
    again = IdentifiedDynamics.from_arrays(still.arrays())
    np.testing.assert_array_equal(again.predict(X).mean, prediction.mean)


@pytest.mark.parametrize("duration", [10.0, 60.0])
def test_torques_without_noise_that_the_terms_explain_are_learned_exactly(
    start, described, duration
):
    """As a simulator gives them; they are not one sample that hangs together."""

    def torque(X):
        return 1.2 * described(X) + FRICTION * np.tanh(X[:, 4:8] / 0.1)

    X = motion_about(RECORDED, duration, 50.0, 3)
    exact = learned(start, X, torque(X))
    test = motion_about(RECORDED, 20.0, 10.0, 64)
    error, deviation = errors(exact, test, torque(test))
    before = start.predict(test).mean - torque(test)
    assert np.sqrt(np.mean(error**2)) < 0.05 * np.sqrt(np.mean(before**2))
    assert np.all(exact.weight > 10.0)
    assert np.mean(np.abs(error) < 1.96 * deviation) > 0.9


def test_forgetting_makes_earlier_samples_count_less_and_not_more(known, recording, rippling):
    less = known.discounted(0.2)
    np.testing.assert_allclose(less.weight, 0.2 * known.weight)
    X = motion_about(RECORDED, 20.0, 10.0, 65)
    assert np.mean(less.predict(X).doubt) > np.mean(known.predict(X).doubt)
    later = learned(less, *recorded(rippling, motion_about(ELSEWHERE, 5.0, 50.0, 66), 66))
    assert np.all(later.weight > less.weight)
    assert later.representatives.mass.sum() == pytest.approx(0.2 * 2000 + 250)


def test_nothing_is_left_to_chance(start, recording, known):
    again = learned(start, *recording)
    # Up to rounding, which threads and the place in memory change: far below what is not known.
    one, other = (model.predict(recording[0][:200]) for model in (again, known))
    assert np.all(np.abs(one.mean - other.mean) < 1e-3 * np.sqrt(other.doubt))
    np.testing.assert_allclose(one.doubt, other.doubt, rtol=1e-3)
