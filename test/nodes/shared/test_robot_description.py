# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""The arm in a robot's URDF."""

import numpy as np
import pytest

from ilr_dynamics.exceptions import RobotDescriptionError
from ilr_dynamics.nodes.shared.robot_description import of_joints
from ilr_dynamics.robot.description import load_description

WAM4 = load_description("wam4").urdf_path.read_text()
JOINTS = ["j1", "j2", "j3", "j4"]


def arm_of(text, joints, tmp_path):
    (tmp_path / "arm.urdf").write_text(of_joints(text, joints))
    return load_description(tmp_path / "arm.urdf")


def two_arms() -> str:
    """Return two arms on one base, the second with another prefix."""
    body = WAM4[WAM4.index("<link") : WAM4.rindex("</robot>")]
    second = body
    for name in (*JOINTS, *links()):
        second = second.replace(f'"{name}"', f'"right_{name}"')
    mount = (
        '<link name="world"/>'
        '<joint name="m1" type="fixed"><parent link="world"/><child link="base"/></joint>'
        '<joint name="m2" type="fixed"><parent link="world"/><child link="right_base"/></joint>'
    )
    return f'<robot name="two">{mount}{body}{second}</robot>'


def links() -> list[str]:
    return [part.partition('"')[0] for part in WAM4.split('<link name="')[1:]]


def test_one_arm_of_two_moves(tmp_path):
    right = [f"right_{name}" for name in JOINTS]
    for joints in (JOINTS, right):
        arm = arm_of(two_arms(), joints, tmp_path)
        assert list(arm.joint_names) == joints
        np.testing.assert_array_equal(arm.gear_matrix, load_description("wam4").gear_matrix)


def test_robot_with_other_names_than_messages_is_taken_as_it_is():
    assert of_joints(WAM4, ["a", "b", "c", "d"]) == WAM4


@pytest.mark.parametrize(
    ("text", "joints", "found"),
    [
        ("<robot", JOINTS, "robot_description: not well-formed XML"),
        (WAM4, ["j2", "j1", "j3", "j4"], "expected the order from base to tool.*j1 does not fol"),
        (" " * 10_000_001, JOINTS, "has 10000001 characters; expected at most 10000000"),
    ],
)
def test_what_is_no_arm_of_these_joints_is_refused(text, joints, found):
    with pytest.raises(RobotDescriptionError, match=found):
        of_joints(text, joints)
