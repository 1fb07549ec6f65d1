# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest

from ilr_dynamics.robot.dynamics_terms import SLOWEST
from ilr_dynamics.robot.torque_noise import TorqueNoise, slipping_share


@pytest.fixture
def samples():
    """Residuals (n, 2), which are three times as large where a joint sticks; speeds; weights."""
    generator = np.random.default_rng(0)
    velocity = generator.normal(size=(4000, 2))
    velocity[1000:2000, 0] = 0.0
    velocity[3000:, 1] = 0.0
    residual = [0.2, 0.5] * generator.normal(size=(4000, 2)) * np.where(velocity == 0.0, 3.0, 1.0)
    return residual, velocity, generator.uniform(0.5, 1.5, 4000)


def test_share_of_slipping_is_that_of_the_formula():
    for speed in (0.0, SLOWEST, -SLOWEST, 0.3, 5.0):
        expected = 0.01 + 0.99 * speed**2 / (speed**2 + SLOWEST**2)
        assert slipping_share(np.array([[speed]])) == pytest.approx(expected)
    assert slipping_share(np.array([[5.0]])) == pytest.approx(1.0, abs=1e-4)


def test_variances_are_weighted_means_of_the_squares(samples):
    residual, velocity, weights = samples
    noise = TorqueNoise.none(2).updated(residual, velocity, weights)
    for joint in range(2):
        slip = stick = of_slip = of_stick = 0.0
        for r, v, w in zip(residual[:, joint], velocity[:, joint], weights, strict=True):
            a = 0.01 + 0.99 * v**2 / (v**2 + SLOWEST**2)
            slip, stick = slip + w * a * r**2, stick + w * (1.0 - a) * r**2
            of_slip, of_stick = of_slip + w * a, of_stick + w * (1.0 - a)
        slip, stick = slip / of_slip, stick / of_stick
        assert noise.of_slipping[joint] == pytest.approx(slip, rel=1e-9)
        for speed in (0.0, 0.5 * SLOWEST, 2.0):
            a = 0.01 + 0.99 * speed**2 / (speed**2 + SLOWEST**2)
            at_speed = np.full((1, 2), speed)
            expected = a * slip + (1.0 - a) * stick
            assert noise.variance(at_speed)[0, joint] == pytest.approx(expected, rel=1e-9)
            beyond = noise.of_sticking(at_speed)[0, joint]
            assert beyond == pytest.approx(expected - slip, rel=1e-9)


def test_noise_of_slipping_and_sticking_joints_is_told_apart(samples):
    noise = TorqueNoise.none(2).updated(*samples)
    # 3,000 samples tell a variance to 2.6 %; a hundredth of the others' ninefold one is added.
    np.testing.assert_allclose(noise.of_slipping, [0.04, 0.25], rtol=0.12)
    still = noise.variance(np.zeros((1, 2)))[0]
    np.testing.assert_allclose(still, 9.0 * np.array([0.04, 0.25]), rtol=0.15)
    moving = noise.of_sticking(np.full((1, 2), 3.0))[0]
    assert np.all(moving < 0.01 * noise.of_slipping)


def test_joints_that_scatter_less_at_rest_are_not_surer_there():
    generator = np.random.default_rng(1)
    velocity = np.where(np.arange(1000) < 500, 0.0, 2.0)[:, None]
    residual = generator.normal(size=(1000, 1)) * np.where(velocity == 0.0, 0.01, 1.0)
    noise = TorqueNoise.none(1).updated(residual, velocity, np.ones(1000))
    assert noise.of_sticking(np.zeros((1, 1))) == 0.0
    np.testing.assert_array_equal(noise.variance(np.zeros((1, 1))), [noise.of_slipping])


def test_before_any_sample_the_variance_is_one_and_nearly_normal():
    noise = TorqueNoise.none(3)
    np.testing.assert_array_equal(noise.of_slipping, 1.0)
    np.testing.assert_array_equal(noise.variance(np.zeros((2, 3))), 1.0)
    assert noise.dof == 200.0


@pytest.mark.parametrize("dof", [6.0, 10.0])
def test_degrees_of_freedom_follow_from_the_kurtosis(dof):
    """Of many joints, as the fourth power of a Student-t scatters."""
    residual = np.random.default_rng(2).standard_t(dof, (20_000, 4))
    velocity = np.full(residual.shape, 3.0)
    noise = TorqueNoise.none(4).updated(residual, velocity, np.ones(20_000))
    kurtosis = np.mean(residual**4, axis=0) / np.mean(residual**2, axis=0) ** 2
    assert noise.dof == pytest.approx(4.0 + 6.0 / (np.mean(kurtosis) - 3.0), rel=0.01)


@pytest.mark.parametrize(("power", "expected"), [(9, 4.5), (0, 200.0)])
def test_degrees_of_freedom_stay_within_bounds(power, expected):
    residual = np.random.default_rng(3).choice([-1.0, 1.0], (1000, 1))
    residual[0] *= 10.0**power
    velocity = np.ones((1000, 1))
    assert TorqueNoise.none(1).updated(residual, velocity, np.ones(1000)).dof == expected


def test_scatter_at_rest_does_not_make_the_tails_heavy(samples):
    """The fourth powers are in units of the deviation at each speed."""
    assert TorqueNoise.none(2).updated(*samples).dof > 20.0


def test_parts_add_up_and_weights_repeat(samples):
    residual, velocity, weights = samples
    whole = TorqueNoise.none(2).updated(residual, velocity, weights)
    parts = TorqueNoise.none(2)
    for rows in (slice(0, 2500), slice(2500, None)):
        parts = parts.updated(residual[rows], velocity[rows], weights[rows])
    # Fourth powers are in units of the deviation known at the time.
    np.testing.assert_allclose(parts.sums[:-1], whole.sums[:-1], rtol=1e-9)
    twice = TorqueNoise.none(2).updated(residual, velocity, 2.0 * weights)
    np.testing.assert_allclose(twice.sums, 2.0 * whole.sums, rtol=1e-9)
    assert twice.dof == pytest.approx(whole.dof)


def test_discounts_make_samples_count_less_and_not_scatter_less(samples):
    residual, velocity, weights = samples
    noise = TorqueNoise.none(2).updated(residual, velocity, weights)
    less = noise.discounted(0.25)
    np.testing.assert_allclose(less.of_slipping, noise.of_slipping)
    assert less.dof == pytest.approx(noise.dof)
    later, half = 2.0 * residual, 0.25 * weights
    np.testing.assert_allclose(
        less.updated(later, velocity, weights).of_slipping,
        TorqueNoise.none(2)
        .updated(residual, velocity, half)
        .updated(later, velocity, weights)
        .of_slipping,
    )
    nothing = noise.discounted(0.0)
    np.testing.assert_array_equal(nothing.of_slipping, 1.0)
    assert nothing.dof == 200.0
