# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""What identified dynamics forget of an arm that has changed, and what they keep."""

from dataclasses import replace

import numpy as np
import pytest
from identification import motion, rigid_torque

from ilr_dynamics.robot.change_groups import change_groups
from ilr_dynamics.robot.description import load_description
from ilr_dynamics.robot.identified_dynamics import IdentifiedDynamics
from ilr_dynamics.robot.payload import Payload
from ilr_dynamics.robot.payload_dynamics import PayloadDynamics
from ilr_dynamics.robot.rigid_body import RigidBodyModel

NOISE = 0.1
PAYLOAD = Payload(0.5, np.array([0.02, -0.01, 0.05]), np.array([1e-3, 0.0, 0.0, 1e-3, 0.0, 1e-3]))


@pytest.fixture(scope="module")
def wam4():
    return load_description("wam4")


@pytest.fixture(scope="module")
def learned(wam4):
    """Dynamics that have learned the arm as it was."""
    return updated(IdentifiedDynamics.from_description(wam4), *drawn(wam4, 1000, 0))


def drawn(arm, n, seed, friction=1.0, payload=None):
    """Inputs and torques of an arm with this friction, Nm, in its joints."""
    X = motion(arm.n_joints, n, seed)
    Y = rigid_torque(RigidBodyModel(arm), X)
    Y += friction * np.tanh(X[:, arm.n_joints : 2 * arm.n_joints] / 0.03)
    if payload is not None:
        torque = PayloadDynamics(arm).torque_of(payload)
        Y += [torque(*np.split(x, 3)) for x in X]
    return X, Y + NOISE * np.random.default_rng(seed + 1).normal(size=Y.shape)


def updated(known, X, Y):
    return known.updated(X, Y, np.ones(len(X)))


def adapted(known, X, Y):
    return known.adapted(X, Y, np.ones(len(X)))


def std(dynamics):
    """Deviations of the parameters, with scales of the prior that are the same for all."""
    alike = replace(dynamics, prior_scales=np.ones_like(dynamics.prior_scales))
    return np.sqrt(np.diagonal(np.linalg.inv(alike.parameter_precision)))


def frictions(dynamics):
    """Groups of friction of the joints, and of motors that turn several."""
    parameters = dynamics.parameters
    return change_groups(dynamics.motors, dynamics.tool, parameters, np.ones_like(parameters))[1:]


def rms(dynamics, X, Y):
    return np.sqrt(np.mean((dynamics.expected(X) - Y) ** 2, axis=0))


def test_an_arm_that_has_not_changed_is_updated_as_ever(wam4, learned):
    new = drawn(wam4, 300, 2)
    known, change = adapted(learned, *new)
    assert change.forgotten == {}
    assert change.log_odds < 0.0
    assert "nothing has changed" in str(change)
    for name, array in updated(learned, *new).arrays().items():
        np.testing.assert_array_equal(known.arrays()[name], array, err_msg=name)


def test_friction_of_one_joint_is_found_and_the_others_are_as_well_known_as_without(wam4, learned):
    rough = np.array([1.0, 1.0, 1.0, 2.0])
    new = drawn(wam4, 300, 2, friction=rough)
    known, change = adapted(learned, *new)
    assert list(change.forgotten) == ["friction of joint 4"]
    assert change.forgotten["friction of joint 4"] > 0.9
    assert change.outputs == (3,)
    own = frictions(learned)[3].parameters
    others = np.setdiff1d(np.arange(own.max() + 1), own)
    never = updated(learned, *new)
    assert np.all(std(known)[others] < 1.02 * std(never)[others])
    test = drawn(wam4, 300, 4, friction=rough)
    assert rms(known, *test)[3] < 0.5 * rms(never, *test)[3]
    assert np.all(rms(known, *test)[:3] < 1.05 * rms(never, *test)[:3])


