# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
from dataclasses import replace

import numpy as np
import pytest
from identification import motion, rigid_torque

from ilr_dynamics.exceptions import InvalidDataError
from ilr_dynamics.regression import ILR
from ilr_dynamics.robot.dynamics_regressor import (
    N_OF_JOINT,
    n_columns,
    n_parameters,
    parameter_indices,
)
from ilr_dynamics.robot.identified_dynamics import IdentifiedDynamics
from ilr_dynamics.robot.parameter_prior import parameter_prior
from ilr_dynamics.robot.rigid_body import RigidBodyModel


def test_before_any_data_it_is_the_descriptions_rigid_body(arm):
    X = motion(arm.n_joints, 20, 0)
    prediction = IdentifiedDynamics.from_description(arm).predict(X)
    np.testing.assert_allclose(
        prediction.mean, rigid_torque(RigidBodyModel(arm), X), rtol=1e-9, atol=1e-9
    )
    np.testing.assert_array_equal(prediction.factor, 1.0)
    np.testing.assert_array_equal(prediction.unlearnable, 0.0)


def test_before_any_data_the_doubt_is_that_of_the_prior(arm):
    start = IdentifiedDynamics.from_description(arm)
    X = motion(arm.n_joints, 20, 0)
    _, precision = parameter_prior(start.inertial_prior, start.prior_scales, start.frequencies)
    columns = start.regressor(X)
    variance = 1.0 / precision[parameter_indices(arm.n_joints)]
    np.testing.assert_allclose(
        start.predict(X).doubt, np.einsum("tjp,jp->tj", columns**2, variance), rtol=1e-9
    )


def test_bodies_and_friction_are_found_for_motions_never_seen(arm, identified, rubbing):
    X = 1.3 * motion(arm.n_joints, 500, 2)
    truth = rubbing(X)
    error = np.mean((identified.predict(X).mean - truth) ** 2, axis=0)
    assert np.all(error < 1e-3 * truth.var(axis=0) + 1e-4)


def test_the_noise_is_found_and_intervals_cover(arm, identified, rubbing):
    variance = np.diagonal(identified.noise_shape) * identified.dof / (identified.dof - 2.0)
    np.testing.assert_allclose(np.sqrt(variance), 0.05, rtol=0.2)
    X = motion(arm.n_joints, 500, 3)
    Y = rubbing(X) + 0.05 * np.random.default_rng(4).normal(size=(500, arm.n_joints))
    prediction = identified.predict(X)
    std = np.sqrt(
        variance * prediction.factor[:, None] + prediction.doubt + prediction.unlearnable
    )
    assert np.mean(np.abs(Y - prediction.mean) < 1.96 * std) == pytest.approx(0.95, abs=0.03)


def deviations(found, expected, X):
    """Distances of mean torques (n, n_joints) in units of the doubt that is expected."""
    mean, doubt = expected.predict(X).mean, expected.predict(X).doubt
    return (found.predict(X).mean - mean) / np.sqrt(doubt)


def test_parts_add_up_nearly(arm, rubbing):
    """
    States that are far apart count in full in parts and at once, but for lengths of the parts and
    scales of the prior, which matter little beside 200 samples.

    The noise alone is from residuals of the model at the time, which the first 80 samples show too
    small; the doubt makes up for what the noise does not explain.
    """
    X, test = motion(arm.n_joints, 200, 5), motion(arm.n_joints, 50, 6)
    Y = rubbing(X) + 0.1 * np.random.default_rng(7).normal(size=(200, arm.n_joints))
    start = IdentifiedDynamics.from_description(arm)
    whole = start.updated(X, Y, np.ones(200))
    parts = start.updated(X[:80], Y[:80], np.ones(80)).updated(X[80:], Y[80:], np.ones(120))
    np.testing.assert_allclose(parts.weight, whole.weight, rtol=1e-3)
    difference = np.linalg.norm(parts.gram - whole.gram, axis=(1, 2))
    assert np.all(difference < 1e-3 * np.linalg.norm(whole.gram, axis=(1, 2)))
    assert np.max(np.abs(deviations(parts, whole, test))) < 0.1
    assert np.all(parts.noise.of_slipping <= whole.noise.of_slipping)
    assert np.all(parts.predict(test).doubt >= 0.999 * whole.predict(test).doubt)
    same = replace(parts, noise=whole.noise)
    np.testing.assert_allclose(same.predict(test).doubt, whole.predict(test).doubt, rtol=0.01)


