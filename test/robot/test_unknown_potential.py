# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""An unknown potential: its torques, its prior, and when torques tell of it."""

from dataclasses import replace

import numpy as np
import pytest
import yaml
from identification import motion, rigid_torque

from ilr_dynamics.regression import ILR, load_snapshot
from ilr_dynamics.robot.arm_export import ArmExport
from ilr_dynamics.robot.arm_hypotheses import with_potential, without_potential
from ilr_dynamics.robot.description import load_description
from ilr_dynamics.robot.dynamics_regressor import n_columns, n_parameters
from ilr_dynamics.robot.export_yaml import exported_yaml
from ilr_dynamics.robot.identified_dynamics import IdentifiedDynamics
from ilr_dynamics.robot.parameter_prior import parameter_prior
from ilr_dynamics.robot.rigid_body import RigidBodyModel
from ilr_dynamics.robot.unknown_potential import LENGTH, potential_frequencies

HEIGHT, WIDTH = 3.0, 0.8


@pytest.fixture(scope="module")
def arm():
    return load_description("wam4")


@pytest.fixture(scope="module")
def start(arm):
    return IdentifiedDynamics.from_description(arm)


@pytest.fixture(scope="module")
def rigid(arm):
    return RigidBodyModel(arm)


def hill(q):
    """Torque (m, n) of a potential that has a hill at zero, Nm."""
    energy = HEIGHT * np.exp(-0.5 * np.sum(q**2, axis=1) / WIDTH**2)
    return -energy[:, None] * q / WIDTH**2


def postures(arm, n, seed):
    """Inputs all over a region, in which every posture is passed in all directions."""
    return 0.7 * motion(arm.n_joints, n, seed)


def noise(X, seed):
    n = X.shape[1] // 3
    return 0.1 * np.random.default_rng(seed).normal(size=(len(X), n))


@pytest.fixture(scope="module")
def pulled(arm, start, rigid):
    X = postures(arm, 600, 0)
    Y = rigid_torque(rigid, X) + hill(X[:, : arm.n_joints]) + noise(X, 1)
    return start.updated(X, Y, np.ones(len(X)))


def test_its_columns_are_slopes_of_cosines_and_sines(arm, start):
    n = arm.n_joints
    frequencies = potential_frequencies(n)
    X, step = motion(n, 5, 3), 1e-6
    found = replace(start, frequencies=frequencies).regressor(X)[:, :, n_columns(n) :]

    def energies(q):
        phase = q @ frequencies.T
        return np.hstack([np.cos(phase), np.sin(phase)])

    for joint, unit in enumerate(np.eye(n)):
        moved = [energies(X[:, :n] + sign * step * unit) for sign in (1.0, -1.0)]
        slopes = (moved[0] - moved[1]) / (2.0 * step)
        np.testing.assert_allclose(found[:, joint], slopes, atol=1e-8)


def test_columns_of_the_arm_are_as_without(arm, start):
    X = motion(arm.n_joints, 5, 3)
    with_it = replace(start, frequencies=potential_frequencies(arm.n_joints)).regressor(X)
    np.testing.assert_array_equal(with_it[:, :, : n_columns(arm.n_joints)], start.regressor(X))


@pytest.mark.parametrize("n_joints", [1, 2, 4, 7])
def test_frequencies_are_those_of_the_kernel(n_joints):
    """Their characteristic function is the correlation, to the error of a mean of so many."""
    frequencies = potential_frequencies(n_joints)
    lag = np.random.default_rng(0).normal(size=(20, n_joints)) * 0.5 / np.sqrt(n_joints)
    found = np.mean(np.cos(lag @ frequencies.T), axis=1)
    expected = np.exp(-0.5 * np.sum(lag**2, axis=1) / LENGTH**2)
    np.testing.assert_allclose(found, expected, atol=1.0 / np.sqrt(len(frequencies)))
    np.testing.assert_array_equal(frequencies, potential_frequencies(n_joints))


def test_beforehand_its_torque_has_a_deviation_of_one_newton_metre(arm, start):
    n, frequencies = arm.n_joints, potential_frequencies(arm.n_joints)
    scales = np.append(start.prior_scales, 1.0)
    _, precision = parameter_prior(start.inertial_prior, scales, frequencies)
    columns = replace(start, frequencies=frequencies).regressor(motion(n, 50, 4))
    variance = np.sum(columns[:, :, n_columns(n) :] ** 2 / precision[n_parameters(n) :], axis=2)
    assert np.mean(variance) == pytest.approx(1.0, rel=1e-9)


