# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""What `plan` writes and refuses."""

import subprocess
import sys

import numpy as np
import pytest
from ament_index_python import get_package_share_path

from ilr_dynamics.cli.plan import main
from ilr_dynamics.regression import ILR, load_snapshot
from ilr_dynamics.robot.description import load_description
from ilr_dynamics.robot.identified_dynamics import IdentifiedDynamics
from ilr_dynamics.robot.rigid_body import RigidBodyModel
from ilr_dynamics.robot.waypoints import read_waypoints

HOME = np.array([0.0, 0.7, 0.0, 1.8])
JOINTS = ("wam_j1", "wam_j2", "wam_j3", "wam_j4")
SLOW = "0.3, 0.3, 0.2, 0.3"
SHORT = ["--minutes", "0.25", "--candidates", "2"]


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "model.npz"
    start = IdentifiedDynamics.from_description(load_description("wam4"))
    random = np.random.default_rng(0)
    X = np.hstack([HOME + 0.1 * random.normal(size=(60, 4)), random.normal(size=(60, 8))])
    X[0, :4] = HOME
    fitted = ILR(2, global_model=start).fit(X, start.expected(X) + 0.1 * np.sign(X[:, 4:8]))
    fitted.metadata_ = {"joint_names": list(JOINTS)}
    fitted.save(path)
    return path


@pytest.fixture
def refused(capsys):
    """Run the program with bad input, and return what it says."""

    def run(*arguments):
        assert main([str(word) for word in arguments]) == 1
        return capsys.readouterr().err

    return run


def test_the_program_writes_what_trajectory_publisher_plays(model, tmp_path):
    out = tmp_path / "motion.csv"
    command = [sys.executable, "-P", "-m", "ilr_dynamics.cli.plan", str(model), "-o", str(out)]
    done = subprocess.run([*command, *SHORT], capture_output=True, text=True, check=True)
    assert f"written: {out}" in done.stdout and "wam_j3" in done.stdout
    assert "-p rate:=10.0" in done.stdout
    assert "begins and ends at rest in 0.00 0.70 0.00 1.80 rad" in done.stdout
    waypoints = read_waypoints(out)
    assert waypoints.joint_names == JOINTS
    np.testing.assert_allclose(np.diff(waypoints.times), 0.1)
    assert 4.0 < waypoints.times[-1] <= 15.0
    np.testing.assert_allclose(waypoints.positions[[0, -1]], [HOME, HOME])
    assert np.max(np.abs(waypoints.positions - HOME)) > 0.1


def test_the_limits_of_the_controller_are_kept(model, tmp_path, capsys, refused):
    slow = tmp_path / "my arm.yaml"
    text = (get_package_share_path("ilr_dynamics") / "config" / "wam4.yaml").read_text()
    usual = "      velocity: [2.0, 2.0, 2.0, 2.0]\n      torque:"
    assert usual in text
    text = text.replace(usual, usual.replace("2.0, 2.0, 2.0, 2.0", SLOW))
    slow.write_text(text.replace("max_points: 2000", "max_points: 20"))
    out = tmp_path / "motion.csv"
    options = ["-o", str(out), "--params-file", str(slow), *SHORT, "--minutes", "0.4"]
    assert main([str(model), *options]) == 0
    said = capsys.readouterr().out
    assert f"--params-file '{slow}' -p trajectory:={out}" in said
    waypoints = read_waypoints(out)
    n_points = len(waypoints.times)
    assert f"by a controller with trajectory.max_points of {n_points} or more" in said
    speeds = np.abs(np.gradient(waypoints.positions, 0.1, axis=0))
    assert np.all(speeds.max(axis=0) <= [0.3, 0.3, 0.2, 0.3])
    slow.write_text(slow.read_text().replace(SLOW, "0.3, 0.3, 0.3"))
    assert "limits.velocity" in refused(model, *options)