def test_a_sample_of_weight_two_is_two_samples_at_one_state(arm, rubbing):
    X = motion(arm.n_joints, 200, 5)
    Y = rubbing(X) + 0.1 * np.random.default_rng(7).normal(size=(200, arm.n_joints))
    start = IdentifiedDynamics.from_description(arm)
    once, twice = (start.updated(X, Y, np.full(200, weight)) for weight in (1.0, 2.0))
    share = twice.correlation.share
    # Hardly any state is near another one.
    np.testing.assert_allclose(twice.weight / once.weight, 2.0 / (1.0 + share), rtol=0.02)


def test_samples_without_weight_and_none_at_all_change_nothing(arm, samples):
    X, Y = (part[:50] for part in samples)
    start = IdentifiedDynamics.from_description(arm)
    some = start.updated(X[:30], Y[:30], np.ones(30))
    assert some.updated(X, Y, np.zeros(50)) is some
    assert some.updated(X[:0], Y[:0], np.zeros(0)) is some
    with_others = start.updated(X, Y, np.where(np.arange(50) < 30, 1.0, 0.0))
    for name, array in with_others.arrays().items():
        np.testing.assert_array_equal(array, some.arrays()[name], err_msg=name)


def test_nothing_is_left_after_forgetting(arm, samples):
    X, Y = (part[:200] for part in samples)
    start = IdentifiedDynamics.from_description(arm)
    nothing = start.updated(X, Y, np.ones(200)).discounted(0.0)
    np.testing.assert_array_equal(nothing.parameters, start.parameters)
    np.testing.assert_array_equal(nothing.predict(X).doubt, start.predict(X).doubt)
    np.testing.assert_array_equal(nothing.noise_shape, start.noise_shape)


def test_inputs_of_another_arm_are_refused(identified):
    with pytest.raises(InvalidDataError, match="qdd"):
        identified.predict(np.zeros((1, 5)))


def test_a_description_without_motors_has_one_at_each_joint(arm):
    alone = IdentifiedDynamics.from_description(replace(arm, gear_matrix=None))
    np.testing.assert_array_equal(alone.motors, np.eye(arm.n_joints))


def test_gravity_along_another_axis_is_that_of_an_arm_mounted_otherwise(arm, samples):
    X, _ = samples
    hanging = IdentifiedDynamics.from_description(arm, gravity=(0.0, 0.0, 9.81))
    weightless = IdentifiedDynamics.from_description(arm, gravity=np.zeros(3))
    standing = IdentifiedDynamics.from_description(arm)
    up, none, down = (d.predict(X[:20]).mean for d in (hanging, weightless, standing))
    np.testing.assert_allclose(0.5 * (up + down), none, atol=1e-9)
    assert np.abs(up - down).max() > 1.0


@pytest.mark.parametrize("gravity", [True, (0.0, 9.81), (0.0, 0.0, np.nan)])
def test_gravity_that_is_no_vector_is_refused(arm, gravity):
    with pytest.raises(InvalidDataError, match="three finite numbers"):
        IdentifiedDynamics.from_description(arm, gravity=gravity)


@pytest.mark.parametrize("n_outputs", [3, 5])
def test_other_numbers_of_torques_are_refused(arm, samples, n_outputs):
    X, Y = samples
    with pytest.raises(InvalidDataError, match="identified dynamics of"):
        ILR(5, global_model=IdentifiedDynamics.from_description(arm)).fit(
            X, np.resize(Y, (len(X), n_outputs))
        )


