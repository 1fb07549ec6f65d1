# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
import copy
import pickle
from dataclasses import replace

import numpy as np
import pytest

from ilr_dynamics.exceptions import InvalidDataError
from ilr_dynamics.regression import ILR, Predictor, load_snapshot
from ilr_dynamics.robot.description import load_description
from ilr_dynamics.robot.dynamics_regressor import (
    N_OF_JOINT,
    n_columns,
    n_parameters,
    parameter_indices,
)
from ilr_dynamics.robot.identified_dynamics import IdentifiedDynamics
from ilr_dynamics.robot.rigid_body import RigidBodyModel


def motion(n_joints, n, seed):
    generator = np.random.default_rng(seed)
    spread = np.repeat([1.0, 0.7, 2.0], n_joints)
    return generator.normal(size=(n, 3 * n_joints)) * spread


def rigid_torque(model, X):
    n = model.n_joints
    return np.array([model.inverse_dynamics(x[:n], x[n : 2 * n], x[2 * n :]) for x in X])


@pytest.fixture(scope="module", params=["wam4", "wam7"])
def arm(request):
    return load_description(request.param)


@pytest.fixture(scope="module")
def rubbing(arm):
    """Torque of rigid bodies with twice the tool's share of mass and friction at the motors."""
    model = RigidBodyModel(arm)
    gears = arm.gear_matrix / np.linalg.norm(arm.gear_matrix, axis=1, keepdims=True)

    def torque(X):
        qd = X[:, arm.n_joints : 2 * arm.n_joints]
        friction = (1.0 * np.tanh(qd @ gears.T / 0.1) + 0.5 * qd @ gears.T) @ gears
        return 1.2 * rigid_torque(model, X) + friction

    return torque


@pytest.fixture(scope="module")
def samples(arm, rubbing):
    X = motion(arm.n_joints, 3000, 0)
    generator = np.random.default_rng(1)
    return X, rubbing(X) + 0.05 * generator.normal(size=(3000, arm.n_joints))


@pytest.fixture(scope="module")
def identified(arm, samples):
    return IdentifiedDynamics.from_description(arm).updated(*samples, np.ones(3000))


def test_before_any_data_it_is_the_descriptions_rigid_body(arm):
    X = motion(arm.n_joints, 20, 0)
    prediction = IdentifiedDynamics.from_description(arm).predict(X)
    np.testing.assert_allclose(
        prediction.mean, rigid_torque(RigidBodyModel(arm), X), rtol=1e-9, atol=1e-9
    )
    assert np.all(prediction.factor > 1.0)


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
    std = np.sqrt(variance * prediction.factor[:, None])
    assert np.mean(np.abs(Y - prediction.mean) < 1.96 * std) == pytest.approx(0.95, abs=0.03)


def test_parts_add_up_weights_repeat_and_nothing_is_left_after_forgetting(arm, rubbing):
    X = motion(arm.n_joints, 200, 5)
    Y = rubbing(X)
    start = IdentifiedDynamics.from_description(arm)
    whole = start.updated(X, Y, np.ones(200))
    parts = start.updated(X[:80], Y[:80], np.ones(80)).updated(X[80:], Y[80:], np.ones(120))
    np.testing.assert_allclose(parts.gram, whole.gram, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(parts.parameters, whole.parameters, rtol=1e-5, atol=1e-6)
    twice = start.updated(X, Y, np.full(200, 2.0))
    repeated = whole.updated(X, Y, np.ones(200))
    np.testing.assert_allclose(twice.gram, repeated.gram, rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(whole.discounted(0.0).parameters, start.parameters)


def test_arrays_lead_back_to_the_same_bits(arm, identified):
    X = motion(arm.n_joints, 10, 6)
    again = IdentifiedDynamics.from_arrays(identified.arrays())
    np.testing.assert_array_equal(again.predict(X).mean, identified.predict(X).mean)
    assert again.dof == identified.dof


@pytest.mark.parametrize(
    "copied", [copy.copy, copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))]
)
def test_copies_and_later_queries_leave_earlier_answers_as_they_were(arm, identified, copied):
    X = motion(arm.n_joints, 3, 10)
    mean, factor = identified.expected(X[:1]), identified.predict(X[:1]).factor
    kept = mean.copy(), factor.copy()
    twin = copied(identified)
    for _ in range(2):
        np.testing.assert_array_equal(twin.expected(X[:1]), kept[0])
        np.testing.assert_array_equal(twin.predict(X[:1]).factor, kept[1])
        # One row, so that both would use their scratch memory.
        identified.predict(X[1:2])
        twin.predict(X[2:3])
    np.testing.assert_array_equal(mean, kept[0])
    np.testing.assert_array_equal(factor, kept[1])


