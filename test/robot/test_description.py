# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ilr_dynamics.exceptions import RobotDescriptionError
from ilr_dynamics.robot.description import load_description

JOINT = """<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>
<axis xyz="0 0 1"/><limit {limit}/></joint>"""
LIMIT = 'lower="-1" upper="1" effort="5" velocity="2"'


def joint(name="a", kind="revolute", parent="base", child="tip", limit=LIMIT):
    return JOINT.format(name=name, kind=kind, parent=parent, child=child, limit=limit)


def urdf(tmp_path: Path, *joints: str, links=("base", "tip")) -> Path:
    path = tmp_path / "arm.urdf"
    body = "".join(f'<link name="{link}"/>' for link in links) + "".join(joints)
    path.write_text(f'<robot name="arm">{body}</robot>')
    return path


def test_wam4_has_the_limits_of_the_arm():
    description = load_description("wam4")
    assert description.name == "wam4"
    assert description.joint_names == ("j1", "j2", "j3", "j4")
    np.testing.assert_array_equal(description.position_lower, [-2.6, -2.0, -2.8, -0.9])
    np.testing.assert_array_equal(description.position_upper, [2.6, 2.0, 2.8, 3.1])
    np.testing.assert_array_equal(description.torque_limit, [77, 160, 80, 40])
    np.testing.assert_array_equal(description.velocity_limit, [2, 2, 2, 2])
    assert description.tool_frame == "tool"


def test_limits_cannot_be_changed():
    with pytest.raises(ValueError, match="read-only"):
        load_description("wam4").torque_limit[0] = 1.0


def test_joints_follow_the_chain_not_the_order_in_the_file(tmp_path):
    path = urdf(
        tmp_path,
        joint("second", parent="middle", child="tip"),
        joint("first", parent="base", child="middle"),
        links=("tip", "middle", "base"),
    )
    description = load_description(path)
    assert description.joint_names == ("first", "second")
    assert description.tool_frame == "tip"
    assert load_description(str(path)).urdf_path == path


def test_unknown_robot_names_the_known_ones():
    with pytest.raises(RobotDescriptionError, match="unknown robot 'puma'.*wam4"):
        load_description("puma")


def test_missing_file_is_named(tmp_path):
    with pytest.raises(RobotDescriptionError, match="no URDF file at .*nowhere.urdf"):
        load_description(tmp_path / "nowhere.urdf")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("<robot>", "not well-formed"),
        ("<sdf/>", "root element is <sdf>, expected <robot>"),
        ('<robot name="arm"><link name="base"/></robot>', "no revolute joint"),
        ('<robot><joint name="a" type="revolute"/></robot>', "'a' has no <parent"),
    ],
)
def test_what_is_no_arm_is_refused(tmp_path, text, words):
    path = tmp_path / "arm.urdf"
    path.write_text(text)
    with pytest.raises(RobotDescriptionError, match=words):
        load_description(path)


def test_binary_file_is_refused(tmp_path):
    path = tmp_path / "arm.urdf"
    path.write_bytes(bytes(range(256)))
    with pytest.raises(RobotDescriptionError, match="not well-formed"):
        load_description(path)


@pytest.mark.parametrize(
    ("limit", "words"),
    [
        ('lower="-1" upper="1" effort="5"', "velocity=None"),
        ('lower="-1" upper="x" effort="5" velocity="2"', "upper='x'"),
        ('lower="1" upper="-1" effort="5" velocity="2"', "lower < upper"),
        ('lower="-1" upper="1" effort="0" velocity="2"', "positive"),
        ('lower="-1" upper="nan" effort="1" velocity="2"', "finite"),
    ],
)
def test_bad_limits_are_refused(tmp_path, limit, words):
    with pytest.raises(RobotDescriptionError, match=f"'a' has .*{words}"):
        load_description(urdf(tmp_path, joint(limit=limit)))


def test_other_joint_types_are_refused(tmp_path):
    with pytest.raises(RobotDescriptionError, match="'a' is of type 'prismatic'"):
        load_description(urdf(tmp_path, joint(kind="prismatic")))


def test_branching_arm_is_refused(tmp_path):
    path = urdf(tmp_path, joint("a"), joint("b", child="other"), links=("base", "tip", "other"))
    with pytest.raises(RobotDescriptionError, match="2 revolute joints branch"):
        load_description(path)


def test_loop_of_links_is_refused(tmp_path):
    path = urdf(tmp_path, joint("a"), joint("b", parent="tip", child="base"))
    with pytest.raises(RobotDescriptionError, match="loop"):
        load_description(path)


def test_tool_frame_must_be_chosen_where_the_arm_has_several_ends(tmp_path):
    path = urdf(
        tmp_path,
        joint("a"),
        joint("camera_mount", kind="fixed", child="camera"),
        links=("base", "tip", "camera"),
    )
    with pytest.raises(RobotDescriptionError, match="tip, camera end the arm"):
        load_description(path)
    assert load_description(path, tool_frame="tip").tool_frame == "tip"
    with pytest.raises(RobotDescriptionError, match="no link 'hand'"):
        load_description(path, tool_frame="hand")
