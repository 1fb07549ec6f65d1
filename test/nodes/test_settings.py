# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from ilr_dynamics.control import (
    LearnedFeedForward,
    NoFeedForward,
    RigidBodyFeedForward,
)
from ilr_dynamics.exceptions import InvalidParameterError
from ilr_dynamics.learning import read_samples
from ilr_dynamics.nodes.parameter_file import read_parameter_file
from ilr_dynamics.nodes.parameters import INVERSE_DYNAMICS
from ilr_dynamics.nodes.settings import ControlSettings, learning_settings, snapshot_folder
from ilr_dynamics.recording import RecordingWriter
from ilr_dynamics.robot.description import load_description
from ilr_dynamics.robot.rigid_body import RigidBodyModel

CONFIG = Path(__file__).parents[2] / "config"

ROBOTS = ("wam4", "wam7")


def of_robot(robot):
    return read_parameter_file(CONFIG / f"{robot}.yaml", "/inverse_dynamics")


@pytest.fixture
def values():
    return of_robot("wam4")


@pytest.fixture(scope="module")
def arm():
    return load_description("wam4")


@pytest.mark.parametrize("robot", ROBOTS)
def test_file_names_every_parameter_and_no_other(robot):
    assert set(of_robot(robot)) == {row.name for row in INVERSE_DYNAMICS}


@pytest.mark.parametrize("robot", ROBOTS)
def test_file_has_values_that_the_node_accepts(robot):
    values = of_robot(robot)
    for row in INVERSE_DYNAMICS:
        row.check(values[row.name])


def test_every_parameter_is_described(values):
    assert all(row.descriptor().description for row in INVERSE_DYNAMICS)


def test_settings_are_the_files(values, arm):
    settings = ControlSettings.from_values(values, arm)
    assert settings.gains.kp.tolist() == [40.0, 60.0, 25.0, 15.0]
    assert settings.limits.position_upper[0] == arm.position_upper[0] - 0.05
    assert settings.limits.torque_rate.tolist() == [385.0, 800.0, 400.0, 200.0]
    assert settings.supervision.let_down_time is None


def test_arm_is_let_down_if_the_fault_action_says_so(values, arm):
    values["fault.action"] = "let_down"
    assert ControlSettings.from_values(values, arm).supervision.let_down_time == 3.0


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("joints", ["j1", "j2"], r"joints is \['j1', 'j2'\]; expected 4 different names"),
        ("joints", ["j1"] * 4, "expected 4 different names"),
        ("gains.kp", [1.0] * 3, "gains.kp holds 3 values; expected 4"),
        ("limits.torque", [78.0, 1.0, 1.0, 1.0], "limits.torque is .* expected at most"),
        ("limits.velocity", [9.0] * 4, "limits.velocity is .* expected at most"),
        ("limits.torque_rate", [1.0] * 5, "limits.torque_rate holds 5 values; expected 4"),
        ("limits.position_margin", 2.0, "margin is 2.0; expected a float from 0 to 1 rad"),
        ("trajectory.start_tolerance", [0.1], "tolerance holds 1 values; expected 4"),
        (
            "gravity",
            [0.0, -9.81],
            r"gravity is \[0.0, -9.81\]; expected 3 floats, each from -20 to",
        ),
        ("gravity", [0.0, 0.0, -98.1], "gravity is .* expected 3 floats, each from -20 to 20 m/s"),
        ("controller", "lqr", "controller is 'lqr'; expected one of pd, analytic, ilr"),
        ("fault.action", "panic", "fault.action is 'panic'; expected one of hold, let_down"),
        ("gate.std_refused", [0.1] * 4, "std_trusted must be below std_refused"),
    ],
)
def test_values_that_do_not_fit_are_refused(values, arm, name, value, text):
    values[name] = value
    with pytest.raises(InvalidParameterError, match=text):
        ControlSettings.from_values(values, arm)


@pytest.mark.parametrize(
    ("controller", "fallback", "learned", "kind"),
    [
        ("pd", "analytic", True, NoFeedForward),
        ("analytic", "none", True, RigidBodyFeedForward),
        ("ilr", "analytic", True, LearnedFeedForward),
        ("ilr", "analytic", False, RigidBodyFeedForward),
        ("ilr", "none", False, NoFeedForward),
    ],
)
def test_feedforward_follows_the_controllers_kind(
    values, arm, controller, fallback, learned, kind
):
    values |= {"controller": controller, "feedforward.fallback": fallback}
    settings = ControlSettings.from_values(values, arm)
    physics = RigidBodyFeedForward(RigidBodyModel(arm))
    predictor = SimpleNamespace(prior_std=None) if learned else None
    assert type(settings.feedforward(physics, predictor)) is kind


