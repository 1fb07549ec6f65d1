# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from ilr_dynamics.exceptions import RobotDescriptionError
from ilr_dynamics.robot.description import load_description
from ilr_dynamics.robot.rigid_body import RigidBodyModel

JOINT = """<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>
<axis xyz="0 0 1"/><limit {limit}/></joint>"""
JOINT_RATIO = '<joint name="a" ratio="5"/>'
INERTIAL = """<inertial><mass value="1"/>
<inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial>"""
LIMIT = 'lower="-1" upper="1" effort="5" velocity="2"'


def joint(name="a", kind="revolute", parent="base", child="tip", limit=LIMIT):
    return JOINT.format(name=name, kind=kind, parent=parent, child=child, limit=limit)


def urdf(tmp_path: Path, *joints: str, links=("base", "tip")) -> Path:
    path = tmp_path / "arm.urdf"
    body = "".join(f'<link name="{link}">{INERTIAL}</link>' for link in links) + "".join(joints)
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


def test_wam7_is_wam4_with_a_wrist():
    wam4, wam7 = load_description("wam4"), load_description("wam7")
    assert wam7.name == "wam7"
    assert wam7.joint_names == (*wam4.joint_names, "j5", "j6", "j7")
    for limit, wrist in {
        "position_lower": [-4.76, -1.6, -3.0],
        "position_upper": [1.24, 1.6, 3.0],
        "torque_limit": [5, 5, 2],
        "velocity_limit": [2, 2, 2],
    }.items():
        np.testing.assert_array_equal(getattr(wam7, limit), [*getattr(wam4, limit), *wrist])
    assert wam7.tool_frame == "tool"


# Rotor inertia with the drive's input side [kg m^2], and what each joint feels of
# it, both as published.
ROTORS = [1.1631e-4, 1.1831e-4, 1.1831e-4, 1.0686e-4, 1.685e-5, 1.745e-5, 1.42e-6]
REFLECTED = [0.205190, 0.1889, 0.0669, 0.034628, 0.00323, 0.00323, 0.000318]


@pytest.mark.parametrize("robot", ["wam4", "wam7"])
def test_gears_reflect_the_published_inertia(robot):
    gears = load_description(robot).gear_matrix
    n_joints = len(gears)
    reflected = gears.T @ np.diag(ROTORS[:n_joints]) @ gears
    np.testing.assert_allclose(np.diag(reflected), REFLECTED[:n_joints], rtol=6e-3)


def test_wam7_gears_are_two_differentials_and_three_motors_of_one_joint():
    gears = load_description("wam7").gear_matrix
    turned = [np.flatnonzero(row).tolist() for row in gears]
    assert turned == [[0], [1, 2], [1, 2], [3], [4, 5], [4, 5], [6]]
    np.testing.assert_array_equal(gears[:4, :4], load_description("wam4").gear_matrix)
    np.testing.assert_allclose(gears[1, 1] / gears[1, 2], -1.68, rtol=1e-5)
    # Motors of a differential turn alike for one of its joints and oppositely for the other.
    np.testing.assert_array_equal(gears[1] * [1, -1, 1, 1, 1, 1, 1], gears[2])
    np.testing.assert_array_equal(gears[4] * [1, 1, 1, 1, 1, -1, 1], gears[5])
    np.testing.assert_array_equal(np.abs(gears[4:, 4:]).max(axis=0), [9.7, 9.7, 14.93])


def test_path_may_begin_in_the_home_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    path = urdf(tmp_path, joint())
    assert load_description(f"~/{path.name}").urdf_path == path.resolve()


def test_arm_without_motors_has_no_gears(tmp_path):
    assert load_description(urdf(tmp_path, joint())).gear_matrix is None


def motors(*ratios):
    return [f'<motor name="m{index}">{row}</motor>' for index, row in enumerate(ratios, start=1)]


def two_joints(tmp_path, *motors):
    return urdf(
        tmp_path,
        joint("b", parent="middle", child="tip"),
        joint("a", parent="base", child="middle"),
        *motors,
        links=("base", "middle", "tip"),
    )


def test_gears_follow_the_joints_of_the_chain_and_the_motors_of_the_file(tmp_path):
    path = two_joints(
        tmp_path,
        *motors('<joint name="b" ratio="3"/><joint name="a" ratio="-2"/>', JOINT_RATIO),
    )
    description = load_description(path)
    assert description.joint_names == ("a", "b")
    np.testing.assert_array_equal(description.gear_matrix, [[-2, 3], [5, 0]])
    with pytest.raises(ValueError, match="read-only"):
        description.gear_matrix[0, 0] = 1.0