def test_a_potential_that_pulls_is_found_and_predicted(arm, rigid, pulled):
    assert len(pulled.frequencies)
    X = postures(arm, 300, 2)
    expected = rigid_torque(rigid, X) + hill(X[:, : arm.n_joints])
    error, size = pulled.expected(X) - expected, np.std(hill(X[:, : arm.n_joints]))
    assert np.sqrt(np.mean(error**2)) < 0.35 * size


def test_noise_so_far_is_less_once_it_is_found(arm, start, rigid):
    """Of samples that are too few to tell of it, its torque is noise."""
    X = postures(arm, 350, 0)
    Y = rigid_torque(rigid, X) + hill(X[:, : arm.n_joints]) + noise(X, 1)
    few = start.updated(X[:100], Y[:100], np.ones(100))
    assert not len(few.frequencies)
    more = few.updated(X[100:], Y[100:], np.ones(250))
    assert len(more.frequencies)
    deviations = [np.sqrt(np.mean(known.noise.of_slipping)) for known in (few, more)]
    assert deviations[0] > 0.3
    assert deviations[1] < 0.22


def test_where_nothing_was_recorded_it_is_in_doubt(arm, pulled):
    n = arm.n_joints
    near = np.zeros((200, 3 * n))
    near[:, :n] = postures(arm, 200, 2)[:, :n]
    far = near.copy()
    far[:, :n] += 4.0
    doubts = [np.median(pulled.predict(X).doubt) for X in (near, far)]
    assert doubts[1] > 10.0 * doubts[0]


@pytest.mark.parametrize("seed", range(2))
def test_an_arm_that_nothing_pulls_at_has_none(arm, start, rigid, seed):
    X = postures(arm, 600, seed)
    learned = start.updated(X, rigid_torque(rigid, X) + noise(X, seed), np.ones(len(X)))
    assert not len(learned.frequencies)


def test_friction_along_a_closed_motion_is_not_taken_for_one(arm, start, rigid):
    """Each posture is passed in one direction, so that a potential explains it as well."""
    phase = 2.0 * np.pi * np.arange(1500)[:, None] / 300.0
    order, shift = np.array([1.0, 2.0, 1.0, 2.0]), np.array([0.0, 0.5, 1.5, 1.0])
    q = 0.4 * np.sin(order * phase + shift)
    qd = 0.4 * order * np.cos(order * phase + shift) * 2.0
    X = np.hstack([q, qd, -(4.0 * order**2) * q])
    worn = np.sign(qd) * (1.0 + 0.5 * np.cos(3.0 * q + 2.0 * np.roll(q, 1, axis=1)))
    Y = rigid_torque(rigid, X) + worn + noise(X, 5)
    learned = start.updated(X, Y, np.ones(len(X)))
    assert not len(learned.frequencies)


@pytest.mark.parametrize(("size", "seed"), [(0.3, 0), (0.5, 1), (0.7, 3)])
def test_eights_are_not_asked_whether_something_pulls(arm, start, rigid, size, seed):
    """Torques elsewhere would not be known better, only surer."""
    order = np.array([1.0, 2.0, 1.0, 2.0])
    shift = np.random.default_rng(seed).uniform(0.0, 2.0 * np.pi, 4)
    phase = 0.05 * order * np.arange(600)[:, None] + shift
    q, qd = size * np.sin(phase), 0.5 * size * order * np.cos(phase)
    X = np.hstack([q, qd, -0.25 * order**2 * q])
    Y = rigid_torque(rigid, X) + hill(q) + noise(X, 5)
    assert not len(start.updated(X, Y, np.ones(len(X))).frequencies)


def test_sums_of_one_that_is_let_go_are_those_without(pulled):
    n = pulled.n_joints
    free = without_potential(pulled)
    np.testing.assert_array_equal(free.gram, pulled.gram[:, : n_columns(n), : n_columns(n)])
    assert free.predict(np.zeros((1, 3 * n))).mean.shape == (1, n)
    again = with_potential(free)
    # Sums over what stands for all, by as much as all count.
    np.testing.assert_array_equal(again.weight, pulled.weight)
    np.testing.assert_allclose(np.trace(again.gram[0]), np.trace(pulled.gram[0]), rtol=0.1)


