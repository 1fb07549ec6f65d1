# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from ilr_dynamics.cli.workspace_doubt import drawn_postures, workspace_doubt
from ilr_dynamics.regression import ILR
from ilr_dynamics.robot.description import load_description
from ilr_dynamics.robot.identified_dynamics import IdentifiedDynamics
from ilr_dynamics.robot.rigid_body import RigidBodyModel

ARM = load_description("wam4")


@pytest.fixture(scope="module")
def near_one_posture():
    """A model that has seen the arm move around one posture, and that posture."""
    random = np.random.default_rng(0)
    posture = 0.5 * (ARM.position_lower + ARM.position_upper)
    X = 0.2 * random.normal(size=(400, 12))
    X[:, :4] += posture
    start = IdentifiedDynamics.from_description(ARM)
    Y = 1.2 * start.expected(X) + 0.02 * random.normal(size=(400, 4))
    return ILR(3, global_model=start).fit(X, Y), posture


def test_doubt_and_place_are_those_of_each_posture(near_one_posture):
    model, _ = near_one_posture
    postures, done = drawn_postures(ARM, 16), []
    found = workspace_doubt(model, ARM, postures, done.append)
    rigid, predictor = RigidBodyModel(ARM), model.predictor()
    for row, posture in enumerate(postures):
        doubt = predictor.query(np.append(posture, np.zeros(8))).doubt
        np.testing.assert_array_equal(found.doubt[row], doubt)
        np.testing.assert_array_equal(found.tool[row], rigid.tool_position(posture))
        assert found.relative[row] == max(doubt / ARM.torque_limit)
    assert done == sorted(done) and done[-1] == 1.0


def test_a_model_is_surer_where_it_has_learned(near_one_posture):
    model, posture = near_one_posture
    (there,) = workspace_doubt(model, ARM, posture[None]).relative
    assert there < 0.5 * np.median(workspace_doubt(model, ARM, drawn_postures(ARM, 64)).relative)


def test_postures_fill_the_joint_limits():
    postures = drawn_postures(ARM, 256)
    assert np.all((ARM.position_lower <= postures) & (postures <= ARM.position_upper))
    width = ARM.position_upper - ARM.position_lower
    for edge in (ARM.position_lower, ARM.position_upper):
        assert np.all(np.min(np.abs(postures - edge), axis=0) < 0.02 * width)
    np.testing.assert_array_equal(postures, drawn_postures(ARM, 256))


def test_joints_without_limits_turn_once():
    free = replace(ARM, position_lower=np.full(4, -np.inf), position_upper=np.full(4, np.inf))
    postures = drawn_postures(free, 256)
    assert np.all(np.abs(postures) <= np.pi) and np.all(np.ptp(postures, axis=0) > 6.0)
