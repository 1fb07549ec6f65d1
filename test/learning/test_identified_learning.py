# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""The learner with a robot: local models with identified dynamics behind them."""

from dataclasses import replace

import numpy as np
import pytest

from ilr_dynamics.exceptions import InvalidDataError, LearnerError, RobotDescriptionError
from ilr_dynamics.learning import LearningSettings
from ilr_dynamics.learning.learn import learn
from ilr_dynamics.learning.learned_recording import (
    LearnedRecording,
    learned_recordings,
    remember,
)
from ilr_dynamics.recording import Samples
from ilr_dynamics.robot.description import load_description
from ilr_dynamics.robot.rigid_body import RigidBodyModel

JOINTS = ("j1", "j2", "j3", "j4")
SETTINGS = LearningSettings(JOINTS, model={"n_components": 5}, robot="wam4")


@pytest.fixture(scope="module")
def samples():
    generator = np.random.default_rng(0)
    X = generator.normal(size=(300, 12)) * 0.3
    model = RigidBodyModel(load_description("wam4"))
    Y = np.array([model.inverse_dynamics(x[:4], x[4:8], x[8:]) for x in X])
    return Samples(np.arange(300.0), X, Y, JOINTS, False, {})


def test_far_from_all_data_it_speaks_as_rigid_bodies_do(samples):
    model, _ = learn(samples, SETTINGS)
    far = 50.0 * samples.X[:5]
    expected = [
        RigidBodyModel(load_description("wam4")).inverse_dynamics(x[:4], x[4:8], x[8:])
        for x in far
    ]
    np.testing.assert_allclose(model.predict(far), expected, rtol=0.02, atol=1.0)


def test_without_a_robot_there_is_no_global_model(samples):
    model, _ = learn(samples, replace(SETTINGS, robot=None))
    assert model.global_model_ is None


def seen(model):
    """Sum of the sample weights (n,) of all that was learned."""
    return np.sum(model.global_model_.noise.sums[:2], axis=0)


def doubt(model, X):
    return np.sqrt(np.mean(model.global_model_.predict(X).doubt))


def test_later_recordings_inform_it_too(samples):
    first, second = (
        replace(samples, time=samples.time[rows], X=samples.X[rows], Y=samples.Y[rows])
        for rows in (slice(0, 150), slice(150, 300))
    )
    model, _ = learn(first, SETTINGS)
    newer, _ = learn(second, SETTINGS, model)
    np.testing.assert_allclose(seen(model), 150.0)
    np.testing.assert_allclose(seen(newer), 300.0)
    # At states that are not near the earlier ones: they count in full.
    assert np.all(newer.global_model_.weight > 1.9 * model.global_model_.weight)
    assert doubt(newer, samples.X) < doubt(model, samples.X)


def test_a_recording_learned_again_informs_it_no_more(samples):
    model, _ = learn(samples, SETTINGS)
    model.metadata_ = remember(model.metadata_, "abc", LearnedRecording("run1", 300, {}, None))
    newer, _ = learn(samples, SETTINGS, model)
    assert not learned_recordings(newer.metadata_)["abc"].before_change
    np.testing.assert_allclose(seen(newer), 600.0)
    np.testing.assert_allclose(newer.global_model_.representatives.mass.sum(), 600.0)
    # Two samples of share s in common count 2 / (1 + s): at most a tenth more with s = 0.9.
    ratio = newer.global_model_.weight / model.global_model_.weight
    assert np.all((ratio > 0.9) & (ratio < 1.1))


def test_a_driver_that_carries_the_weight_leaves_none_to_the_model(samples):
    light = replace(samples, driver_compensates_gravity=True, Y=0.0 * samples.Y)
    model, _ = learn(light, replace(SETTINGS, driver_compensates_gravity=True))
    assert not np.any(model.global_model_.gravity)


def test_queries_as_far_as_allowed_have_finite_deviations_and_farther_ones_are_refused(samples):
    model, _ = learn(samples, SETTINGS)
    predictor, directions = model.predictor(), np.random.default_rng(0).normal(size=(20, 12))
    for direction in directions / np.abs(directions).max(axis=1, keepdims=True):
        found = predictor.query(1e29 * direction)
        assert np.isfinite([*found.mean, *found.std, *found.doubt]).all()
        with pytest.raises(InvalidDataError, match="less than 1e.30 scales from the location"):
            predictor.query(1e80 * direction)


def test_another_number_of_joints_and_unknown_robots_are_refused(samples):
    with pytest.raises(LearnerError, match="7 joints, expected 4"):
        learn(samples, replace(SETTINGS, robot="wam7"))
    with pytest.raises(RobotDescriptionError, match="unknown robot"):
        learn(samples, replace(SETTINGS, robot="puma"))


def test_what_one_update_forgets_the_next_one_keeps(samples):
    model, _ = learn(samples, SETTINGS)
    forgetting = replace(SETTINGS, model={**SETTINGS.model, "forgetting_factor": 0.01})
    changed, _ = learn(samples, forgetting, model)
    np.testing.assert_allclose(seen(changed), 0.01 * 300.0 + 300.0)
    assert changed.global_model_.representatives.mass.sum() == pytest.approx(303.0)
    newer, _ = learn(samples, SETTINGS, changed)
    np.testing.assert_allclose(seen(newer), seen(changed) + 300.0)
    assert newer.global_model_.representatives.mass.sum() == pytest.approx(603.0)


def test_an_update_that_decides_tells_what_has_changed(samples):
    deciding = replace(SETTINGS, model={**SETTINGS.model, "forgetting_factor": "auto"})
    model, report = learn(samples, deciding)
    assert (report.change, report.forgotten) == ("", {})
    model.metadata_ = remember(model.metadata_, "abc", LearnedRecording("run1", 300, {}, None))
    again = replace(samples, X=1.1 * samples.X[::-1])
    rough = np.array([0.0, 0.0, 0.0, 3.0]) * np.tanh(again.X[:, 4:8] / 0.03)
    changed, report = learn(with_torques(again, rough), deciding, model)
    # Whether corrections by local models, of nearly nothing here, fit too is left to rounding.
    assert set(report.forgotten) - {"local models of output 4"} == {"friction of joint 4"}
    # What such a recording is off by tells nothing of how far the next one will be.
    assert changed.spread_factors_ == model.spread_factors_
    assert "friction of joint 4 (" in report.change
    # Which recordings were learned before, for who wants one of them back.
    assert [old.before_change for old in learned_recordings(changed.metadata_).values()] == [True]


def with_torques(samples, friction=0.0):
    """Samples with the torques of the described bodies and some friction, Nm."""
    model = RigidBodyModel(load_description("wam4"))
    Y = np.array([model.inverse_dynamics(x[:4], x[4:8], x[8:]) for x in samples.X])
    return replace(samples, Y=Y + friction)


def test_torques_are_scaled_as_stated_where_nothing_is_left_to_be_learned(samples):
    stated = {**SETTINGS.model, "output_scale": [4.0, 8.0, 2.0, 2.0]}
    model, _ = learn(samples, replace(SETTINGS, model={**stated, "learn_residual": False}))
    np.testing.assert_array_equal(model.output_scaling_.scale, stated["output_scale"])
