# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""The report of a model, as a person gets it: on recordings of an arm, and what it refuses."""

from __future__ import annotations

import shutil

import numpy as np
import pytest
import yaml
from arm_recordings import write_arm
from html_page import Page

from ilr_dynamics.cli import export, train
from ilr_dynamics.cli.report import main
from ilr_dynamics.learning import LearningSettings, read_samples
from ilr_dynamics.regression import load_snapshot
from ilr_dynamics.robot.description import load_description

SECTIONS = (
    "Recordings",
    "Errors",
    "Coverage",
    "Torques, measured and predicted",
    "Friction",
    "Identified parameters",
    "Where the model is sure",
    "Since the earlier model",
    "Tracking",
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Two recordings in a folder of their own, a third, and a model after one and after two."""
    place = tmp_path_factory.mktemp("arm")
    (place / "runs").mkdir()
    write_arm(place / "runs" / "run1", 2.0)
    write_arm(place / "runs" / "run2", 3.0)
    write_arm(place / "new", 2.5, reports=True)
    quick = ["--components", "6", "--robot", "wam4"]
    first, second = str(place / "first.npz"), str(place / "second.npz")
    assert train.main([str(place / "runs" / "run1"), "-o", first, *quick]) == 0
    again = ["--snapshot", first, "--accept-worse"]
    assert train.main([str(place / "runs" / "run2"), "-o", second, *again, *quick]) == 0
    return place


@pytest.fixture
def report(folder, tmp_path):
    """Make a report and return its page."""

    def make(*arguments: str) -> Page:
        path = tmp_path / "report.html"
        words = [word.format(folder=folder) for word in arguments]
        assert main([*words, "--html", str(path)]) == 0
        return Page(path.read_text("utf-8"))

    return make


@pytest.fixture(scope="module")
def whole(folder):
    """A page with everything."""
    path = folder / "whole.html"
    bags = [str(folder / "new"), str(folder / "runs")]
    since = ["--since", str(folder / "first.npz"), "--sample-rate", "0"]
    assert main([str(folder / "second.npz"), *bags, *since, "--html", str(path)]) == 0
    return Page(path.read_text("utf-8"))


def table(page: Page, label: str) -> list[list[str]]:
    return page.tables[label]


def test_a_page_has_all_sections_and_needs_nothing_else(whole):
    assert whole.needs_nothing()
    assert whole.text.count("http") == 0
    assert [whole.text.count(f"\n{name}\n") for name in SECTIONS] == [2] * len(SECTIONS)
    # Of three recordings torques and worst seconds; friction, two views; errors, torques, gate.
    assert whole.count("img") == 3 * 2 + 1 + 2 + 3


def test_errors_are_those_of_the_samples(whole, folder):
    settings = LearningSettings(("j1", "j2", "j3", "j4"))
    names = ("new", "runs/run1", "runs/run2")
    samples = [read_samples(folder / name, settings) for name in names]
    for column, name in ((1, "second.npz"), (7, "first.npz")):
        model = load_snapshot(folder / name)
        errors = np.concatenate([model.predict(part.X) - part.Y for part in samples])
        rms = np.sqrt(np.mean(errors**2, axis=0))
        shown = [float(row[column]) for row in table(whole, "errors")[1:]]
        assert shown == pytest.approx([*rms, np.sqrt(np.mean(rms**2))], rel=0.01)
    model = load_snapshot(folder / "second.npz")
    X, Y = (np.concatenate(parts) for parts in ([p.X for p in samples], [p.Y for p in samples]))
    lower, upper = model.predict_interval(X, 0.95)
    shares = [100.0 * np.mean((lower <= Y) & (Y <= upper), axis=0)]
    shown = [float(row[5].rstrip("%")) for row in table(whole, "errors")[1:-1]]
    np.testing.assert_allclose([shown], shares, atol=0.11)
    levels = np.array(
        [[float(cell.rstrip("%")) for cell in row[1:]] for row in table(whole, "coverage")[1:]]
    )
    np.testing.assert_allclose(levels[:-1, 2], shares[0], atol=0.11)
    assert np.all(np.diff(levels, axis=1) >= 0.0)


def test_recordings_are_known_as_learned_or_new(whole):
    rows = table(whole, "recordings")[1:]
    assert [row[2] for row in rows] == ["new to the model", "learned", "learned"]


def test_what_changed_since_is_what_was_learned_since(whole, folder):
    (row,) = table(whole, "recordings learned since")[1:]
    assert row[0] == str((folder / "runs" / "run2").resolve())
    before, now = load_snapshot(folder / "first.npz"), load_snapshot(folder / "second.npz")
    assert f"samples; now there are {now.n_active_} from {now.n_samples_}." in whole.text
    assert f"had {before.n_active_} local models from {before.n_samples_}" in whole.text


def test_friction_that_was_recorded_is_in_the_table(whole):
    for row in table(whole, "friction")[1:]:
        fastest = float(row[-1])
        value, _, deviation = row[3].partition(" ± ")
        assert abs(float(value) - (1.0 + 0.3 * fastest)) < 3.0 * float(deviation)


def test_parameters_are_those_of_the_export(whole, folder, tmp_path):
    path = tmp_path / "out.yaml"
    assert export.main([str(folder / "second.npz"), "--yaml", str(path)]) == 0
    bodies = yaml.safe_load(path.read_text())["bodies"]
    rows = table(whole, "identified parameters")[1:]
    masses = [row for row in rows if row[1] == "mass"]
    for row, (joint, body) in zip(masses, bodies.items(), strict=True):
        assert row[0] == joint
        shown = [float(cell) for cell in row[2:5]]
        parts = ("described", "value", "deviation")
        assert shown == pytest.approx([body[part]["mass"] for part in parts], rel=0.05)
    # Of the first body only the inertia about its vertical axis changes any torque.
    known = {row[1]: row[-2] for row in rows if row[0] == "j1"}
    assert known["mass"] == known["first moment x"] == known["inertia xx"] == "hardly"


def test_tracking_is_shown_of_recordings_that_have_it(whole):
    assert whole.text.count("It does not say how the arm tracked: recording") == 2
    assert [row[0] for row in table(whole, "tracking")[1:]] == ["j1", "j2", "j3", "j4"]


def test_folders_and_globs_stand_for_their_recordings(report, folder):
    page = report("{folder}/second.npz", "{folder}/runs", "{folder}/runs/run[12]")
    # Those that two patterns name are there once.
    paths = [row[1] for row in page.tables["recordings"][1:]]
    assert paths == [str(folder / "runs" / name) for name in ("run1", "run2")]
    assert "has learned all of these recordings" in page.text
    assert "There is none to compare with: --since names one." in page.text


def test_without_a_model_it_tells_how_the_arm_tracked(report):
    page = report("{folder}/new")
    assert page.count("img") == 3 and page.needs_nothing()
    assert [row[1] for row in page.tables["tracking"][1:]] == ["0.01"] * 4


def test_a_model_without_description_has_sections_that_say_so(report, bag, tmp_path):
    model = str(tmp_path / "pendulums.npz")
    quick = ["--components", "4", "--joints", "j1", "j2"]
    assert train.main([str(bag), "-o", model, *quick]) == 0
    page = report(model, str(bag))
    assert page.text.count("it was learned without the arm's description") == 3
    assert "This needs the arm's description: it was learned without the arm's" in page.text
    assert page.count("img") == 2
    assert "as described [Nm]" not in page.cells


def test_an_arm_that_is_not_of_the_package_is_named(report, folder, tmp_path):
    text = load_description("wam4").urdf_path.read_text().replace("0.045 0 0.55", "0.045 0 0.5")
    (tmp_path / "own.urdf").write_text(text)
    own = ["--robot", str(tmp_path / "own.urdf")]
    model = str(tmp_path / "own.npz")
    quick = ["--components", "4", "--accept-worse"]
    assert train.main([str(folder / "new"), "-o", model, *own, *quick]) == 0
    page = report(model, "{folder}/new")
    assert page.text.count("expected --robot with the path of that URDF") == 2
    # Friction needs no description.
    assert len(page.tables["friction"]) == 5 and "identified parameters" not in page.tables
    # An earlier model may have learned with another description.
    page = report(model, "{folder}/new", *own, "--since", "{folder}/second.npz")
    assert "identified parameters" in page.tables and "doubt of the joints" in page.tables
    assert "Parameters are not compared: " in page.text and "differ from the model's" in page.text
    assert "errors before and now" in page.tables


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["{folder}/none.npz", "{folder}/new"], "there is no snapshot"),
        (["{folder}/second.npz", "{folder}/none"], "does not exist"),
        (["{folder}/second.npz", "{folder}/empty"], "holds no recording"),
        (["{folder}/second.npz", "{folder}/cut"], "cut"),
        (["{folder}/second.npz", "{bag}"], "expected"),
        (["{folder}/second.npz", "{folder}/new", "--robot", "wam7"], "7 joints, expected 4"),
        (["{folder}/second.npz", "{folder}/new", "--robot", "/none.urdf"], "no URDF file"),
        (["{folder}/second.npz", "{folder}/new", "--since", "{folder}/other.npz"], "joint_names"),
        (["{folder}/second.npz", "{folder}/new", "--since", "{folder}/none.npz"], "no snapshot"),
        (["{bag}"], "expected the topic /inverse_dynamics/controller_state"),
    ],
)
def test_what_is_wrong_is_said_and_nothing_is_written(
    arguments, message, folder, bag, tmp_path, capsys
):
    (folder / "empty").mkdir(exist_ok=True)
    if not (folder / "cut").exists():
        shutil.copytree(folder / "new", folder / "cut")
        (storage,) = (folder / "cut").glob("*.mcap")
        storage.write_bytes(storage.read_bytes()[: storage.stat().st_size // 2])
    if not (folder / "other.npz").exists():
        joints = ["--components", "4", "--joints", "j1", "j2"]
        assert train.main([str(bag), "-o", str(folder / "other.npz"), *joints]) == 0
    path = tmp_path / "report.html"
    words = [word.format(folder=folder, bag=bag) for word in arguments]
    capsys.readouterr()
    assert main([*words, "--html", str(path)]) == 1
    said = capsys.readouterr()
    assert "report: " in said.err and message in " ".join(said.err.split())
    assert said.out == "" and list(tmp_path.iterdir()) == []


def test_an_earlier_report_is_replaced_and_nothing_else(report, folder, tmp_path, capsys):
    report("{folder}/new")
    report("{folder}/new")
    notes = tmp_path / "notes.html"
    notes.write_text("by hand")
    assert main([str(folder / "new"), "--html", str(notes)]) == 1
    assert "did not write it; expected a new name" in capsys.readouterr().err
    assert notes.read_text() == "by hand"
    inside = folder / "new" / "report.html"
    assert main([str(folder / "new"), "--html", str(inside)]) == 1
    assert "lies in the recording" in capsys.readouterr().err and not inside.exists()


def test_an_earlier_model_needs_one_to_compare_with(folder, capsys):
    with pytest.raises(SystemExit):
        main([str(folder / "new"), "--since", str(folder / "first.npz"), "--html", "r.html"])
    assert "expected a MODEL (.npz) before the recordings" in capsys.readouterr().err
