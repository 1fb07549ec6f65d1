# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import argparse
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ilr_dynamics.cli.learning_options import add_learning_options, parse_learning_options
from ilr_dynamics.cli.train import main
from ilr_dynamics.learning import learn_from_recording
from ilr_dynamics.learning.prior import RESIDUAL_SHARE
from ilr_dynamics.nodes.learning_parameters import learning_settings
from ilr_dynamics.nodes.parameter_file import read_parameter_file
from ilr_dynamics.regression import load_snapshot

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
        (["/nowhere/bag", "-o", "/nowhere/model.npz"], "there is no folder /nowhere"),
        (["/nowhere/bag", "--joints", "j1", "j1"], "different names"),
    ],
)
def test_what_is_wrong_is_said_and_nothing_written(arguments, message, tmp_path, capsys):
    assert main(["-o", str(tmp_path / "model.npz"), *arguments]) == 1
    assert message in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_parameters_of_the_node_give_its_model(bag_of_four_joints, tmp_path):
    file, output = CONFIG / "wam4.yaml", tmp_path / "model.npz"
    values = read_parameter_file(file, "/inverse_dynamics")
    assert main([str(bag_of_four_joints), "-o", str(output), "--params-file", str(file)]) == 0
    model = load_snapshot(output)
    settings = replace(learning_settings(values), directories=None)
    of_the_node, _ = learn_from_recording(bag_of_four_joints, settings)
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
    for robot in ([], ["--robot", "wam4"]):
        output = tmp_path / f"model{len(models)}.npz"
        assert main([str(bag_of_four_joints), "-o", str(output), "--components", "3", *robot]) == 0
        models.append(load_snapshot(output))
    assert models[0].global_model_ is None
    assert models[1].global_model_.seen > 0.0


@pytest.mark.parametrize(
    "old, new, message",
    [
        ("n_components: 300", "n_components: many", "learning.n_components .* of type integer"),
        ("torque_scale: [4.0, 8.0, 2.0, 2.0]", "", "learning.torque_scale is not in"),
        ("torque_scale: [4.0, 8.0, 2.0, 2.0]", "torque_scale: [4.0]", "4 positive numbers"),
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
        parser = argparse.ArgumentParser()
        add_learning_options(parser)
        _, settings = parse_learning_options(parser, ["--params-file", str(file), *options])
        assert settings.tool_frame == tool
