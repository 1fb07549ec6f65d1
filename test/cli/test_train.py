# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import argparse
import re
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ilr_dynamics.cli.learning_options import add_learning_options, parse_learning_options
from ilr_dynamics.cli.train import main
from ilr_dynamics.learning import UpdateJob, learn, read_samples
from ilr_dynamics.learning.learn import ignore_progress
from ilr_dynamics.learning.prior import RESIDUAL_SHARE
from ilr_dynamics.learning.protocol import decode_job, encode_job
from ilr_dynamics.learning.worker import run_job
from ilr_dynamics.nodes.parameter_file import read_complete_parameters, read_parameter_file
from ilr_dynamics.nodes.parameters import INVERSE_DYNAMICS
from ilr_dynamics.nodes.settings import learning_settings
from ilr_dynamics.regression import BatchInference, load_snapshot
from ilr_dynamics.robot.description import load_description

CONFIG = Path(__file__).parents[2] / "config"
ARM = ["--joints", "j1", "j2", "--components", "8", "--sample-rate", "0"]


@pytest.fixture(scope="module")
def bag_of_four_joints(record_motion):
    return record_motion(joints=("j1", "j2", "j3", "j4"), frequencies=(0.9, 1.3, 1.1, 0.7))


def test_recordings_become_a_snapshot(bag, record_motion, tmp_path, capsys):
    wide = record_motion(amplitude=0.8)
    output = tmp_path / "model.npz"
    assert main([str(bag), str(wide), "-o", str(output), *ARM]) == 0
    model = load_snapshot(output)
    shown, bars = capsys.readouterr()
    assert model.metadata_["joint_names"] == ["j1", "j2"]
    assert model.metadata_["recordings"] == [str(bag), str(wide)]
    assert f"{model.n_active_} local models (before: 0) from {model.n_samples_} samples" in shown
    assert "learning  100%" in bars


def test_inference_that_ends_early_is_a_line(bag, tmp_path, capsys, monkeypatch):
    early = BatchInference(2, fit_scales=False)
    monkeypatch.setattr("ilr_dynamics.learning.prior.INFERENCE", early)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert main([str(bag), "-o", str(tmp_path / "model.npz"), *ARM]) == 0
    lines = capsys.readouterr().err.splitlines()
    (line,) = (line for line in lines if "inference ended" in line)
    assert line.startswith("train: inference ended at its last iteration, number 2, which changed")


def test_snapshot_is_learned_on(bag, record_motion, tmp_path):
    first, second = tmp_path / "first.npz", tmp_path / "second.npz"
    wide = record_motion(amplitude=0.8)
    assert main([str(bag), "-o", str(first), *ARM]) == 0
    assert main([str(wide), "-o", str(second), "--snapshot", str(first), *ARM]) == 0
    older, newer = load_snapshot(first), load_snapshot(second)
    assert newer.n_samples_ == 2 * older.n_samples_
    assert newer.metadata_["recordings"] == [str(bag), str(wide)]


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["/nowhere/bag"], "train: recording '/nowhere/bag' does not exist"),
        (["/nowhere/bag", "--snapshot", "/nowhere/old.npz"], "/nowhere/old.npz"),
        (["/nowhere/bag", "-o", "/nowhere/model.npz"], "'/nowhere/model.npz' cannot be written"),
        (["/nowhere/bag", "-o", "/proc/self/model.npz"], "that this program may write to"),
        (["/nowhere/bag", "-o", "a\0b.npz"], "cannot be written (it holds a null byte)"),
        (["/nowhere/bag", "--joints", "j1", "j1"], "different names"),
        (["/nowhere/bag", "--seed", "-1"], "random_state is -1; expected an integer"),
    ],
)
def test_what_is_wrong_is_said_and_nothing_written(arguments, message, tmp_path, capsys):
    assert main(["-o", str(tmp_path / "model.npz"), *arguments]) == 1
    assert message in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_nothing_but_a_model_is_replaced(bag, tmp_path, capsys):
    output = tmp_path / "notes.npz"
    output.write_bytes(b"by hand")
    assert main([str(bag), "-o", str(output), *ARM]) == 1
    assert "this program did not write it" in capsys.readouterr().err
    assert output.read_bytes() == b"by hand"
    assert main([str(bag), "-o", str(bag / "model.npz"), *ARM]) == 1
    assert "lies in the recording" in capsys.readouterr().err
    output.unlink()
    for _ in range(2):
        assert main([str(bag), "-o", str(output), *ARM]) == 0


def test_parameters_of_the_node_give_its_model(bag_of_four_joints, tmp_path):
    file, output = CONFIG / "wam4.yaml", tmp_path / "model.npz"
    values = read_parameter_file(file, "/inverse_dynamics")
    assert main([str(bag_of_four_joints), "-o", str(output), "--params-file", str(file)]) == 0
    model = load_snapshot(output)
    settings = replace(learning_settings(values), directories=None)
    of_the_node, _ = learn(read_samples(bag_of_four_joints, settings), settings)
    np.testing.assert_array_equal(model.statistics_, of_the_node.statistics_)
    assert model.scaling.input_scale[:4] == values["learning.position_scale"]
    assert model.global_model_.name == "identified_dynamics"


