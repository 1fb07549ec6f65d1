# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""The tracking benchmarks go on when a controller cannot."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from ilr_dynamics.robot.rigid_body import RigidBodyModel

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"


@pytest.fixture(autouse=True)
def benchmarks(monkeypatch):
    monkeypatch.setattr(sys, "path", [str(BENCHMARKS), *sys.path])


def test_a_fault_is_the_result_of_a_controller_and_ends_nothing_else():
    from _closed_loop import track_tests
    from _learners import LearnedTorque
    from _simulated_motion import Arm
    from _tracking_experiments import _or_fault
    from _tracking_tables import rows_of_errors

    def thrown():
        throw_the_elbow = LearnedTorque(lambda x: [0.0, 0.0, 0.0, 40.0])
        yield "large", {}, track_tests(Arm(3), throw_the_elbow)

    [(experiment, result, tracks)] = _or_fault("large", thrown)
    assert (experiment, tracks) == ("large", {})
    rows, figures = rows_of_errors("thrown", [result])
    assert figures is None
    assert "fault, seed 0: fault at" in rows[0]
    assert "joint j4" in rows[0]
    ended = {"mse": [3.0, 2.0, 1.0], "pd_torque": [0.3, 0.2, 0.1]}
    rows, figures = rows_of_errors("thrown", [ended, result])
    assert "3.00e+00, 0.30" in rows[0]
    assert "fault, seed 1: fault at" in rows[-1]
    assert figures["T1"] == {"mse": 3.0, "pd_torque": 0.3, "faults": 1}


def test_what_a_changed_arm_carries_pulls_at_its_tool_point(tmp_path):
    from _changed_arm import changed_arm
    from _simulated_motion import Arm

    usual = Arm(0)
    changed = changed_arm(0, "wam4", payload=0.5, friction=2.0, folder=tmp_path)
    loaded, q = RigidBodyModel(changed.plant.description), np.array([0.3, 0.7, -0.2, 1.5])
    step = 1e-6 * np.eye(4)
    height = [[usual.model.tool_position(q + s * e)[2] for e in step] for s in (1.0, -1.0)]
    expected = 0.5 * 9.81 * np.subtract(*height) / 2e-6
    np.testing.assert_allclose(loaded.gravity(q) - usual.model.gravity(q), expected, atol=1e-6)
    before, after = usual.plant.config.friction, changed.plant.config.friction
    np.testing.assert_array_equal(after.dry, 2.0 * before.dry)
    np.testing.assert_array_equal(after.viscous, 2.0 * before.viscous)
    # Its controller and its models know nothing of that.
    np.testing.assert_array_equal(changed.model.gravity(q), usual.model.gravity(q))


def test_motions_between_postures_stay_within_the_arms_limits():
    from _simulated_motion import Arm
    from _tracking_experiments import REACH, between_postures

    for name in ("wam4", "wam7"):
        arm = Arm(0, name)
        path = between_postures(arm, np.random.default_rng(0))
        assert path.end - path.start >= 100.0
        states = [path.sample(t) for t in np.arange(path.start, path.end, 0.01)]
        position = np.array([state.position for state in states])
        velocity = np.array([state.velocity for state in states])
        assert np.all(position > arm.description.position_lower)
        assert np.all(position < arm.description.position_upper)
        assert np.max(np.abs(velocity)) < 1.21
        assert np.all(np.ptp(position, axis=0) > 1.5 * REACH[: arm.description.n_joints])


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (["--seeds", "0"], "--seeds: expected 1 or more, got 0"),
        (["--processes", "-2"], "--processes: expected 1 or more, got -2"),
        (["--seeds", "few"], "--seeds: invalid"),
        (["--plants", "moon"], "invalid choice: 'moon'"),
        (["--plants", "own", "--robots", "wam7"], "expected no --robots"),
        (["--protocol", "covering", "--controllers", "physics_pd"], "got physics_pd"),
        (["--resume", __file__], "is no folder"),
    ],
)
def test_odd_options_are_refused_before_anything_runs(options, text, monkeypatch, capsys):
    import tracking

    monkeypatch.setattr(sys, "argv", ["tracking", *options])
    with pytest.raises(SystemExit) as ended:
        tracking.main()
    assert ended.value.code == 2 and text in capsys.readouterr().err
