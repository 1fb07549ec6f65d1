# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import copy
import math
import warnings
from dataclasses import replace

import numpy as np
import pytest

from ilr_dynamics.exceptions import (
    ConvergenceWarning,
    DoubtfulDataWarning,
    InvalidParameterError,
    RecordingError,
    SnapshotError,
)
from ilr_dynamics.learning import learn, load_compatible_snapshot, read_samples
from ilr_dynamics.learning.noted_warnings import noted_convergence
from ilr_dynamics.regression import ILR
from ilr_dynamics.regression.units.spread import SpreadFactors


def test_first_recording_makes_a_model_that_explains_it(bag, arm_settings):
    samples = read_samples(bag, arm_settings)
    model, report = learn(samples, arm_settings)
    assert report.samples_used == report.samples_total == samples.n_used
    assert report.samples_used + sum(report.rejected.values()) == 800
    assert (report.components_before, report.error_before) == (0, [])
    assert report.components_after == model.n_active_
    newest = slice(-math.ceil(samples.n_used / 10), None)
    error = np.mean((model.predict(samples.X[newest]) - samples.Y[newest]) ** 2, axis=0)
    assert (error < 0.02 * samples.Y[newest].var(axis=0)).all()


def test_second_recording_is_learned_on_top_of_the_first(
    bag, record_motion, arm_settings, tmp_path
):
    first, _ = learn(read_samples(bag, arm_settings), arm_settings, recordings=[bag])
    first.save(tmp_path / "first.npz")
    before = (tmp_path / "first.npz").read_bytes()
    wide = record_motion(amplitude=0.8)
    samples = read_samples(wide, arm_settings)
    known = load_compatible_snapshot(tmp_path / "first.npz", arm_settings)
    second, report = learn(samples, arm_settings, known, recordings=[wide])
    newest = slice(-math.ceil(samples.n_used / 10), None)
    error = np.mean((first.predict(samples.X[newest]) - samples.Y[newest]) ** 2, axis=0)
    np.testing.assert_allclose(report.error_before, error)
    assert (np.array(report.error_after) < np.array(report.error_before)).all()
    assert report.components_before == first.n_active_
    assert second.n_samples_ == report.samples_total == first.n_samples_ + report.samples_used
    assert second.metadata_["recordings"] == [str(bag), str(wide)]
    assert (tmp_path / "first.npz").read_bytes() == before


@pytest.mark.parametrize("of_left", [{"namespace": "/left", "prefix": "left_"}, {}])
def test_an_arm_learns_from_a_recording_of_another_alike(
    bag, record_motion, arm_settings, of_left
):
    right = record_motion(
        joints=("right_j1", "right_j2"),
        namespace="/right",
        notes={"namespace": "/right", "prefix": "right_"},
    )
    topics = {"state_topic": "joint_states", "command_topic": "joint_torque_command"}
    samples = read_samples(right, replace(arm_settings, **topics, **of_left))
    assert samples.joint_names == arm_settings.joint_names
    np.testing.assert_array_equal(samples.Y, read_samples(bag, arm_settings).Y)


def test_a_recording_without_notes_is_of_this_arm(bag, record_motion, arm_settings):
    left = record_motion(joints=("left_j1", "left_j2"), namespace="/left")
    topics = {"state_topic": "joint_states", "command_topic": "joint_torque_command"}
    settings = replace(arm_settings, **topics, namespace="/left", prefix="left_")
    samples = read_samples(left, settings)
    np.testing.assert_array_equal(samples.Y, read_samples(bag, arm_settings).Y)
    with pytest.raises(RecordingError, match="expected the topic /right/joint_states"):
        read_samples(left, replace(settings, namespace="/right"))


def test_update_is_judged_on_samples_it_has_not_learned(bag, arm_settings):
    samples = read_samples(bag, arm_settings)
    newest = slice(-math.ceil(samples.n_used / 10), None)
    spoilt = samples.Y.copy()
    spoilt[newest] += 7.0
    _, report = learn(replace(samples, Y=spoilt), arm_settings)
    assert (np.array(report.error_after) > 4.0**2).all()


def test_update_that_is_worse_says_so_and_one_that_repeats_is_not(bag, arm_settings):
    samples = read_samples(bag, arm_settings)
    model, first = learn(samples, arm_settings)
    _, again = learn(samples, arm_settings, model)
    n_older = samples.n_used - math.ceil(samples.n_used / 10)
    wrong = samples.Y.copy()
    wrong[:n_older] *= -1.0
    _, worse = learn(replace(samples, Y=wrong), arm_settings, model)
    assert [report.worse for report in (first, again, worse)] == [False, False, True]
    assert (np.array(worse.error_after) > worse.error_before).all()


