# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Parts of the report of a model: partial residuals, named parameters, names of strangers."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hostile_texts import NAMES, texts
from html_page import Page
from hypothesis import given, settings
from hypothesis import strategies as st

from ilr_dynamics.cli import model_report
from ilr_dynamics.cli.decimation import decimate_band, stretches
from ilr_dynamics.cli.html_report import HtmlReport
from ilr_dynamics.cli.judged_model import JudgedModel
from ilr_dynamics.cli.judged_recording import JudgedRecording
from ilr_dynamics.cli.model_figures import View, _colours, draw_workspace
from ilr_dynamics.cli.model_findings import (
    ArmFindings,
    Judgement,
    ModelFindings,
    friction_points,
    shown_speeds,
)
from ilr_dynamics.cli.model_report import write_model_report
from ilr_dynamics.cli.parameter_findings import parameter_changes, parameter_findings
from ilr_dynamics.cli.shown_text import shown_name, shown_path
from ilr_dynamics.cli.workspace_doubt import WorkspaceDoubt
from ilr_dynamics.learning import LearningSettings
from ilr_dynamics.recording import Samples
from ilr_dynamics.regression import ILR
from ilr_dynamics.robot.arm_export import ArmExport
from ilr_dynamics.robot.description import load_description
from ilr_dynamics.robot.friction_curves import friction_curves
from ilr_dynamics.robot.identified_dynamics import IdentifiedDynamics

ARM = load_description("wam4")


def samples(X, Y, joints) -> Samples:
    return Samples(0.01 * np.arange(len(X)), X, Y, tuple(joints), False, Counter())


@pytest.fixture(scope="module")
def small():
    """A model of two joints without description, and samples of it."""
    X = np.random.default_rng(0).normal(size=(60, 6))
    return ILR(2).fit(X, X[:, :2]), X


def findings(small, joint, path, former=None) -> ModelFindings:
    model, X = small
    found = samples(X, X[:, :2] + 0.01, (joint, "j2"))
    recording = JudgedRecording.of(path, found, model)
    judged = JudgedModel(path, model, LearningSettings((joint, "j2")))
    return ModelFindings(
        judged,
        None if former is None else JudgedModel(former, model, judged.settings),
        (Judgement(recording, None if former is None else X[:, :2], False, path),),
        ArmFindings(path, path, path),
    )


@pytest.mark.parametrize("name", [NAMES[k] for k in (0, 1, 4, 7, 10, 11)], ids=range(6))
def test_names_of_strangers_do_not_break_out(small, name, tmp_path):
    path = tmp_path / "report.html"
    write_model_report(path, findings(small, name, name, name))
    page = Page(path.read_text("utf-8"))
    assert page.needs_nothing() and page.count("img") == 2
    assert page.tables["errors"][1][0] == shown_name(name)
    assert page.tables["recordings"][1][1] == shown_path(name)


@given(texts.filter(lambda text: text != "j2"))
@settings(max_examples=25, deadline=None)
def test_any_name_is_shown_and_does_nothing(small, tmp_path_factory, text):
    path = tmp_path_factory.getbasetemp() / "any_model.html"
    with pytest.MonkeyPatch.context() as patch:
        # As if the page were full: pictures take most of the time, and are tried above.
        patch.setattr(model_report, "MAX_BYTES", 0)
        write_model_report(path, findings(small, text, text))
    page = Page(path.read_text("utf-8"))
    assert page.needs_nothing() and page.count("img") == 0
    assert page.tables["coverage"][1][0] == shown_name(text)


def identified(scale=1.1):
    """Dynamics that have learned an arm heavier than described, and noiseless samples of it."""
    start = IdentifiedDynamics.from_description(ARM)
    X = np.random.default_rng(1).uniform(-1.0, 1.0, size=(300, 12))
    Y = scale * start.expected(X) + 0.8 * np.tanh(X[:, 4:8] / 0.03)
    return start.updated(X, Y, np.ones(len(X))), X


