# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import numpy as np
import pytest

from ilr_dynamics.exceptions import RobotDescriptionError
from ilr_dynamics.robot.description import load_description
from ilr_dynamics.robot.visual_shapes import ShapeKind, visual_shapes

URDF = """<robot name="arm"><material name="red"><color rgba="1 0 0 1"/></material>
<link name="base"/><link name="tip"><inertial><mass value="1"/>
<inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial>
<visual>{visual}</visual></link>
<joint name="a" type="revolute"><parent link="base"/><child link="tip"/>
<limit lower="-1" upper="1" effort="5" velocity="2"/></joint></robot>"""


def shape(tmp_path, visual):
    path = tmp_path / "arm.urdf"
    path.write_text(URDF.format(visual=visual))
    (only,) = visual_shapes(load_description(path))
    return only


ARM_LINKS = {"base", "shoulder_yaw", "shoulder_pitch", "upper_arm", "forearm", "tool"}
WRIST_LINKS = {"wrist_yaw", "wrist_pitch", "tool_plate"}


@pytest.mark.parametrize(
    ("robot", "links"), [("wam4", ARM_LINKS), ("wam7", ARM_LINKS | WRIST_LINKS)]
)
def test_every_link_of_the_wam_is_drawn(robot, links):
    assert {shape.link for shape in visual_shapes(load_description(robot))} == links


@pytest.mark.parametrize(
    ("geometry", "kind", "size"),
    [
        ('<box size="1 2 3"/>', ShapeKind.BOX, [1, 2, 3]),
        ('<cylinder radius="0.5" length="3"/>', ShapeKind.CYLINDER, [1, 1, 3]),
        ('<sphere radius="0.5"/>', ShapeKind.SPHERE, [1, 1, 1]),
        ('<mesh filename="package://a/b.stl"/>', ShapeKind.MESH, [1, 1, 1]),
    ],
)
def test_geometry_becomes_kind_and_extent(tmp_path, geometry, kind, size):
    found = shape(tmp_path, f"<geometry>{geometry}</geometry>")
    assert found.kind is kind
    np.testing.assert_array_equal(found.size, size)
    np.testing.assert_array_equal(found.pose, np.eye(4))


def test_origin_and_material_are_taken(tmp_path):
    found = shape(
        tmp_path,
        '<origin xyz="1 2 3" rpy="0 0 1.5707963267948966"/><material name="red"/>'
        '<geometry><sphere radius="1"/></geometry>',
    )
    np.testing.assert_allclose(found.pose @ [1, 0, 0, 1], [1, 3, 3, 1])
    np.testing.assert_array_equal(found.colour, [1, 0, 0, 1])


@pytest.mark.parametrize(
    "visual",
    [
        "",
        "<geometry/>",
        "<geometry><cone/></geometry>",
        '<geometry><box size="1 2"/></geometry>',
        '<geometry><sphere radius="wide"/></geometry>',
        '<geometry><cylinder radius="1"/></geometry>',
    ],
)
def test_malformed_visual_is_refused(tmp_path, visual):
    with pytest.raises(RobotDescriptionError, match="link 'tip' has a visual"):
        shape(tmp_path, visual)
