# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Evaluation of a recording of the controller's reports."""

from __future__ import annotations

import re
from array import array
from dataclasses import fields, replace

import numpy as np
import pytest
from rclpy.serialization import serialize_message

from ilr_dynamics.cli.evaluate import main
from ilr_dynamics.cli.html_report import HtmlReport
from ilr_dynamics.cli.tracking_evaluation import read_tracking
from ilr_dynamics.cli.tracking_figures import (
    draw_gate,
    draw_tracking_errors,
    draw_tracking_torques,
)
from ilr_dynamics.cli.tracking_record import TrackingRecord
from ilr_dynamics.nodes.recorder import controller_state_definition
from ilr_dynamics.recording import RecordingWriter
from ilr_dynamics.recording.guided_states import CONTROLLER_STATE
from ilr_dynamics_msgs.msg import ControllerState

TOPIC = "/inverse_dynamics/controller_state"


def report(k, mode=ControllerState.TRACKING, joints=("j1", "j2"), **fields):
    """Return a report at 50 Hz: error of 10 and 20 mrad, torques of 8 and 2 Nm."""
    state = ControllerState(mode=mode, joint_names=list(joints), controller="analytic")
    state.header.stamp.sec, state.header.stamp.nanosec = divmod(20_000_000 * k, 10**9)
    side = 1.0 if k % 2 else -1.0
    values = {
        "desired_position": [0.5, 0.25],
        "measured_position": [0.5 - 0.01 * side, 0.25 - 0.02 * side],
        "feedforward_torque": [8.0, -8.0],
        "pd_torque": [2.0 * side, 2.0],
        "commanded_torque": [8.0 + 2.0 * side, -6.0],
        "predicted_std": [0.0, 0.0],
    }
    for name, numbers in values.items():
        setattr(state, name, array("d", numbers))
    for name, value in fields.items():
        setattr(state, name, value)
    return state


def learned(k, model="/data/model.npz"):
    """Return a report whose second joint's torque is outside the interval every other time."""
    std = array("d", [1.1, 1.1 if k % 2 else 0.5])
    return report(k, controller="ilr", model=model, gate=0.5 + 0.5 * (k % 2), predicted_std=std)


@pytest.fixture
def record(tmp_path):
    def write(states, topic=TOPIC):
        path = tmp_path / "bag"
        with RecordingWriter(path) as writer:
            writer.add_topic(topic, CONTROLLER_STATE, controller_state_definition())
            writer.add_topic("/joint_states")
            for k, state in enumerate(states):
                writer.write(topic, 20_000_000 * k, serialize_message(state))
        return path

    return write


def test_errors_torques_gate_and_coverage_are_those_of_each_controller(record, capsys):
    states = [report(0, ControllerState.HOLDING)]
    states += [report(k) for k in range(1, 51)] + [learned(k) for k in range(51, 151)]
    assert main([str(record(states))]) == 0
    analytic, ilr = capsys.readouterr().out.split("/data/model.npz")
    assert "analytic: 50 reports, mean squared error 2.50e-04 rad^2\n" in analytic
    assert [line.split() for line in analytic.splitlines() if line.startswith("j")][1:] == [
        ["j1", "0.01", "0.01", "8", "2", "20.0%"],
        ["j2", "0.02", "0.02", "8", "2", "20.0%"],
    ]
    assert "): 100 reports, mean squared error 2.50e-04 rad^2, gate 0.75 (smallest 0.50)" in ilr
    assert "in 95% interval" in ilr and "in 95% interval" not in analytic
    assert [line.split()[-1] for line in ilr.splitlines() if line.startswith(("j1", "j2"))] == [
        "100.0%",
        "50.0%",
    ]


def test_reports_of_no_trajectory_are_left_out(record):
    modes = [ControllerState.HOLDING, ControllerState.TRACKING, ControllerState.FAULT]
    path = record([report(k, mode) for k, mode in enumerate(modes)])
    assert len(read_tracking(str(path), TOPIC).record.time) == 1


def test_names_of_strangers_do_not_reach_the_terminal(record, capsys):
    path = record([report(k, joints=("\x1b[31m", "j2")) for k in range(3)])
    assert main([str(path)]) == 0
    assert "\\x1b[31m" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("states", "options", "message"),
    [
        ([report(0)], ["--controller-state", "/left/state"], f"has {TOPIC} of ilr_dynamics_msgs"),
        ([report(0, ControllerState.HOLDING)], [], "no report of a trajectory on"),
        ([report(0), report(1, joints=("j1", "j3"))], [], "on different joints; expected j1, j2"),
        ([report(0, pd_torque=array("d"))], [], r"of \[0, 2\] values; expected 2, one per joint"),
    ],
)
def test_recording_that_shows_no_motion_is_refused(record, capsys, states, options, message):
    assert main([str(record(states)), *options]) == 1
    assert re.search(message, capsys.readouterr().err)


def test_recording_without_reports_is_refused(bag, capsys):
    assert main([str(bag)]) == 1
    assert f"has no topic of {CONTROLLER_STATE}; expected the topic {TOPIC}" in (
        capsys.readouterr().err
    )


@pytest.mark.parametrize("draw", [draw_tracking_errors, draw_tracking_torques, draw_gate])
def test_curves_are_drawn_of_one_report_and_do_not_cross_gaps(record, draw):
    one = read_tracking(str(record([learned(0)])), TOPIC)
    HtmlReport("one").picture(draw(one), "one report")
    tracking = replace(one, record=longer(one.record))
    for axis in draw(tracking).axes:
        for line in axis.lines:
            time, values = line.get_data()
            assert np.isnan(values[(time > 2.2) & (time < 7.8)]).all()
            assert np.isfinite(values).sum() == 200


def longer(record: TrackingRecord) -> TrackingRecord:
    """Two seconds of the same, with a gap of six between them."""
    time = np.append(np.arange(100) * 0.02, 8.0 + np.arange(100) * 0.02)
    rows = {field.name: getattr(record, field.name) for field in fields(record)}
    return TrackingRecord(
        **{name: np.repeat(values, 200, axis=0) for name, values in rows.items()} | {"time": time}
    )
