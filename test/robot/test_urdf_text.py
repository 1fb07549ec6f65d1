# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""A URDF with the joint names of messages is the same arm."""

from __future__ import annotations

import numpy as np
import pytest

from ilr_dynamics.exceptions import RobotDescriptionError
from ilr_dynamics.robot.description import load_description
from ilr_dynamics.robot.rigid_body import RigidBodyModel
from ilr_dynamics.robot.urdf_text import root_link, urdf_text

LIMIT = '<limit lower="-1" upper="1" effort="5" velocity="2"/>'
INERTIAL = """<inertial><mass value="1"/>
<inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial>"""
ARM = f"""<robot name="arm">
<link name="tip"/><link name="middle">{INERTIAL}</link><link name="flange">{INERTIAL}</link>
<link name="foot"/>
<joint name="a" type="revolute"><parent link="foot"/><child link="middle"/>{LIMIT}</joint>
<joint name="b" type="revolute"><parent link="middle"/><child link="flange"/>{LIMIT}
<mimic joint="a" multiplier="2"/></joint>
<joint name="wrist" type="fixed"><parent link="flange"/><child link="tip"/></joint>
<transmission name="t"><joint name="b"/></transmission>
</robot>"""


@pytest.fixture
def arm(tmp_path):
    path = tmp_path / "arm.urdf"
    path.write_text(ARM)
    return load_description(path)


def reloaded(tmp_path, text):
    path = tmp_path / "renamed.urdf"
    path.write_text(text)
    return load_description(path)


def test_only_the_names_are_others(tmp_path):
    wam7 = load_description("wam7")
    names = tuple(f"wam/{number}" for number in range(7))
    renamed = reloaded(tmp_path, urdf_text(wam7, names))
    assert renamed.joint_names == names
    np.testing.assert_array_equal(renamed.gear_matrix, wam7.gear_matrix)
    np.testing.assert_array_equal(renamed.torque_limit, wam7.torque_limit)
    position = np.linspace(-0.5, 1.0, 7)
    np.testing.assert_array_equal(
        RigidBodyModel(renamed).link_pose(position, "tool"),
        RigidBodyModel(wam7).link_pose(position, "tool"),
    )


def test_what_refers_to_a_joint_follows(arm):
    text = urdf_text(arm, ["x", "y"])
    assert '<mimic joint="x"' in text
    assert '<transmission name="t"><joint name="y"' in text


@pytest.mark.parametrize("names", [("b", "a"), ("a", "wrist")])
def test_names_may_be_those_of_other_joints(tmp_path, arm, names):
    text = urdf_text(arm, names)
    assert reloaded(tmp_path, text).joint_names == names
    assert all(text.count(f'<joint name="{name}" type') == 1 for name in names)


def test_names_that_are_too_few_are_named(arm):
    with pytest.raises(RobotDescriptionError, match=r"1 joint names \(x\), expected 2: .* a, b"):
        urdf_text(arm, ["x"])


def test_the_root_is_the_link_that_hangs_on_no_joint(arm):
    assert root_link(arm) == "foot"
    assert root_link(load_description("wam4")) == "base"
