# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""What a launch starts, by its arguments."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from ilr_dynamics.bringup.arguments import (
    arguments,
    arguments_of_two_arms,
    misspelt,
    of_each_arm,
)
from ilr_dynamics.bringup.plan import full_namespace, make_plan, running
from ilr_dynamics.exceptions import IlrDynamicsError

CONFIG = Path(__file__).parents[2] / "config"
RVIZ = ("rviz2", "robot_state_publisher")
NEEDED = {"inverse_dynamics", "wam_simulator"}


def plan(*, installed=RVIZ, outer="", **given: str):
    defaults = {argument.name: argument.default_value for argument in arguments(CONFIG)}
    assert given.keys() <= defaults.keys()
    return make_plan(defaults | given, CONFIG, installed, outer)


def programs(**given):
    return {program.name: program for program in plan(**given).programs}


def test_a_simulated_arm_is_controlled_moved_and_shown():
    started = programs()
    assert list(started) == [
        "inverse_dynamics",
        "wam_simulator",
        "visualizer",
        "trajectory_publisher",
    ]
    assert {name for name, program in started.items() if program.needed} == NEEDED
    assert all(program.files == (CONFIG / "wam4.yaml",) for program in started.values())
    # What is not given is left to the parameter file.
    assert started.pop("inverse_dynamics").parameters == {"autostart": True}
    assert all(program.parameters == {} for program in started.values())


def test_a_real_arm_is_neither_simulated_nor_moved_unasked():
    assert list(programs(sim="false")) == ["inverse_dynamics", "visualizer"]
    assert "trajectory_publisher" in programs(sim="false", trajectory="T1")
    assert "trajectory_publisher" not in programs(trajectory="none")


def test_arguments_go_before_the_parameter_file(tmp_path):
    tmp = yaml.safe_load((CONFIG / "wam4.yaml").read_text())
    tmp["/**/recorder"]["ros__parameters"]["files"]["directories"] = [str(tmp_path)]
    file = tmp_path / "arm.yaml"
    file.write_text(yaml.safe_dump(tmp))
    started = programs(
        params_file=str(file),
        controller="pd",
        snapshot="~/model.npz",
        trajectory="T2",
        lock_step="true",
        record=str(tmp_path / "run1"),
        log_level="debug",
        prefix="left_",
        use_sim_time="true",
    )
    own = {
        "inverse_dynamics": {
            "autostart": True,
            "controller": "pd",
            "snapshot": str(Path.home() / "model.npz"),
        },
        "wam_simulator": {"lock_step": True},
        "recorder": {"uri": str(tmp_path / "run1")},
        "visualizer": {},
        "trajectory_publisher": {"trajectory": "T2"},
    }
    for name, program in started.items():
        assert program.parameters == {"prefix": "left_", "use_sim_time": True, **own[name]}
        assert program.files == (file,)
        assert program.log_level == "debug"
    assert started.keys() == own.keys()


@pytest.mark.parametrize("driver", ["barrett_ros1", str(CONFIG / "drivers/barrett_ros1.yaml")])
def test_the_drivers_file_comes_after_the_robots(driver):
    files = programs(robot="wam7", driver=driver)["inverse_dynamics"].files
    assert files == (CONFIG / "wam7.yaml", CONFIG / "drivers/barrett_ros1.yaml")


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        (("", ""), "/"),
        (("", "left"), "/left"),
        (("", "/left/"), "/left"),
        (("lab", "left"), "/lab/left"),
        (("/lab", "/left"), "/left"),
        (("/lab", ""), "/lab"),
    ],
)
def test_namespaces_are_joined(parts, expected):
    assert full_namespace(*parts) == expected


def test_all_is_in_the_namespace_and_rviz_shows_that():
    started = programs(outer="lab", namespace="left", prefix="left_", rviz="true")
    assert {program.namespace for program in started.values()} == {"/lab/left"}
    assert started["visualizer"].node == "/lab/left/visualizer"
    rviz = started["rviz"]
    assert rviz.arguments[-2:] == ("-f", "left_base")
    config = (CONFIG / "wam_tracking.rviz").read_text()
    shown = set(re.findall(r"Value: (/\S+)", config))
    assert {topic: f"/lab/left{topic}" for topic in shown} == dict(rviz.remappings)
    description = started["robot_state_publisher"]
    assert 'link name="left_base"' in description.parameters["robot_description"]
    assert dict(description.remappings)["joint_states"] == "joint_states"


def test_rviz_gets_the_simulated_arm_as_a_robot_model_where_that_can_be_published():
    started = programs(rviz="true", robot="wam7", driver="barrett_ros1")
    assert started["visualizer"].parameters == {"arm_markers": False}
    model = started["robot_state_publisher"]
    assert 'name="wam/YawJoint"' in model.parameters["robot_description"]
    assert dict(model.remappings)["joint_states"] == "/wam/joint_states"
    for other in ({"installed": ("rviz2",)}, {"sim": "false"}):
        started = programs(rviz="true", **other)
        assert "robot_state_publisher" not in started
        assert started["visualizer"].parameters == {}


