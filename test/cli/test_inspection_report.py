# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hostile_texts import NAMES, texts
from html_page import Page
from hypothesis import given, settings
from hypothesis import strategies as st

from ilr_dynamics.cli import inspection_report
from ilr_dynamics.cli.decimation import decimate, stretches
from ilr_dynamics.cli.findings_table import format_findings, stretch_of_time
from ilr_dynamics.cli.inspection_figures import draw_positions, draw_velocities
from ilr_dynamics.cli.inspection_report import write_inspection_report
from ilr_dynamics.inspection import Finding, Inspection, Severity
from ilr_dynamics.learning import LearningSettings, read_samples
from ilr_dynamics.recording import Recording, RecordingWriter, read_recording
from ilr_dynamics.robot.description import load_description
from ilr_dynamics.robot.rigid_body import RigidBodyModel

DROPOUT = Finding(
    "dropouts",
    Severity.ERROR,
    "75 states are missing between 0.55 s and 0.7 s; expected one every 2 ms",
    "Record on the machine that drives the arm.",
    from_s=0.55,
    to_s=0.7,
    value=75.0,
)
STILL = Finding(
    "zero_velocity",
    Severity.WARNING,
    "the measured velocities stay zero while it moves by 0.8 rad",
    "Nothing: positions are differentiated instead.",
    joint="j1",
)
IDS = ("markup", "formulas", "letters")
DELAY = Finding("torque_delay", Severity.INFO, "commands act 3.1 ms after their state", from_s=1.0)


def inspected(bag, joints, model=None, findings=(DROPOUT, STILL, DELAY), **limits) -> Inspection:
    """What an inspection holds of a real recording, with findings that are made up."""
    samples = read_samples(bag, LearningSettings(joints))
    torque = None
    if model is not None:
        torque = np.array([model.inverse_dynamics(*np.split(x, 3)) for x in samples.X])
    recording = read_recording(bag, joints)
    return Inspection(str(bag), findings, recording, samples, torque, **limits)


@pytest.fixture(scope="module")
def of_wam7(tmp_path_factory):
    """Seven joints with velocities, a gap, and torques with friction; all limits known."""
    arm = load_description("wam7")
    model = RigidBodyModel(arm)
    bag = tmp_path_factory.mktemp("inspected") / "bag"
    rate = 2.0 * np.pi * np.linspace(0.5, 2.0, 7)
    with RecordingWriter(bag) as writer:
        for k in range(600):
            if 280 <= k < 350:
                continue
            phase = rate * 0.002 * k
            q = 0.5 * (arm.position_lower + arm.position_upper) + 0.2 * np.sin(phase)
            qd, qdd = 0.2 * rate * np.cos(phase), -0.2 * rate**2 * np.sin(phase)
            torque = model.inverse_dynamics(q, qd, qdd) + 0.5 * np.tanh(20.0 * qd)
            at = (2_000_000 * (k + 1), arm.joint_names)
            writer.write_joint_state("/joint_states", *at, q, qd)
            writer.write_joint_state("/joint_torque_command", *at, effort=torque)
    limits = {
        "position_limits": np.column_stack([arm.position_lower, arm.position_upper]),
        "torque_limit": arm.torque_limit,
        "velocity_limit": arm.velocity_limit,
    }
    return inspected(bag, arm.joint_names, model, **limits)


@pytest.fixture(scope="module")
def of_pendulum(record_motion):
    """One joint, no velocities measured, no description of the arm."""
    return inspected(record_motion(joints=("j1",), frequencies=(0.9,)), ("j1",))


@pytest.fixture
def page_of(tmp_path):
    def write(*inspections: Inspection) -> Page:
        write_inspection_report(tmp_path / "report.html", inspections)
        return Page((tmp_path / "report.html").read_text("utf-8"))

    return write


def test_seven_joints_have_all_pictures_and_a_page_of_bearable_size(of_wam7, page_of, tmp_path):
    page = page_of(of_wam7)
    assert page.count("img") == 6
    assert page.needs_nothing()
    assert (tmp_path / "report.html").stat().st_size < 1_000_000
    assert "It is not fit for learning before the errors are fixed." in page.text
    assert DROPOUT.text in page.cells and DROPOUT.advice in page.cells
    assert "0.55-0.7 s" in page.cells
    assert ("span", {"class": "error"}) in page.tags and "error" in page.cells
    assert ("span", {"class": "warning"}) in page.tags and "warning" in page.cells
    shown = page.cells[page.cells.index("duration") :]
    assert {"1.2 s", "500 Hz", "all", "1 error, 1 warning, 1 for information"} <= set(shown)


