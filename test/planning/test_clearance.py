# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Clearance of the arm's shapes, against distances worked out by hand and by Pinocchio."""

import numpy as np
import pinocchio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from known_arm import HOME

from ilr_dynamics.exceptions import InvalidParameterError, RobotDescriptionError
from ilr_dynamics.planning.clearance import Clearance, KeepOutBox
from ilr_dynamics.robot.description import load_description
from ilr_dynamics.robot.rigid_body import RigidBodyModel

# A link of 1 m along x, which turns about z, with a ball of 0.1 m at its end.
PENDULUM = """<robot name="pendulum">
  <link name="base"><collision><geometry><box size="0.2 0.2 0.2"/></geometry></collision></link>
  <joint name="j1" type="revolute"><parent link="base"/><child link="arm"/>
    <axis xyz="0 0 1"/><limit lower="-3" upper="3" effort="10" velocity="2"/></joint>
  <link name="arm">
    <inertial><mass value="1"/>
      <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
    {shape}
  </link>
</robot>"""
BALL = """<{kind}><origin xyz="1 0 0"/><geometry><sphere radius="0.1"/></geometry></{kind}>"""
BOX = KeepOutBox([-1.5, 0.8, -0.5], [1.5, 2.0, 0.5])


def pendulum(tmp_path, shape):
    path = tmp_path / "pendulum.urdf"
    path.write_text(PENDULUM.format(shape=shape))
    return load_description(path)


@pytest.fixture(scope="module")
def arm():
    return load_description("wam4")


@pytest.mark.parametrize(
    ("kind", "of_base"),
    [("collision", "collision"), ("visual", "visual"), ("visual", "collision")],
)
def test_a_ball_stays_the_margin_away_from_a_box(kind, of_base, tmp_path):
    """Of a link's collision elements, or its visual ones, whatever other links have."""
    description = pendulum(tmp_path, "")
    text = description.urdf_path.read_text().replace("collision", of_base)
    whole = text.replace("</inertial>", f"</inertial>{BALL.format(kind=kind)}")
    description.urdf_path.write_text(whole)
    clearance = Clearance(description, [BOX], 0.05, np.zeros((1, 1)))
    # The ball's centre is at (cos q, sin q): it enters the margin where sin q = 0.8 - 0.15.
    edge = np.arcsin(0.65)
    assert clearance.holds(np.array([[edge - 1e-3]]))
    assert not clearance.holds(np.array([[edge + 1e-3]]))
    assert not clearance.holds(np.array([[0.0], [edge + 1e-3], [0.0]]))


@given(st.lists(st.floats(-0.9, 0.9), min_size=4, max_size=4))
@settings(max_examples=30)
def test_what_holds_is_as_far_away_as_pinocchio_measures(shift):
    arm = load_description("wam4")
    box = KeepOutBox([0.5, 0.2, -0.6], [0.9, 0.6, 0.6])
    margin, posture = 0.05, HOME + np.array(shift)
    clearance = Clearance(arm, [box], margin, HOME[None])
    model = pinocchio.buildModelFromUrdf(str(arm.urdf_path))
    shapes = clearance._shapes
    distances = pinocchio.GeometryData(shapes)
    pinocchio.computeDistances(model, model.createData(), shapes, distances, posture)
    nearest = min(result.min_distance for result in distances.distanceResults)
    if abs(nearest - margin) > 1e-3:
        assert clearance.holds(posture[None]) == (nearest > margin)


def test_the_tool_in_a_box_is_found_wherever_it_is(arm):
    rigid, random = RigidBodyModel(arm), np.random.default_rng(0)
    for posture in HOME + random.uniform(-0.5, 0.5, (5, 4)):
        tool = rigid.tool_position(posture)
        box = KeepOutBox(tool - 0.02, tool + 0.02)
        away = Clearance(arm, [box], 0.01, posture[None] + [[1.0, 0.0, 0.0, 0.0]])
        assert not away.holds(posture[None])