def test_rviz_knows_the_frame_of_the_markers_also_without_a_robot_model():
    installed = (*RVIZ, "tf2_ros")
    assert "frame_of_markers" not in programs(rviz="true", installed=installed)
    assert "frame_of_markers" not in programs(sim="false", installed=installed)
    started = programs(
        rviz="true", sim="false", namespace="left", prefix="left_", installed=installed
    )
    frame = started["frame_of_markers"]
    assert (frame.package, frame.namespace) == ("tf2_ros", "/left")
    assert frame.arguments[:2] == ("--frame-id", started["rviz"].arguments[-1])
    assert frame.arguments[2:] == ("--child-frame-id", "left_base_of_markers")
    assert not frame.needed


def test_markers_can_be_left_out():
    assert "visualizer" not in programs(visualizer="false")
    assert list(programs(visualizer="false", rviz="true"))[2:4] == [
        "robot_state_publisher",
        "rviz",
    ]


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"params_file": "/nowhere/a.yaml"}, "/nowhere/a.yaml: expected an existing"),
        ({"driver": "nowhere"}, "driver is nowhere: expected an existing parameter file"),
        ({"rviz": "true", "installed": ()}, "'rviz2' is not found"),
        ({"record": "/proc/nowhere"}, "/proc/nowhere.* outside the allowed directories"),
    ],
)
def test_what_cannot_be_started_is_refused_before(given, text):
    with pytest.raises(IlrDynamicsError, match=text):
        plan(**given)


@pytest.mark.parametrize(
    ("record", "text"),
    [("there", "there, which exists: expected a new folder"), ("arm.yaml/a/b", "arm.yaml cannot")],
)
def test_a_recording_that_cannot_be_written_is_refused_before(tmp_path, record, text):
    (tmp_path / "there").mkdir()
    file = tmp_path / "arm.yaml"
    file.write_text('/**/recorder: {ros__parameters: {files: {directories: ["/"]}}}')
    with pytest.raises(IlrDynamicsError, match=text):
        plan(params_file=str(file), record=str(tmp_path / record))


def test_another_launch_is_not_disturbed():
    left = plan(namespace="left")
    assert running(left, ["/inverse_dynamics", "/left/visualizer", "/right/wam_simulator"]) == ""
    text = running(left, ["/left/wam_simulator", "/left/inverse_dynamics"])
    assert "another /left/inverse_dynamics and /left/wam_simulator in this ROS domain" in text
    assert running(plan(sim="false"), ["/wam_simulator"]) == ""


def test_what_is_started_is_announced(monkeypatch):
    monkeypatch.setenv("ROS_DOMAIN_ID", "7")
    assert plan(namespace="left").announcement == (
        "wam4, simulated: /left/inverse_dynamics in ROS domain 7 (ROS_DOMAIN_ID)"
    )


def test_every_argument_is_described():
    known = arguments(CONFIG)
    assert all(argument.description.endswith(".") for argument in known)
    for argument in known:
        assert argument.choices is None or argument.default_value in argument.choices


@pytest.mark.parametrize(
    ("name", "meant"),
    [("controler", "controller"), ("trajectroy", "trajectory"), ("name_space", "namespace")],
)
def test_a_misspelt_argument_is_named_with_what_was_meant(name, meant):
    (line,) = misspelt([name], arguments(CONFIG))
    assert line == f"there is no argument {name}, so it is ignored: expected {meant}"


def test_arguments_and_what_another_launch_has_are_not_taken_for_misspelt_ones():
    known = arguments(CONFIG)
    others = ["ros_namespace", "launch_file_path", "gripper", "use_rviz_panel"]
    assert misspelt([*others, *(argument.name for argument in known)], known) == []


def test_two_arms_have_nothing_in_common_but_what_is_given(tmp_path):
    file = tmp_path / "arm.yaml"
    text = f"{{ros__parameters: {{files: {{directories: [{tmp_path}]}}}}}}"
    file.write_text(f"/**/recorder: {text}")
    given = {argument.name: argument.default_value for argument in arguments_of_two_arms(CONFIG)}
    given |= {"record": str(tmp_path / "run1"), "lock_step": "true", "params_file": str(file)}
    left, right = (plan(**of_arm).programs for of_arm in of_each_arm(given))
    assert not {program.node for program in left} & {program.node for program in right}
    for side, started in (("left", left), ("right", right)):
        by_name = {program.name: program.parameters for program in started}
        assert all(of_node["prefix"] == f"{side}_" for of_node in by_name.values())
        assert by_name["recorder"]["uri"] == str(tmp_path / f"run1_{side}")
        assert by_name["wam_simulator"]["lock_step"] is True