def test_what_is_not_known_is_said_in_place_of_its_picture(of_pendulum, page_of):
    page = page_of(of_pendulum)
    assert page.count("img") == 4
    assert "no comparison of torques with rigid bodies: no description of the arm" in page.text


def test_states_without_samples_are_shown(of_pendulum, page_of):
    page = page_of(replace(of_pendulum, samples=None, model_torque=None))
    assert page.count("img") == 3
    assert "no comparison of torques with rigid bodies: no samples" in page.text
    assert "There is no picture of velocities" in page.text


def test_what_cannot_be_read_is_said(page_of):
    unreadable = Finding("unreadable", Severity.ERROR, "the file ends early", "mcap recover")
    page = page_of(Inspection("/data/bag", (unreadable,)))
    assert page.count("img") == 0
    assert "It cannot be read." in page.text
    assert "mcap recover" in page.cells


def test_one_joint_without_findings(of_pendulum, page_of):
    page = page_of(replace(of_pendulum, findings=()))
    assert "It can be used for learning." in page.text
    assert "1 recording of 1 with nothing wrong." in page.text
    assert "j1" in page.cells


def test_all_recordings_are_summarised_first(of_pendulum, page_of, monkeypatch):
    monkeypatch.setattr(inspection_report, "MAX_BYTES", inspection_report.PICTURES + 20_000)
    clean = replace(of_pendulum, uri="/data/clean", findings=(DELAY,))
    page = page_of(clean, of_pendulum, replace(of_pendulum, findings=(STILL,)))
    assert page.text.index("1 recording of 3 not fit for learning.") < page.text.index("j1")
    # The pictures of the first one fill the page.
    assert page.count("img") == 4
    assert page.text.count("They are left out") == 2


@pytest.mark.parametrize("names", [NAMES[:2], NAMES[4:6], NAMES[-4:-2]], ids=IDS)
def test_hostile_names_do_not_break_out(names, of_pendulum, page_of):
    finding = replace(DROPOUT, text=names[0], advice=names[1], joint=names[0])
    recording = _first_states(of_pendulum.recording, 20)
    position, torque = (np.tile(values, 2) for values in (recording.position, recording.torque))
    recording = replace(
        recording,
        joint_names=names,
        position=position,
        velocity=np.full_like(position, np.nan),
        torque=torque,
        rejected=Counter({names[0]: 2}),
    )
    page = page_of(Inspection(names[1], (finding,), recording))
    assert page.needs_nothing() and page.count("img") == 2


@given(texts, st.sampled_from(Severity), st.floats() | st.none(), st.floats() | st.none())
@settings(max_examples=40)
def test_any_finding_is_shown(tmp_path_factory, text, severity, start, end):
    finding = Finding("rate", severity, text, text, text, from_s=start, to_s=end)
    inspection = Inspection("bag", (finding, DROPOUT))
    path = tmp_path_factory.getbasetemp() / "findings.html"
    write_inspection_report(path, [inspection])
    assert DROPOUT.text in Page(path.read_text("utf-8")).cells
    lines = format_findings(inspection).splitlines()
    assert max(map(len, lines)) <= 100
    assert all(line.isprintable() for line in lines)


def _first_states(recording: Recording, count: int) -> Recording:
    arrays = ("stamp", "position", "velocity", "torque")
    return replace(recording, **{name: getattr(recording, name)[:count] for name in arrays})


@pytest.mark.parametrize("wrong", [np.nan, np.inf, 1e300, 0.0])
def test_senseless_values_are_no_reason_to_fail(of_pendulum, page_of, wrong):
    recording = of_pendulum.recording
    velocity, torque = np.full(recording.velocity.shape, wrong), recording.torque.astype(float)
    torque[::7] = wrong
    limits = {"torque_limit": np.array([wrong]), "velocity_limit": np.array([wrong])}
    findings = (replace(DROPOUT, from_s=wrong, to_s=wrong), replace(STILL, from_s=wrong))
    recording = replace(recording, velocity=velocity, torque=torque)
    page = page_of(replace(of_pendulum, recording=recording, findings=findings, **limits))
    assert page.count("img") == 4