def test_learner_reads_the_topic_that_is_controlled_unless_another_is_named(values):
    values["state.topic"] = "/arm/states"
    assert learning_settings(values).state_topic == "/arm/states"
    values["learning.state_topic"] = "joint_states"
    assert learning_settings(values).state_topic == "joint_states"


def test_learner_is_told_the_arm(values):
    values["learning.sample_rate"] = 0.0
    values["learning.command_topic"] = ""
    settings = learning_settings(values)
    assert settings.joint_names == ("j1", "j2", "j3", "j4")
    assert settings.samples.sample_rate is None
    assert settings.command_topic is None
    np.testing.assert_array_equal(settings.samples.torque_limit, [77.0, 160.0, 80.0, 40.0])
    assert settings.model["input_scale"] == [0.2] * 4 + [0.4] * 4 + [1.2] * 4
    assert settings.model["output_scale"] == [4.0, 8.0, 2.0, 2.0]


@pytest.mark.parametrize(
    ("adapt", "factor", "expected"),
    [(True, 1.0, "auto"), (True, 0.01, 0.01), (False, 1.0, 1.0), (False, 0.01, 0.01)],
)
def test_an_update_decides_what_to_forget_unless_a_number_goes_before_it(
    values, adapt, factor, expected
):
    values |= {"learning.adapt": adapt, "learning.forgetting_factor": factor}
    assert learning_settings(values).model["forgetting_factor"] == expected


@pytest.mark.parametrize("robot", ROBOTS)
def test_an_update_decides_by_itself_by_default(robot):
    assert learning_settings(of_robot(robot)).model["forgetting_factor"] == "auto"


@pytest.mark.parametrize(("torque", "factor"), [("commanded", 3.0), ("measured", 1.0)])
def test_learner_takes_the_torque_that_it_is_told_to(values, tmp_path, torque, factor):
    joints, period = values["joints"], 2_000_000
    with RecordingWriter(tmp_path / "bag") as writer:
        for k in range(600):
            position = 0.4 * np.sin(0.01 * k + np.arange(4))
            stamp, effort = period * (k + 1), 5.0 * position
            writer.write_joint_state("/joint_states", stamp, joints, position, effort=effort)
            writer.write_joint_state("/joint_torque_command", stamp, joints, effort=3.0 * effort)
    values |= {"learning.torque": torque, "files.directories": [str(tmp_path)]}
    samples = read_samples(tmp_path / "bag", learning_settings(values))
    ratio = samples.Y.std(axis=0) / samples.X[:, :4].std(axis=0)
    np.testing.assert_allclose(ratio, 5.0 * factor, rtol=0.05)


def test_settings_of_the_long_arm_fit_it_and_its_learner():
    values = of_robot("wam7")
    settings = ControlSettings.from_values(values, load_description("wam7"))
    assert len(settings.gains.kp) == len(settings.limits.torque_rate) == 7
    learner = learning_settings(values)
    assert len(learner.joint_names) == len(learner.model["output_scale"]) == 7
    assert len(learner.model["input_scale"]) == 3 * 7
    assert learner.robot == "wam7"


@pytest.mark.parametrize(
    ("scale", "text"),
    [
        ([0.2] * 3, "holds 3 values; expected 4, one per joint"),
        ([0.2, 0.2, 0.0, 0.2], "0.0.*; expected floats, one per joint, each from 1e-09 rad"),
        ([0.2, 0.2, 0.2, np.inf], "inf.*; expected floats"),
    ],
)
def test_scales_that_do_not_fit_the_arm_are_refused(values, scale, text):
    values["learning.position_scale"] = scale
    with pytest.raises(InvalidParameterError, match=f"learning.position_scale .*{text}"):
        learning_settings(values)


def test_the_snapshot_folder_is_allowed_besides_the_directories(values):
    values["files.directories"] = ["/data"]
    values["learning.snapshot_directory"] = "/models"
    assert learning_settings(values).directories == ("/data", "/models")


def test_snapshots_go_to_the_ros_folder_unless_told_otherwise(values, monkeypatch):
    monkeypatch.setenv("ROS_HOME", "/data/ros")
    assert snapshot_folder(values) == Path("/data/ros/ilr_dynamics")
    values["learning.snapshot_directory"] = "~/models"
    assert snapshot_folder(values) == Path.home() / "models"