def folding(tmp_path):
    """Return a pendulum of two links, the ball of the second in the base when folded."""
    path = tmp_path / "folding.urdf"
    second = """<joint name="j2" type="revolute"><parent link="arm"/><child link="tip"/>
        <origin xyz="1 0 0"/><axis xyz="0 0 1"/>
        <limit lower="-3.2" upper="3.2" effort="10" velocity="2"/></joint>
      <link name="tip"><inertial><mass value="1"/>
        <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
        <collision><origin xyz="0.95 0 0"/><geometry><sphere radius="0.1"/></geometry></collision>
      </link></robot>"""
    path.write_text(PENDULUM.format(shape="").replace("</robot>", second))
    return load_description(path)


def test_an_arm_that_folds_into_its_base_is_found(tmp_path):
    description, straight = folding(tmp_path), np.zeros((1, 2))
    clearance = Clearance(description, [], 0.05, straight)
    assert clearance.n_pairs == 1
    assert clearance.holds(straight)
    assert not clearance.holds(np.array([[0.0, np.pi]]))


def test_shapes_that_touch_where_the_arm_has_been_may_do_so(tmp_path):
    folded = np.array([[0.0, np.pi]])
    clearance = Clearance(folding(tmp_path), [], 0.05, folded)
    assert clearance.n_pairs == 0 and clearance.holds(folded)
    ((first, second),) = clearance.left_out
    assert first.startswith("base") and second.startswith("tip")


def test_shapes_closer_than_the_margin_where_the_arm_has_been_come_no_closer(tmp_path):
    near, nearer = np.array([[0.0, 2.6]]), np.array([[0.0, 2.8]])
    for margin in (0.5, 1.0):
        clearance = Clearance(folding(tmp_path), [], margin, near)
        assert clearance.n_pairs == 1 and not clearance.left_out
        assert clearance.holds(near - 1e-3)
        assert not clearance.holds(nearer)


def test_a_box_in_which_the_arm_has_been_is_refused(arm):
    tool = RigidBodyModel(arm).tool_position(HOME)
    with pytest.raises(InvalidParameterError, match="less than 0.05 m from the arm's shape"):
        Clearance(arm, [KeepOutBox(tool - 0.1, tool + 0.1)], 0.05, HOME[None])


def test_the_base_may_stand_on_a_table(arm):
    table = KeepOutBox([-1.0, -1.0, -1.0], [1.0, 1.0, -0.32])
    Clearance(arm, [table], 0.05, np.array([[0.0, 0.0, 0.0, 0.5]]))


def test_an_arm_without_shapes_keeps_clear_of_nothing_and_of_no_box(tmp_path):
    description = pendulum(tmp_path, "")
    assert Clearance(description, [], 0.05, np.zeros((1, 1))).n_pairs == 0
    with pytest.raises(
        RobotDescriptionError, match="has no shapes of arm, expected some of each moving link"
    ):
        Clearance(description, [BOX], 0.05, np.zeros((1, 1)))


def test_a_frame_without_mass_needs_no_shape(tmp_path):
    description = pendulum(tmp_path, BALL.format(kind="collision"))
    frame = """<joint name="fixed" type="fixed"><parent link="arm"/><child link="tool"/></joint>
      <link name="tool"><inertial><mass value="0"/>
        <inertia ixx="0" iyy="0" izz="0" ixy="0" ixz="0" iyz="0"/></inertial></link></robot>"""
    path = tmp_path / "framed.urdf"
    path.write_text(description.urdf_path.read_text().replace("</robot>", frame))
    assert Clearance(load_description(path), [BOX], 0.05, np.zeros((1, 1))).bare_links == ()


def test_meshes_that_are_not_there_are_named(tmp_path):
    mesh = '<collision><geometry><mesh filename="package://none/arm.stl"/></geometry></collision>'
    with pytest.raises(RobotDescriptionError, match="expected meshes to which"):
        Clearance(pendulum(tmp_path, mesh), [], 0.05, np.zeros((1, 1)))


@pytest.mark.parametrize("opposite", [[0.0, 1.0, 1.0], [1.0, np.nan, 1.0]])
def test_a_box_without_volume_is_refused(opposite):
    with pytest.raises(InvalidParameterError, match="expected finite ones above 0"):
        KeepOutBox([0.0, 0.0, 0.0], opposite)