def test_options_have_their_way_over_the_parameters(bag_of_four_joints, tmp_path):
    output = tmp_path / "model.npz"
    options = ["--params-file", str(CONFIG / "wam4.yaml"), "--components", "3", "--seed", "5"]
    assert main([str(bag_of_four_joints), "-o", str(output), *options]) == 0
    model = load_snapshot(output)
    assert (model.n_components, model.random_state) == (3, 5)
    # Of what identified dynamics leave of the torques.
    assert model.scaling.output_scale == [RESIDUAL_SHARE * scale for scale in (4.0, 8.0, 2.0, 2.0)]


def test_dynamics_of_an_arm_are_identified(bag_of_four_joints, tmp_path):
    models = []
    for arm in (["--joints", "j1", "j2", "j3", "j4"], ["--robot", "wam4"]):
        output = tmp_path / f"model{len(models)}.npz"
        assert main([str(bag_of_four_joints), "-o", str(output), "--components", "3", *arm]) == 0
        models.append(load_snapshot(output))
    assert models[0].global_model_ is None
    assert models[1].global_model_.weight.min() > 0.0


def parse(*options):
    parser = argparse.ArgumentParser()
    add_learning_options(parser)
    return parse_learning_options(parser, options)[1]


@pytest.mark.parametrize("robot", ["wam4", "wam7"])
def test_a_robot_of_the_package_has_the_parameters_of_the_package(robot):
    values = read_parameter_file(CONFIG / f"{robot}.yaml", "/inverse_dynamics")
    assert parse("--robot", robot) == replace(learning_settings(values), directories=None)


def test_a_robot_of_a_file_has_the_joints_and_limits_of_the_file():
    arm = load_description("wam7")
    settings = parse("--robot", str(arm.urdf_path), "--components", "7")
    assert settings.joint_names == arm.joint_names
    assert settings.robot == str(arm.urdf_path)
    assert settings.samples.torque_limit == arm.torque_limit.tolist()
    assert settings.samples.velocity_limit == arm.velocity_limit.tolist()
    assert settings.model["n_components"] == 7 and settings.model["input_scale"] is None


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text,
        # Nobody names the robot.
        lambda text: text.replace("robot: wam4", "", 1),
        lambda text: text.replace("identify_dynamics: true", "identify_dynamics: false"),
        lambda text: text.replace("/inverse_dynamics:", "/**:"),
        None,
    ],
    ids=["package", "no robot", "not identified", "every node", "no file"],
)
def test_the_service_learns_the_same_model(change, bag_of_four_joints, tmp_path):
    """The service sends the settings of the same parameters to a learner."""
    file, text = tmp_path / "parameters.yaml", (CONFIG / "wam4.yaml").read_text()
    file.write_text(text if change is None else change(text))
    values = read_complete_parameters([file], "/inverse_dynamics", INVERSE_DYNAMICS)
    settings = learning_settings({**values, "files.directories": ["/"]})
    job = decode_job(encode_job(UpdateJob(str(bag_of_four_joints), str(tmp_path), settings)))
    of_the_node = load_snapshot(run_job(job, ignore_progress).base)
    output = tmp_path / "model.npz"
    options = [] if change is None else ["--params-file", str(file)]
    assert main([str(bag_of_four_joints), "-o", str(output), *options]) == 0
    model = load_snapshot(output)
    np.testing.assert_array_equal(model.statistics_, of_the_node.statistics_)
    X = np.random.default_rng(0).normal(size=(20, 12))
    np.testing.assert_array_equal(model.predict(X), of_the_node.predict(X))
    assert model.metadata_ == of_the_node.metadata_


@pytest.mark.parametrize(
    "old, new, message",
    [
        ("n_components: 300", "n_components: many", "n_components .* 'many'; expected an integer"),
        ("n_components: 300", "n_components: 0", "n_components .* 0; expected an integer from 1"),
        ("n_components: 300", "components: 300", "learning.components in .*n_components"),
        ("torque_scale: [4.0, 8.0, 2.0, 2.0]", "", "learning.torque_scale is not in"),
        ("torque_scale: [4.0, 8", "torque_scale: [4, 8", "expected floats, .* write 4.0, not 4"),
        ("torque_scale: [4.0, 8.0, 2.0, 2.0]", "torque_scale: [4.0]", "1 values; expected 4"),
    ],
)
def test_parameters_that_the_node_would_refuse_are_refused(
    old, new, message, bag_of_four_joints, tmp_path, capsys
):
    text = (CONFIG / "wam4.yaml").read_text()
    assert old in text
    file = tmp_path / "parameters.yaml"
    file.write_text(text.replace(old, new))
    output = tmp_path / "model.npz"
    assert main([str(bag_of_four_joints), "-o", str(output), "--params-file", str(file)]) == 1
    assert re.search(message, capsys.readouterr().err)
    assert not output.exists()


def test_the_tool_frame_is_that_of_the_parameter_file_and_its_arm(tmp_path):
    text = (CONFIG / "wam4.yaml").read_text().replace('tool_frame: ""', "tool_frame: forearm")
    file = tmp_path / "arm.yaml"
    file.write_text(text)
    for options, tool in (([], "forearm"), (["--robot", "wam7"], "")):
        assert parse("--params-file", str(file), *options).tool_frame == tool