def test_a_payload_is_found_and_friction_as_well_known_as_without(wam4, learned):
    new = drawn(wam4, 300, 2, payload=PAYLOAD)
    known, change = adapted(learned, *new)
    assert list(change.forgotten) == ["payload"]
    assert change.outputs == (0, 1, 2, 3)
    never = updated(learned, *new)
    for group in frictions(learned):
        own = group.parameters
        assert np.all(std(known)[own] < 1.02 * std(never)[own])
    test = drawn(wam4, 300, 4, payload=PAYLOAD)
    assert np.all(rms(known, *test) < rms(never, *test))


def test_payload_and_friction_of_all_joints_at_once(wam4, learned):
    new = drawn(wam4, 300, 2, friction=2.0, payload=PAYLOAD)
    known, change = adapted(learned, *new)
    expected = ["payload", *(f"friction of joint {joint}" for joint in (1, 2, 3, 4))]
    assert [name for name in expected if name in change.forgotten] == expected
    test = drawn(wam4, 300, 4, friction=2.0, payload=PAYLOAD)
    np.testing.assert_allclose(rms(known, *test), NOISE, rtol=0.6)


def test_torques_of_another_arm_altogether_are_everything(wam4, learned):
    X, Y = drawn(wam4, 300, 2)
    known, change = adapted(learned, X, 2.0 * Y)
    assert "everything" in change.forgotten
    assert np.all(rms(known, X, 2.0 * Y) < 3.0 * 2.0 * NOISE)


def test_what_was_known_before_a_change_is_not_forgotten_by_the_next_update(wam4, learned):
    known, _ = adapted(learned, *drawn(wam4, 300, 2, friction=2.0))
    newer, change = adapted(known, *drawn(wam4, 300, 6, friction=2.0))
    assert change.forgotten == {}
    well_known = std(known) < 0.5 * std(IdentifiedDynamics.from_description(wam4))
    assert np.all(std(newer)[well_known] < 1.02 * std(known)[well_known])


def test_before_any_sample_nothing_can_have_changed(wam4):
    start = IdentifiedDynamics.from_description(wam4)
    known, change = adapted(start, *drawn(wam4, 100, 2))
    assert change.forgotten == {}
    assert np.all(known.weight > 0.0)
    same, _ = known.adapted(*drawn(wam4, 10, 3), np.zeros(10))
    assert same is known


def test_knowledge_from_before_a_change_is_stored_and_weighs_less_if_discounted(wam4, learned):
    known, _ = adapted(learned, *drawn(wam4, 300, 2, friction=2.0))
    assert np.any(known.earlier.precision)
    again = IdentifiedDynamics.from_arrays(known.arrays())
    X, _ = drawn(wam4, 20, 8)
    np.testing.assert_array_equal(again.expected(X), known.expected(X))
    np.testing.assert_array_equal(again.earlier.pull, known.earlier.pull)
    half = known.discounted(0.5)
    np.testing.assert_allclose(half.earlier.precision, 0.5 * known.earlier.precision)
    assert not np.any(known.discounted(0.0).earlier.precision)


def test_files_from_before_there_was_such_knowledge_have_none(wam4, learned):
    later = ("earlier_precision", "earlier_pull", "tool")
    arrays = {n: a for n, a in learned.arrays().items() if n not in later}
    former = IdentifiedDynamics.from_arrays(arrays)
    X, _ = drawn(wam4, 20, 8)
    np.testing.assert_array_equal(former.expected(X), learned.expected(X))
    assert not np.any(former.earlier.precision)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_stored_knowledge_that_is_not_finite_is_refused(learned, value):
    arrays = learned.arrays()
    broken = arrays["earlier_pull"].copy()
    broken[0] = value
    with pytest.raises(ValueError, match="earlier_pull"):
        IdentifiedDynamics.from_arrays({**arrays, "earlier_pull": broken})
    with pytest.raises(ValueError, match="earlier_precision"):
        IdentifiedDynamics.from_arrays({**arrays, "earlier_precision": np.eye(3)})


def test_the_dynamics_given_are_never_changed(wam4, learned):
    before = {name: array.copy() for name, array in learned.arrays().items()}
    adapted(learned, *drawn(wam4, 300, 2, friction=2.0))
    for name, array in learned.arrays().items():
        np.testing.assert_array_equal(array, before[name], err_msg=name)
    assert replace(learned).earlier is learned.earlier