def test_numbers_may_be_written_as_python_takes_them(model, tmp_path, refused):
    said = refused(model, "-o", tmp_path / "m.csv", "--keep-out", "-1e-1", "-1.", *"0000")
    assert "has sides of" in said


def test_a_model_of_a_file_needs_that_file(model, tmp_path, refused):
    own = tmp_path / "own.urdf"
    text = load_description("wam4").urdf_path.read_text()
    own.write_text(text.replace('velocity="2', 'velocity="0.2'))
    learned = load_snapshot(model)
    learned.metadata_ = {**learned.metadata_, "robot": str(own)}
    learned.save(tmp_path / "model.npz")
    out = tmp_path / "motion.csv"
    said = refused(tmp_path / "model.npz", "-o", out)
    assert f"learned with '{own}'; expected --robot" in said and not out.exists()


def test_an_earlier_plan_is_replaced_and_no_other_file(model, tmp_path, refused):
    mine = tmp_path / "mine.csv"
    mine.write_text("time,j1\n0,0\n")
    assert "this program did not write it" in refused(model, "-o", mine)
    assert mine.read_text() == "time,j1\n0,0\n"
    mine.write_text("# motion planned by ilr_dynamics: earlier\n")
    assert main([str(model), "-o", str(mine), *SHORT]) == 0
    assert "earlier" not in mine.read_text()


def test_a_model_without_a_description_is_refused(tmp_path, refused):
    X = np.random.default_rng(0).normal(size=(50, 12))
    ILR(3).fit(X, X[:, :4]).save(tmp_path / "model.npz")
    out = tmp_path / "out.csv"
    said = refused(tmp_path / "model.npz", "-o", out)
    assert "has no identified dynamics, as it was learned without the arm's description" in said
    assert not out.exists()


def test_the_description_of_another_arm_is_refused(model, tmp_path, refused):
    out = tmp_path / "out.csv"
    assert "wam7" in (said := refused(model, "-o", out, "--robot", "wam7")), said
    text = load_description("wam4").urdf_path.read_text().replace("0.045 0 0.55", "0.045 0 0.5")
    (tmp_path / "own.urdf").write_text(text)
    said = refused(model, "-o", out, "--robot", tmp_path / "own.urdf")
    assert "of joint 'j4' differ from the model's" in said
    assert not out.exists()


def test_a_box_that_contains_the_arm_is_refused(model, tmp_path, refused):
    tool = RigidBodyModel(load_description("wam4")).tool_position(HOME)
    corners = [f"{value:.3f}" for value in (*(tool - 0.1), *(tool + 0.1))]
    out = tmp_path / "out.csv"
    said = refused(model, "-o", out, "--keep-out", *corners)
    assert (
        "from the arm's shape" in said and "expected a box that the arm has kept clear of" in said
    )
    assert not out.exists()


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (["--minutes", "0"], "--minutes is 0, expected above 0 and at most 60"),
        (["--minutes", "-3"], "--minutes is -3, expected above 0"),
        (["--minutes", "nan"], "--minutes is nan, expected above 0"),
        (["--minutes", "0.01"], "no motion of at most 0.6 s was found"),
        (["--speed", "1.5"], "speed is 1.5, expected 0.01 to 1 of the velocity limits"),
        (["--keep-out", *"000001"], "expected finite ones above 0"),
        (["--seed", "-1"], "--seed is -1, expected at least 0"),
        (["--candidates", "0"], "0 candidates, expected at least 1"),
    ],
)
def test_values_out_of_range_are_named(model, tmp_path, refused, options, text):
    out = tmp_path / "out.csv"
    assert text in refused(model, "-o", out, *options)
    assert not out.exists()


def test_the_file_has_a_name_by_which_it_is_played(model, tmp_path, refused):
    for name in ("motion.txt", ".csv"):
        assert "is no .csv" in refused(model, "-o", tmp_path / name)
    assert "expected a file in an existing folder" in refused(
        model, "-o", tmp_path / "no" / "m.csv"
    )