def test_torques_without_error_lie_on_the_curves_of_friction():
    dynamics, X = identified()
    curves = friction_curves(dynamics, shown_speeds(dynamics))
    Y = dynamics.expected(X)
    recording = JudgedRecording("bag", samples(X, Y, ARM.joint_names), Y, Y, Y)
    speed, torque = friction_points(dynamics, curves, [recording])
    exact = friction_curves(dynamics, speed)
    # Between two speeds of a curve a line is drawn.
    np.testing.assert_allclose(torque, exact.torque, atol=0.02)


def test_parameters_have_names_and_those_of_the_description():
    dynamics, _ = identified()
    found = parameter_findings(ArmExport.of(dynamics, ARM))
    assert len(found) == 4 * 12
    masses = [one for one in found if one.name == "mass"]
    assert [one.place for one in masses] == list(ARM.joint_names)
    np.testing.assert_array_equal([one.described for one in masses], dynamics.inertial_prior[:, 0])
    rotors = [one for one in found if one.name == "rotor inertia"]
    assert [one.place for one in rotors] == ["j1", "motor 2", "motor 3", "j4"]
    assert all(one.described is None for one in rotors)
    assert all(0.0 < one.left <= 1.0 + 1e-9 and one.deviation > 0.0 for one in found)


def test_the_parameters_that_changed_most_come_first():
    now, before = (ArmExport.of(identified(scale)[0], ARM) for scale in (1.3, 1.1))
    changes = parameter_changes(now, before)
    sizes = [abs(change.size) for change in changes]
    assert sizes == sorted(sizes, reverse=True) and sizes[0] > 1.0
    for change in changes:
        found = (change.now.identified - change.before.identified) / change.before.deviation
        assert change.size == found
    assert all(change.size == 0.0 for change in parameter_changes(now, now))


@pytest.mark.parametrize("view", View)
@pytest.mark.parametrize("doubt", [0.01, 0.0, np.inf, 1e-9])
def test_any_doubt_and_any_workspace_is_drawn(view, doubt):
    # A pendulum whose tool stays in a plane, and one doubt everywhere.
    angle = np.linspace(-1.0, 1.0, 30)
    tool = np.column_stack([np.sin(angle), np.zeros(30), np.cos(angle)])
    found = WorkspaceDoubt(angle[:, None], tool, np.full((30, 1), doubt), np.ones(1))
    HtmlReport("one").picture(draw_workspace(found, found, view), "doubt", shades=True)


@given(st.lists(st.floats(1e-8, 1e3), min_size=1, max_size=20))
def test_the_colours_are_around_nearly_all_doubts(doubts):
    posture = np.zeros((len(doubts), 1))
    tool, limit = np.zeros((len(doubts), 3)), np.ones(1)
    colours = _colours(WorkspaceDoubt(posture, tool, np.array(doubts)[:, None], limit))
    inside = np.clip(doubts, 1e-6, 10.0)
    assert 0.0 < colours.vmin < colours.vmax
    low, high = np.quantile(inside, [0.02, 0.98])
    assert colours.vmin <= low * 1.001 and high <= colours.vmax * 1.001
    # Not farther out than the next of 1, 2, 5 and their multiples by ten.
    assert low < 2.6 * colours.vmin and colours.vmax <= max(2.6 * high, 2.6 * colours.vmin)


def test_a_band_keeps_its_outer_ends_and_its_gaps():
    time = np.arange(100_000) * 1e-3
    time[40_000:] += 30.0
    lower, upper = np.sin(time) - 1.0, np.sin(time) + 1.0
    lower[12_345], upper[54_321] = -7.0, 9.0
    shown, low, high = decimate_band(time, lower, upper, 500, stretches(time, 3.5).begins)
    assert len(shown) == len(low) == len(high) == 1000
    assert np.nanmin(low) == -7.0 and np.nanmax(high) == 9.0
    np.testing.assert_array_equal(np.isnan(low), np.isnan(high))
    within = ~np.isnan(low)
    assert np.all(low[within] <= np.sin(shown[within]) - 0.9)
    assert np.all(np.isnan(low[(shown > 41.0) & (shown < 69.0)]))