def test_what_is_taken_from_arrays_predicts_without_solving(arm, identified, monkeypatch):
    again = IdentifiedDynamics.from_arrays(identified.arrays())

    def fail(*_):
        raise AssertionError("solved for the parameters")

    monkeypatch.setattr("ilr_dynamics.robot.identified_dynamics.parameter_posterior", fail)
    X = motion(arm.n_joints, 3, 9)
    assert np.all(np.isfinite(again.predict(X).mean))
    # Learning on starts from the sums.
    with pytest.raises(AssertionError, match="solved"):
        again.updated(X, np.zeros((3, arm.n_joints)), np.ones(3))


@pytest.mark.parametrize(
    "name", ["gram", "motors", "moments", "weight", "posterior_covariance", "posterior_noise"]
)
def test_arrays_that_do_not_fit_are_refused(identified, name):
    arrays = identified.arrays()
    for wrong in (np.zeros((2, 2, 2, 2)), np.full(np.shape(arrays[name]), np.nan)):
        with pytest.raises(ValueError, match=name):
            IdentifiedDynamics.from_arrays({**arrays, name: wrong})


def test_inputs_of_another_arm_are_refused(identified):
    with pytest.raises(InvalidDataError, match="qdd"):
        identified.predict(np.zeros((1, 5)))


def test_a_description_without_motors_has_one_at_each_joint(arm):
    alone = IdentifiedDynamics.from_description(replace(arm, gear_matrix=None))
    np.testing.assert_array_equal(alone.motors, np.eye(arm.n_joints))


def test_a_mixture_falls_back_on_it_and_keeps_it_in_its_files(arm, rubbing, tmp_path):
    X = motion(arm.n_joints, 300, 7)
    identified = IdentifiedDynamics.from_description(arm)
    model = ILR(n_components=5, global_model=identified).fit(X, rubbing(X))
    far = 100.0 * motion(arm.n_joints, 5, 8)
    np.testing.assert_allclose(
        model.predict(far), model.global_model_.predict(far).mean, rtol=1e-6
    )
    model.save(tmp_path / "model.npz")
    loaded = load_snapshot(tmp_path / "model.npz")
    np.testing.assert_array_equal(loaded.predict(far), model.predict(far))
    model.predictor().save(tmp_path / "predictor")
    mean, std = Predictor.open(tmp_path / "predictor")(far[0])
    expected, expected_std = model.predict(far[:1], return_std=True)
    np.testing.assert_allclose(mean, expected[0], rtol=1e-9)
    np.testing.assert_allclose(std, expected_std[0], rtol=1e-9)


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


def test_a_loaded_model_with_identified_dynamics_computes_the_same_bits(arm, samples, tmp_path):
    X, Y = samples
    model = ILR(5, global_model=IdentifiedDynamics.from_description(arm)).fit(X, Y)
    model.save(tmp_path / "model.npz")
    loaded = load_snapshot(tmp_path / "model.npz")
    of_both = (m.predict(X[:50], return_std=True) for m in (loaded, model))
    for found, expected in zip(*of_both, strict=True):
        np.testing.assert_array_equal(found, expected)


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
    np.testing.assert_allclose(both.uninformative_variance, 0.25 * 3.0, rtol=0.15)
    assert np.all(identified.uninformative_variance < 0.02)
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


def test_arrays_of_an_earlier_version_are_told_apart_from_damaged_ones(identified):
    arrays = {name: array for name, array in identified.arrays().items() if name != "seen"}
    with pytest.raises(ValueError, match="earlier version"):
        IdentifiedDynamics.from_arrays(arrays)