def test_inputs_too_large_to_add_up_are_refused(arm, samples):
    X, Y = samples
    X = X.copy()
    X[3] *= 1e80
    with pytest.raises(InvalidDataError):
        IdentifiedDynamics.from_description(arm).updated(X, Y, np.ones(len(X)))


def test_joints_that_stick_teach_next_to_nothing(arm, samples, identified):
    X, Y = samples
    n, generator = arm.n_joints, np.random.default_rng(10)
    still = X[:1000].copy()
    still[:, n:] = 0.0
    anything = identified.predict(still).mean + generator.uniform(-3.0, 3.0, (1000, n))
    both = IdentifiedDynamics.from_description(arm).updated(
        np.concatenate([X, still]), np.concatenate([Y, anything]), np.ones(4000)
    )
    test = motion(n, 200, 11)
    change = both.predict(test).mean - identified.predict(test).mean
    assert np.sqrt(np.mean(change**2)) < 0.03
    # But that torques scatter so much there is known.
    np.testing.assert_allclose(both.unlearnable(still), 3.0, rtol=0.15)
    assert np.all(identified.unlearnable(still) < 0.02)
    np.testing.assert_array_equal(both.predict(still).unlearnable, both.unlearnable(still))
    # Neither while joints move, nor in the noise of those that slip.
    fast = test[np.min(np.abs(test[:, n : 2 * n]), axis=1) > 0.3]
    assert np.all(both.unlearnable(fast) < 0.05)
    np.testing.assert_allclose(both.noise.of_slipping, identified.noise.of_slipping, atol=0.05)
    np.testing.assert_allclose(both.informative_share(still), 0.01)
    assert np.median(both.informative_share(X)) > 0.99


def test_a_joint_that_never_moves_keeps_nobody_from_learning(arm, samples):
    X, Y = samples
    n = arm.n_joints
    X = X.copy()
    X[:, [n, 2 * n]] = 0.0
    start = IdentifiedDynamics.from_description(arm)
    learned = start.updated(X, Y, np.ones(len(X)))
    before, after = (np.mean((d.predict(X).mean - Y)[:, 1] ** 2) for d in (start, learned))
    assert after < 0.2 * before


def test_friction_by_load_and_by_position_is_found(arm):
    n = arm.n_joints
    model = RigidBodyModel(arm)

    def torque(X):
        load = rigid_torque(model, X)
        sign = np.tanh(X[:, n : 2 * n] / 0.03)
        return load + sign * (0.05 * np.abs(load) + 0.2 * np.sin(9.0 * X[:, :n]))

    X, test = motion(n, 4000, 12), motion(n, 300, 13)
    learned = IdentifiedDynamics.from_description(arm).updated(X, torque(X), np.ones(4000))
    error = learned.predict(test).mean - torque(test)
    assert np.all(np.sqrt(np.mean(error**2, axis=0)) < 0.02)


def test_each_joint_has_columns_for_what_acts_on_it_alone(arm):
    n = arm.n_joints
    indices = parameter_indices(n)
    assert indices.shape == (n, n_columns(n))
    assert set(indices.ravel()) == set(range(n_parameters(n)))
    shared = set(indices[0]).intersection(*indices[1:])
    assert len(shared) == n_columns(n) - N_OF_JOINT


def test_a_description_without_inertial_parameters_is_enough(arm, samples):
    start = IdentifiedDynamics.from_description(arm)
    bare = replace(start, inertial_prior=np.zeros_like(start.inertial_prior))
    X, Y = samples
    error = bare.updated(X, Y, np.ones(len(X))).predict(X).mean - Y
    assert np.all(np.mean(error**2, axis=0) < 0.01 * Y.var(axis=0) + 0.01)
