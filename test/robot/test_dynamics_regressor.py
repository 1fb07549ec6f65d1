# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
from copy import deepcopy
from dataclasses import replace

import numpy as np
import pinocchio
import pytest

from ilr_dynamics.robot.description import load_description
from ilr_dynamics.robot.dynamics_regressor import n_columns
from ilr_dynamics.robot.dynamics_terms import FRICTION_SPEEDS, N_WAVES, SIGN_SPEED
from ilr_dynamics.robot.identified_dynamics import IdentifiedDynamics


@pytest.fixture(scope="module", params=["wam4", "wam7"])
def dynamics(request):
    return IdentifiedDynamics.from_description(load_description(request.param))


@pytest.fixture(scope="module")
def regressor(dynamics):
    return dynamics.regressor


@pytest.fixture(scope="module")
def X(dynamics):
    X = np.random.default_rng(0).normal(size=(20, 3 * dynamics.n_joints))
    X[10:, dynamics.n_joints : 2 * dynamics.n_joints] *= 0.02
    return X


def rigid_bodies(regressor):
    """Pinocchio's model of the same joints; the masses of its bodies do not matter."""
    model = pinocchio.Model()
    model.gravity.linear = regressor.gravity
    for joint, placement in enumerate(regressor.placements):
        axis = pinocchio.JointModelRevoluteUnaligned(regressor.axes[joint])
        parent = model.addJoint(joint, axis, pinocchio.SE3(placement), f"joint{joint + 1}")
        model.appendBodyToJoint(parent, pinocchio.Inertia.Zero(), pinocchio.SE3.Identity())
    return model


def columns_of_joint(regressor, x, joint):
    """What the documentation of the module says, term by term."""
    n = regressor.n_joints
    q, qd, qdd = x[:n], x[n : 2 * n], x[2 * n :]
    model = rigid_bodies(regressor)
    bodies = pinocchio.computeJointTorqueRegressor(model, model.createData(), q, qd, qdd)[joint]
    accelerations, speeds = regressor.motors @ qdd, regressor.motors @ qd
    signs = [np.tanh(speeds / speed) for speed in FRICTION_SPEEDS]
    of_motors = [terms * regressor.motors[:, joint] for terms in (accelerations, speeds, *signs)]
    angle, speed = q[joint], qd[joint]
    waves = [wave(h * angle) for wave in (np.sin, np.cos) for h in range(1, N_WAVES + 1)]
    sign = np.tanh(speed / SIGN_SPEED)
    own = [np.tanh(speed / slow) for slow in FRICTION_SPEEDS]
    own += [1.0, angle, angle**2, np.sin(angle), np.cos(angle)]
    load = abs(bodies @ regressor.inertial.ravel())
    return np.concatenate([bodies, *of_motors, own, [sign * load], sign * np.array(waves)])


def test_columns_are_the_terms_of_the_formula(regressor, X):
    expected = [
        [columns_of_joint(regressor, x, joint) for joint in range(regressor.n_joints)] for x in X
    ]
    np.testing.assert_allclose(regressor(X), expected, rtol=1e-12, atol=1e-12)


def test_one_sample_after_the_other_has_the_columns_of_all_at_once(regressor, X):
    single = [regressor(x[None]) for x in X]
    np.testing.assert_allclose(np.concatenate(single), regressor(X), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(
    "change",
    [
        {"axes": np.zeros((2, 3))},
        {"placements": np.zeros(5)},
        {"motors": np.zeros((1, 1))},
        {"gravity": np.zeros(3, dtype=np.float32)},
    ],
    ids=str,
)
def test_arrays_that_make_no_arm_are_refused(regressor, X, change):
    with pytest.raises(ValueError, match=next(iter(change))):
        replace(regressor, **change)(X)


def test_arrays_that_do_not_fit_are_refused(regressor, X):
    n, compiled = regressor.n_joints, regressor._compiled
    with pytest.raises(ValueError, match="X"):
        compiled.fill(np.ones(3 * n + 1), np.empty((1, n, n_columns(n))))
    with pytest.raises(ValueError, match="columns"):
        compiled.fill(X, np.empty((1, n, n_columns(n))))
    with pytest.raises(ValueError, match="covariance"):
        wrong = np.zeros((n, 3, 3)), np.empty((20, n)), np.empty((20, n))
        compiled.predict(X, np.zeros((n, n_columns(n))), *wrong)
    with pytest.raises((TypeError, ValueError, BufferError)):
        compiled.fill(X[:, ::-1], None)


def test_a_copy_of_one_that_was_used_is_as_good(regressor, X):
    regressor(X[:1])
    np.testing.assert_array_equal(deepcopy(regressor)(X[1:2]), regressor(X[1:2]))


def test_the_doubt_is_that_of_the_whole_covariance(dynamics, regressor, X):
    learned = dynamics.updated(X, X[:, : dynamics.n_joints], np.ones(len(X)))
    arrays = learned.arrays()
    columns = regressor(X)
    doubt = np.einsum("tjp,jpq,tjq->tj", columns, arrays["posterior_covariance"], columns)
    found = learned.predict(X)
    np.testing.assert_allclose(found.doubt, doubt, rtol=1e-9)
    # Of each torque by itself; what all have in common is not widened.
    np.testing.assert_array_equal(found.factor, 1.0)
    for row, x in enumerate(X):
        np.testing.assert_allclose(learned.predict(x[None]).doubt[0], doubt[row], rtol=1e-9)
