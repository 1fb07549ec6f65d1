# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""The adaptation benchmark records, learns by the node's jobs, and goes on where it was."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"


@pytest.fixture(autouse=True)
def benchmarks(monkeypatch):
    monkeypatch.setattr(sys, "path", [str(BENCHMARKS), *sys.path])


def test_a_recording_is_what_was_tracked_and_is_learned_once(tmp_path):
    from _adaptation_runs import feedforward_of, never_forgetting, record_bag, update
    from _learners import node_learning_settings
    from _simulated_motion import Arm

    from ilr_dynamics.control import Reference, RigidBodyFeedForward
    from ilr_dynamics.learning.learn import read_samples
    from ilr_dynamics.robot.tool_paths import figure_eight

    arm = Arm(3)
    eight = arm.joint_path(replace(figure_eight(3.0), duration=4.0))
    bag = tmp_path / "bag"
    record_bag(bag, arm, RigidBodyFeedForward(arm.model), [eight, eight], seconds=3.0)
    settings = node_learning_settings(arm, n_components=5)
    assert settings.model["forgetting_factor"] == "auto"
    assert never_forgetting(settings).model["forgetting_factor"] == 1.0
    samples = read_samples(bag, settings := replace(settings, directories=None))
    # 100 Hz, but for the edges of the filter.
    assert samples.n_used == pytest.approx(600, abs=60)
    model = tmp_path / "model.npz"
    report = update(bag, settings, None, model)
    assert report is not None
    assert report.samples_used == samples.n_used
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bag", "model.npz"]
    assert update(bag, settings, None, model) is None
    before = bag.stat().st_mtime_ns
    record_bag(bag, arm, None, [eight])
    assert bag.stat().st_mtime_ns == before
    rest = Reference.at_rest(samples.X[0, :4])
    torque = feedforward_of(model)(rest).torque
    np.testing.assert_allclose(torque, arm.model.gravity(samples.X[0, :4]), atol=8.0)


def test_the_picture_shows_what_did_not_end_in_a_fault(tmp_path):
    from _adaptation_figure import BARS, draw_errors

    errors = dict.fromkeys(BARS, 1e-4)
    for fault in (None, "T1_after_change"):
        path = tmp_path / f"{fault}.png"
        draw_errors(path, errors if fault is None else {**errors, fault: None})
        assert path.stat().st_size > 1000