def test_of_nothing_is_known_nothing_pulls(start, pulled):
    again = pulled.discounted(0.0)
    assert not len(again.frequencies)
    np.testing.assert_array_equal(again.prior_scales, start.prior_scales)


def test_what_was_learned_before_a_change_counts_once(pulled):
    """It is in no sum any more, and a potential does not bring it back."""
    free = without_potential(pulled)
    changed = replace(
        free,
        earlier=free._information(),
        gram=np.zeros_like(free.gram),
        pull=np.zeros_like(free.pull),
        energy=free._parameters.noise * free.weight,
    )
    again = with_potential(changed)
    assert not again.gram.any()
    assert not again.pull.any()
    np.testing.assert_array_equal(again.weight, free.weight)
    found, expected = again._parameters, changed._parameters
    np.testing.assert_allclose(found.noise, expected.noise)
    np.testing.assert_allclose(found.mean[: len(expected.mean)], expected.mean, atol=1e-9)


def test_what_was_known_before_a_change_tells_nothing_of_it(pulled):
    n, size = pulled.n_joints, len(pulled.parameters)
    known = pulled._information()
    fewer = known.of_first(n_parameters(n))
    np.testing.assert_array_equal(fewer.pull, known.pull[: n_parameters(n)])
    more = fewer.of_first(size)
    assert not more.precision[n_parameters(n) :].any()
    np.testing.assert_array_equal(
        more.precision[: n_parameters(n), : n_parameters(n)], fewer.precision
    )


def test_a_model_keeps_it_in_its_file(arm, start, rigid, pulled, tmp_path):
    X = postures(arm, 600, 0)
    Y = rigid_torque(rigid, X) + hill(X[:, : arm.n_joints]) + noise(X, 1)
    model = ILR(5, global_model=start, learn_residual=True).fit(X, Y)
    assert len(model.global_model_.frequencies)
    model.save(tmp_path / "model.npz")
    loaded = load_snapshot(tmp_path / "model.npz")
    np.testing.assert_array_equal(loaded.predict(X[:20]), model.predict(X[:20]))


def test_arrays_of_an_earlier_version_have_none(start):
    arrays = {name: array for name, array in start.arrays().items() if name != "frequencies"}
    assert len(IdentifiedDynamics.from_arrays(arrays).frequencies) == 0


def test_frequencies_that_do_not_fit_are_refused(pulled):
    arrays = pulled.arrays()
    # So many would need 300 GB, were arrays made to fit them.
    many, of_none = np.zeros((100_000, 4)), np.zeros((3_000_000, 0))
    fewer, unknown = arrays["frequencies"][:, :2], np.nan * arrays["frequencies"]
    for wrong in (fewer, unknown, np.zeros(3), np.zeros(()), of_none):
        with pytest.raises(ValueError, match="frequencies"):
            IdentifiedDynamics.from_arrays({**arrays, "frequencies": wrong})
    with pytest.raises(ValueError, match="shape"):
        IdentifiedDynamics.from_arrays({**arrays, "frequencies": many})


def test_it_is_in_the_yaml_of_an_export(arm, pulled):
    exported = ArmExport.of(pulled, arm)
    content = yaml.safe_load(exported_yaml(exported, "a note", {}))["potential"]
    frequencies, X = np.array(content["frequencies"]), postures(arm, 20, 6)
    phase, value = X[:, : arm.n_joints] @ frequencies.T, content["value"]
    slopes = np.cos(phase) * value["sines"] - np.sin(phase) * value["cosines"]
    np.testing.assert_allclose(slopes @ frequencies, exported.potential_torque(X), atol=1e-9)
    deviations = [*content["deviation"]["cosines"], *content["deviation"]["sines"]]
    np.testing.assert_array_equal(deviations, pulled.parameter_std[-len(deviations) :])
    rest = np.append(exported.parameters[: n_parameters(arm.n_joints)], np.zeros(len(deviations)))
    found = exported.torque(X) - exported.torque(X, rest)
    np.testing.assert_allclose(found, exported.potential_torque(X), atol=1e-9)
