# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
import json

import numpy as np
import pytest
from PIL import Image

from ilr_dynamics.cli.demo_figures import draw_torques, draw_tracks
from ilr_dynamics.cli.demo_results import DemoResults, summary, table
from ilr_dynamics.cli.tracking_record import TrackingRecord
from ilr_dynamics.exceptions import InvalidDataError
from ilr_dynamics.robot.description import load_description
from ilr_dynamics.robot.rigid_body import RigidBodyModel
from ilr_dynamics_msgs.msg import ControllerState


def record(error: float, pd_torque: float) -> TrackingRecord:
    states = []
    for k in range(50):
        state = ControllerState()
        state.header.stamp.sec, state.header.stamp.nanosec = 7, 10_000_000 * k
        state.desired_position = [0.3 * np.sin(0.1 * k), 0.7, 0.0, 1.8]
        state.measured_position = [q - error for q in state.desired_position]
        state.feedforward_torque = state.commanded_torque = [1.0, -8.0, 0.5, -2.0]
        state.pd_torque = [pd_torque * (-1.0) ** k] * 4
        state.predicted_std = [0.5] * 4
        state.loop_time = 1e-3 * (k + 1)
        states.append(state)
    return TrackingRecord.from_states(states)


@pytest.fixture
def results() -> DemoResults:
    rounds = [record(0.05, 1.0), record(0.02, 0.4), record(0.01, 0.25)]
    return DemoResults(
        records={
            "pd": record(0.1, 4.0),
            "analytic": record(0.06, 2.0),
            "ilr": rounds[-1],
            "loaded": record(0.01, 0.25),
        },
        rounds=rounds,
        samples=12,
        components=3,
        learn_s=1.5,
        loop_times=[rounds[0].loop_time],
    )


def test_record_knows_times_and_mean_figures():
    shown = record(0.1, 4.0)
    np.testing.assert_allclose(shown.time, 0.01 * np.arange(50), atol=1e-9)
    assert shown.mean_squared_error == pytest.approx(0.01)
    assert shown.mean_pd_torque == pytest.approx(4.0)


def test_silent_controller_makes_no_record():
    with pytest.raises(InvalidDataError, match="reported nothing"):
        TrackingRecord.from_states([])


def test_summary_is_one_line_of_json_with_all_figures(results):
    figures = json.loads(json.dumps(summary(results)))
    assert figures["benchmark"] == "demo"
    assert figures["tracking_mse"]["ilr_pd_rounds"] == pytest.approx([2.5e-3, 4e-4, 1e-4])
    assert figures["tracking_mse"]["pd"] == pytest.approx(1e-2)
    assert figures["pd_torque"].keys() == figures["tracking_mse"].keys()
    assert figures["pd_torque"]["ilr_pd_loaded"] == pytest.approx(0.25)
    assert figures["loop_ms_p50"] == pytest.approx(25.5)
    assert (figures["samples"], figures["components"], figures["learn_s"]) == (12, 3, 1.5)


def test_table_has_a_line_for_each_controller_with_its_ratio_to_pd(results):
    lines = table(results, "T1").splitlines()
    assert "T1" in lines[0]
    assert len(lines) == 2 + 6
    assert lines[-2].split() == "ILR + PD, round 3 1.00e-04 100.0 0.25 16.0".split()


def test_pictures_are_drawn(results, tmp_path):
    description = load_description("wam4")
    shown = {kind: results.records[kind] for kind in ("pd", "analytic", "ilr")}
    draw_tracks(tmp_path / "tracks.png", shown, RigidBodyModel(description), "title")
    draw_torques(tmp_path / "torques.png", shown["ilr"], description.joint_names, "title")
    for name in ("tracks.png", "torques.png"):
        with Image.open(tmp_path / name) as picture:
            colours = picture.convert("RGB").getcolors(maxcolors=1 << 24)
        assert len(colours) > 10