def test_stretches_used_and_rejected_and_gaps_are_told_apart(of_wam7):
    recording, samples = of_wam7.recording, of_wam7.samples
    figure = draw_positions(recording, samples, of_wam7.position_limits, of_wam7.findings)
    shaded = {
        bars.get_label(): [path.get_extents().intervalx for path in bars.get_paths()]
        for bars in figure.axes[0].collections
    }
    # The gap is neither; states beside it, at the beginning and at the end, become no samples.
    assert len(shaded["used"]) == 2
    assert len(shaded["rejected"]) == 4
    used = np.array(shaded["used"])
    gap = np.argmax(np.diff(recording.time))
    assert used[0, 1] < recording.time[gap] < recording.time[gap + 1] < used[1, 0]
    assert np.sum(used[:, 1] - used[:, 0]) == pytest.approx(0.002 * samples.n_used, abs=0.01)


def test_measured_velocities_of_zero_are_seen_beside_the_true_ones(of_wam7):
    recording = replace(of_wam7.recording, velocity=np.zeros_like(of_wam7.recording.velocity))
    figure = draw_velocities(recording, of_wam7.samples, of_wam7.velocity_limit)
    measured, derived = (patch.get_data().values for patch in figure.axes[0].patches)
    assert np.count_nonzero(measured > 1e-3) == 1
    assert np.count_nonzero(derived > 1e-3) > 20


def test_long_tracks_keep_their_extremes_and_gaps():
    time = np.arange(1_000_000) * 1e-3
    time[400_000:] += 300.0
    values = np.sin(time)
    values[123_456] = 7.0
    parts = stretches(time, 3.5)
    shown_time, shown = decimate(time, values, 500, parts.begins)
    assert len(shown) == 1000
    assert np.nanmax(shown) == 7.0 and np.nanmin(shown) == values.min()
    empty = np.isnan(shown)
    assert shown_time[empty].min() > 398.0 and shown_time[empty].max() < 702.0
    assert empty.sum() == pytest.approx(2 * 500 * 300.0 / 1300.0, abs=4)


def test_short_tracks_are_broken_at_gaps():
    time = np.array([0.0, 1.0, 2.0, 9.0, 10.0, 11.0])
    parts = stretches(time, 3.5, breaks=(5, 6))
    np.testing.assert_array_equal(parts.first, [0.0, 9.0, 11.0])
    np.testing.assert_array_equal(parts.last, [2.0, 10.0, 11.0])
    np.testing.assert_array_equal(
        parts.share(np.array([0.0, 1.0, 3.0, 9.5])), [1.0, 0.5, 0.5 / 6.5]
    )
    shown_time, _ = decimate(time, time, 10, parts.begins)
    np.testing.assert_array_equal(np.isnan(shown_time), [1, 0, 0, 0, 1, 0, 0, 1, 0])


def test_findings_are_readable_in_a_terminal():
    shown = """\
/data/bag: 1 error, 1 warning, 1 for information
  error    dropouts           0.55-0.7 s  75 states are missing between 0.55 s and 0.7 s; expected
                                          one every 2 ms
                                          -> Record on the machine that drives the arm.
  warning  zero_velocity  j1              the measured velocities stay zero while it moves by 0.8
                                          rad
                                          -> Nothing: positions are differentiated instead.
  info     torque_delay       from 1 s    commands act 3.1 ms after their state"""
    assert format_findings(Inspection("/data/bag", (DROPOUT, STILL, DELAY))) == shown
    assert format_findings(Inspection("bag", ())) == "bag: no findings"


@pytest.mark.parametrize(
    "start, end, shown",
    [
        (None, None, ""),
        (1.25, None, "from 1.25 s"),
        (None, 2.0, "to 2 s"),
        (3.0, 3.0, "at 3 s"),
        (0.5, 3600.25, "0.5-3600.25 s"),
    ],
)
def test_times_are_shown_in_words(start, end, shown):
    assert stretch_of_time(replace(DELAY, from_s=start, to_s=end)) == shown
