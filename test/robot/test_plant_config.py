# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import yaml

from ilr_dynamics.exceptions import RobotDescriptionError
from ilr_dynamics.robot.description import DESCRIPTION_FOLDER
from ilr_dynamics.robot.plant_config import load_plant_config

WAM4 = load_plant_config("wam4")


def written(tmp_path, **changes):
    values = yaml.safe_load((DESCRIPTION_FOLDER / "wam4_plant.yaml").read_text())
    path = tmp_path / "plant.yaml"
    path.write_text(yaml.safe_dump({**values, **changes}))
    return path


def test_file_gives_the_same_numbers_as_the_name(tmp_path):
    config = load_plant_config(written(tmp_path))
    assert config.cycle == WAM4.cycle
    np.testing.assert_array_equal(config.friction.dry, WAM4.friction.dry)


def test_unknown_robot_has_no_numbers():
    with pytest.raises(RobotDescriptionError, match="puma_plant.yaml: cannot be read"):
        load_plant_config("puma")


@pytest.mark.parametrize("text", ["[1, 2]", "a: [", ""])
def test_what_is_no_mapping_is_refused(tmp_path, text):
    path = tmp_path / "plant.yaml"
    path.write_text(text)
    with pytest.raises(RobotDescriptionError, match="plant.yaml"):
        load_plant_config(path)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"gravity": 9.81}, r"unknown keys \['gravity'\]"),
        ({"ripple": None}, "ripple: None given, expected a mapping"),
        ({"ripple": {"amplitude": 0.1}}, r"ripple: .*missing keys \['periods_per_turn'\]"),
        ({"ripple": {"amplitude": [0.1, 0.1], "periods_per_turn": 3}}, "ripple has 2 amplitudes"),
        ({"ripple": {"amplitude": -0.1, "periods_per_turn": 3}}, "amplitude is -0.1"),
        ({"physics_step": 0.003}, "physics_step is 0.003"),
        ({"physics_step": 0.0015}, "expected a multiple of 0.0015"),
        ({"start_offset": -0.1}, "start_offset is -0.1"),
        ({"start_position": [0.0, 0.0]}, r"\(4, 4\) joints, expected 2"),
        ({"rotor_inertia": [1e-4]}, r"\(4, 1\) joints, expected 4"),
        ({"encoder": {"counts_per_turn": 0, "velocity_cutoff": 1.0}}, "encoder: .*positive"),
        ({"start_offset": "wide"}, "start_offset|not supported"),
    ],
)
def test_bad_numbers_are_refused(tmp_path, changes, words):
    with pytest.raises(RobotDescriptionError, match=words):
        load_plant_config(written(tmp_path, **changes))


def test_missing_number_is_named(tmp_path):
    path = written(tmp_path)
    values = yaml.safe_load(path.read_text())
    del values["cycle"]
    path.write_text(yaml.safe_dump(values))
    with pytest.raises(RobotDescriptionError, match=r"missing keys \['cycle'\]"):
        load_plant_config(path)


def test_physics_steps_fill_the_cycle():
    assert WAM4.steps_per_cycle == 2
    assert dataclasses.replace(WAM4, physics_step=0.0005).steps_per_cycle == 4