@pytest.mark.parametrize(
    ("ratios", "words"),
    [
        ([JOINT_RATIO], "1 motors, expected one for each of 2 joints"),
        ([JOINT_RATIO, JOINT_RATIO], r"\[\[5.0, 0.0\], \[5.0, 0.0\]\] is singular"),
        ([JOINT_RATIO, ""], "singular"),
        ([JOINT_RATIO, '<joint name="c" ratio="5"/>'], "'m2' names joint 'c', expected .* a, b"),
        ([JOINT_RATIO, 2 * JOINT_RATIO], "'m2' names joint 'a', expected .* at most once"),
        ([JOINT_RATIO, '<joint name="b" ratio="x"/>'], "'m2' has ratio 'x' to joint 'b'"),
        ([JOINT_RATIO, '<joint name="b" ratio="nan"/>'], "'m2' has ratio 'nan' to joint 'b'"),
        ([JOINT_RATIO, '<joint name="b"/>'], "'m2' has ratio '' to joint 'b'"),
    ],
)
def test_motors_that_do_not_fit_the_joints_are_refused(tmp_path, ratios, words):
    with pytest.raises(RobotDescriptionError, match=words):
        load_description(two_joints(tmp_path, *motors(*ratios)))


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
    with pytest.raises(RobotDescriptionError, match="unknown robot 'puma'.*wam4, wam7, or"):
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


def placed(kind="revolute", axis="0 0 1", **origin):
    """A joint with an axis and an origin."""
    place = " ".join(f'{name}="{text}"' for name, text in origin.items())
    text = joint("a", kind).replace('<axis xyz="0 0 1"/>', f'<axis xyz="{axis}"/>')
    return text.replace("</joint>", f"<origin {place}/></joint>")


@pytest.mark.parametrize("axis", ["0 0 0", "0 0 1e-9", "0 1", "0 0 nan", "z", ""])
def test_an_axis_without_direction_is_refused(tmp_path, axis):
    words = f"joint 'a' has the axis xyz='{axis}', expected three finite numbers, not all"
    with pytest.raises(RobotDescriptionError, match=words):
        load_description(urdf(tmp_path, placed(axis=axis)))


def test_an_axis_may_have_any_length(tmp_path):
    motion = np.array([[0.4], [1.0], [3.0]])
    torques = [
        RigidBodyModel(load_description(urdf(tmp_path, placed(axis=axis)))).inverse_dynamics(
            *motion
        )
        for axis in ("0 1 0", "0 2 0", "0 1e-3 0")
    ]
    np.testing.assert_allclose(torques[1:], [torques[0]] * 2)


@pytest.mark.parametrize("kind", ["revolute", "fixed"])
@pytest.mark.parametrize("name", ["xyz", "rpy"])
@pytest.mark.parametrize("text", ["0 0 nan", "0,0 0", "0 0", "0 0 ${h}", "0 0 0,28", ""])
def test_origins_of_joints_that_cannot_be_read_are_refused(tmp_path, kind, name, text):
    words = re.escape(f"joint 'a' has the origin {name}='{text}', expected three finite")
    with pytest.raises(RobotDescriptionError, match=words):
        load_description(urdf(tmp_path, placed(kind, **{name: text})))


def test_limits_that_may_be_degrees_are_a_warning(tmp_path):
    limit = 'lower="-180" upper="180" effort="5" velocity="2"'
    (text,) = load_description(urdf(tmp_path, joint(limit=limit))).warnings
    assert "joint 'a' goes from -180 to 180 rad" in text and "degrees?" in text
    limit = limit.replace("180", "12.5")
    assert load_description(urdf(tmp_path, joint(limit=limit))).warnings == ()


def test_other_joint_types_are_refused(tmp_path):
    with pytest.raises(RobotDescriptionError, match="'a' is of type 'prismatic'"):
        load_description(urdf(tmp_path, joint(kind="prismatic")))


def test_a_continuous_joint_has_no_limits_of_position(tmp_path):
    path = urdf(tmp_path, joint(kind="continuous", limit='effort="5" velocity="2"'))
    arm = load_description(path)
    assert arm.continuous == (True,)
    assert (arm.position_lower, arm.position_upper) == (-np.inf, np.inf)
    assert (arm.velocity_limit, arm.torque_limit) == (2.0, 5.0)
    # Its position is one angle, and its torque that of a revolute joint.
    bounded = load_description(urdf(tmp_path, joint()))
    model, motion = RigidBodyModel(bounded), np.array([[4.0], [1.0], [3.0]])
    urdf(tmp_path, joint(kind="continuous", limit='effort="5" velocity="2"'))
    assert RigidBodyModel(arm).inverse_dynamics(*motion) == model.inverse_dynamics(*motion)
    for limit in ('effort="5"', 'velocity="2"', 'effort="5" velocity="0"'):
        with pytest.raises(RobotDescriptionError, match="joint 'a' has"):
            load_description(urdf(tmp_path, joint(kind="continuous", limit=limit)))


def test_branching_arm_is_refused(tmp_path):
    path = urdf(tmp_path, joint("a"), joint("b", child="other"), links=("base", "tip", "other"))
    with pytest.raises(RobotDescriptionError, match="2 revolute joints branch"):
        load_description(path)


def test_loop_of_links_is_refused(tmp_path):
    path = urdf(tmp_path, joint("a"), joint("b", parent="tip", child="base"))
    with pytest.raises(RobotDescriptionError, match="loop"):
        load_description(path)