def test_intervals_are_calibrated_on_a_recording_before_it_is_learned(bag, arm_settings):
    samples = read_samples(bag, arm_settings)
    known, _ = learn(samples, arm_settings)
    assert known.spread_factors_ == SpreadFactors()
    # Torques that scatter more than the model thinks, by the same model.
    noise = np.random.default_rng(0).normal(size=samples.Y.shape)
    Y = samples.Y + 3.0 * known.predict(samples.X, return_std=True)[1] * noise
    updated, _ = learn(replace(samples, Y=Y), arm_settings, known)
    alone = copy.copy(known).calibrate(samples.X, Y).spread_factors_
    assert alone.components > 2.0
    # The first recording counts as one whose intervals were right.
    expected = SpreadFactors(np.sqrt(alone.components), 1.0)
    assert updated.spread_factors_.components == pytest.approx(expected.components, rel=1e-9)
    assert updated.spread_factors_.unseen == 1.0


def test_known_model_is_left_as_it_is(bag, record_motion, arm_settings):
    samples = read_samples(bag, arm_settings)
    model, _ = learn(samples, arm_settings)
    statistics, parameters = model.statistics_.copy(), model.get_params()
    more = replace(arm_settings, model={"n_components": 3, "max_iterations": 2})
    newer, _ = learn(read_samples(record_motion(0.8), arm_settings), more, model)
    np.testing.assert_array_equal(model.statistics_, statistics)
    assert model.get_params() == parameters
    changed = {"n_components": 3, "inference__max_iterations": 2}
    expected = ILR(**parameters).set_params(**changed)
    assert newer.get_params() == expected.get_params()


def test_progress_runs_through_the_stages(bag, arm_settings):
    seen = []

    def progress(*event):
        seen.append(event)

    learn(read_samples(bag, arm_settings, progress), arm_settings, progress=progress)
    stages = [stage for stage, _, _ in seen]
    assert stages == sorted(stages, key=["reading", "learning"].index)
    assert all(0.0 <= fraction <= 1.0 for _, fraction, _ in seen)
    bounds = [bound for stage, _, bound in seen if stage == "learning" and math.isfinite(bound)]
    assert len(bounds) > 1
    assert bounds[-1] > bounds[0]


def test_same_recording_gives_the_same_model(bag, arm_settings):
    first, second = (learn(read_samples(bag, arm_settings), arm_settings)[0] for _ in range(2))
    np.testing.assert_array_equal(first.statistics_, second.statistics_)


def test_samples_between_which_the_arm_hardly_moves_count_as_one(bag, arm_settings):
    samples = read_samples(bag, arm_settings)
    effective, report = learn(samples, arm_settings)
    all_count, _ = learn(samples, replace(arm_settings, effective_samples=False))
    n_inputs = effective.n_features_in_
    worth = [np.sum(model.statistics_[:, n_inputs, n_inputs]) for model in (effective, all_count)]
    assert worth[0] <= worth[1] == pytest.approx(report.samples_used)
    assert effective.n_samples_ == report.samples_used


def test_unknown_model_parameter_is_named(bag, arm_settings):
    samples = read_samples(bag, arm_settings)
    with pytest.raises(InvalidParameterError, match="'components'"):
        learn(samples, replace(arm_settings, model={"components": 3}))


def test_recording_of_another_arm_is_refused(record_motion, arm_settings):
    bag = record_motion(joints=("k1", "k2"))
    with pytest.raises(RecordingError, match="k1, k2 .* expected j1, j2"):
        read_samples(bag, arm_settings)


def test_snapshot_with_the_other_gravity_setting_is_refused(bag, arm_settings, tmp_path):
    model, _ = learn(read_samples(bag, arm_settings), arm_settings)
    model.save(tmp_path / "model.npz")
    other = replace(arm_settings, driver_compensates_gravity=True)
    with pytest.raises(SnapshotError, match="driver_compensates_gravity = False; expected True"):
        load_compatible_snapshot(tmp_path / "model.npz", other)


def test_inference_that_ends_early_is_a_line_of_the_report_and_no_warning(bag, arm_settings):
    samples = read_samples(bag, arm_settings)
    early = replace(arm_settings, model={**arm_settings.model, "max_iterations": 2})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model, report = learn(samples, early)
        assert "number 2, which changed the lower bound by" in report.unsettled
        assert not model.converged_
        long = replace(arm_settings, model={**arm_settings.model, "max_iterations": 1000})
        model, report = learn(samples, long)
    assert (model.converged_, report.unsettled) == (True, "")


def test_other_warnings_of_a_fit_are_shown_as_ever():
    with pytest.warns(UserWarning, match="another") as caught:
        with noted_convergence() as texts:
            warnings.warn("another", UserWarning, stacklevel=1)
            warnings.warn("a line", ConvergenceWarning, stacklevel=1)
            warnings.warn("judged elsewhere", DoubtfulDataWarning, stacklevel=1)
    assert (texts, len(caught)) == (["a line"], 1)
