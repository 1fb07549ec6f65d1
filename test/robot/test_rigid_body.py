# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from typing import NamedTuple

import mujoco
import numpy as np
import pinocchio
import pytest

from ilr_dynamics.exceptions import RobotDescriptionError
from ilr_dynamics.robot.description import load_description
from ilr_dynamics.robot.identified_dynamics import IdentifiedDynamics
from ilr_dynamics.robot.mujoco_model import build_mujoco_model
from ilr_dynamics.robot.rigid_body import RigidBodyModel

QUARTER_TURN = np.pi / 2


class Table(NamedTuple):
    """Barrett's numbers of an arm, in the frames of its Denavit-Hartenberg table.

    A row of ``dh`` is alpha, a, d; a row of ``links`` is mass, centre of mass, moments of inertia
    xx, yy, zz at that centre and products of inertia xy, xz, yz as published, +int(x y dm).
    """

    dh: list
    tool: float
    links: list


SHOULDER_DH = [(-QUARTER_TURN, 0, 0), (QUARTER_TURN, 0, 0), (-QUARTER_TURN, 0.045, 0.55)]
SHOULDER_LINKS = [
    (
        10.7677,
        (-0.00443, 0.12189, -0.00066),
        (0.13488033, 0.11328369, 0.09046330),
        (-0.00213041, -0.00012485, 0.00068555),
    ),
    (
        3.8749,
        (-0.00237, 0.03106, 0.01542),
        (0.02140958, 0.01377875, 0.01558906),
        (0.00027172, 0.00002461, -0.00181920),
    ),
    (
        1.8023,
        (-0.03826, 0.20751, 0.00003),
        (0.05911077, 0.00324550, 0.05927043),
        (-0.00249612, 0.00000738, -0.00001767),
    ),
]
TABLES = {
    "wam4": Table(
        dh=[*SHOULDER_DH, (QUARTER_TURN, -0.045, 0)],
        tool=0.36,
        links=[
            *SHOULDER_LINKS,
            (
                1.0651,
                (0.01095, -0.00003, 0.14054),
                (0.01848577, 0.01891658, 0.00197517),
                (0.00000219, -0.00160868, 0.00000515),
            ),
        ],
    ),
    "wam7": Table(
        dh=[
            *SHOULDER_DH,
            (QUARTER_TURN, -0.045, 0),
            (-QUARTER_TURN, 0, 0.30),
            (QUARTER_TURN, 0, 0),
            (0, 0, 0.0609),
        ],
        tool=0.0,
        links=[
            *SHOULDER_LINKS,
            (
                2.17266212,
                (0.00553408, 0.00006822, 0.11927695),
                (0.01067491, 0.01058659, 0.00282036),
                (0.00004503, -0.00135557, -0.00011002),
            ),
            (
                0.35655692,
                (0.00005483, 0.02886286, 0.00148493),
                (0.00037112, 0.00019434, 0.00038209),
                (-8e-8, -3e-8, -0.00001613),
            ),
            (
                0.40915886,
                (-0.00005923, -0.01686123, 0.02419052),
                (0.00054889, 0.00023846, 0.00045133),
                (1.9e-7, -1e-7, -0.00004430),
            ),
            (
                0.07548270,
                (0.00014836, 0.00007252, -0.00335185),
                (0.00003911, 0.00003877, 0.00007614),
                (1.9e-7, 0, 0),
            ),
        ],
    ),
}


@pytest.fixture(scope="module", params=sorted(TABLES))
def description(request):
    return load_description(request.param)


@pytest.fixture(scope="module")
def table(description):
    return TABLES[description.name]


@pytest.fixture(scope="module")
def model(description):
    return RigidBodyModel(description)


@pytest.fixture(scope="module")
def wam4():
    return RigidBodyModel(load_description("wam4"))


def postures(description, n, seed=0):
    random = np.random.default_rng(seed)
    return random.uniform(
        description.position_lower, description.position_upper, (n, description.n_joints)
    )


def transform(theta, alpha, a, d):
    (ct, st), (ca, sa) = (np.cos(theta), np.sin(theta)), (np.cos(alpha), np.sin(alpha))
    return np.array(
        [
            [ct, -st * ca, st * sa, a * ct],
            [st, ct * ca, -ct * sa, a * st],
            [0, sa, ca, d],
            [0, 0, 0, 1],
        ]
    )


def tensor(moments, products):
    (xx, yy, zz), (xy, xz, yz) = moments, products
    return np.array([[xx, -xy, -xz], [-xy, yy, -yz], [-xz, -yz, zz]])


def table_frames(table, position):
    frames = [np.eye(4)]
    for theta, row in zip(position, table.dh, strict=True):
        frames.append(frames[-1] @ transform(theta, *row))
    return frames[1:]


def table_energies(table, position, velocity):
    """Potential and kinetic energy straight from the published tables."""
    step = 1e-6
    frames = table_frames(table, position)
    ahead, behind = (
        table_frames(table, position + step * velocity),
        table_frames(table, position - step * velocity),
    )
    potential = kinetic = 0.0
    for i, (mass, centre, moments, products) in enumerate(table.links):
        centre = np.array([*centre, 1.0])
        speed = ((ahead[i] - behind[i]) @ centre)[:3] / (2 * step)
        spin = (ahead[i] - behind[i])[:3, :3] / (2 * step) @ frames[i][:3, :3].T
        spin = frames[i][:3, :3].T @ [spin[2, 1], spin[0, 2], spin[1, 0]]
        potential += mass * 9.81 * (frames[i] @ centre)[2]
        kinetic += 0.5 * mass * speed @ speed + 0.5 * spin @ tensor(moments, products) @ spin
    return potential, kinetic


def test_tool_point_of_the_resting_posture(wam4):
    tool = wam4.tool_position([0, 0.7, 0, 1.8])
    np.testing.assert_allclose(tool, [0.640, 0.0, 0.130], atol=5e-4)


def test_stretched_arm_points_up(table, model):
    tool = model.link_pose(np.zeros(model.n_joints), "tool")
    height = sum(d for _, _, d in table.dh) + table.tool
    expected = np.eye(4)
    expected[2, 3] = height
    np.testing.assert_allclose(tool, expected, atol=1e-12)


def test_tool_follows_the_published_kinematics(description, table, model):
    for position in postures(description, 20):
        expected = table_frames(table, position)[-1] @ transform(0, 0, 0, table.tool)
        np.testing.assert_allclose(model.link_pose(position, "tool"), expected, atol=1e-12)
        np.testing.assert_allclose(model.tool_position(position), expected[:3, 3], atol=1e-12)


def test_links_have_the_published_inertia(description, table):
    """Mass, centre and tensor, turned from the URDF's frames into those of the table."""
    inertias = pinocchio.buildModelFromUrdf(str(description.urdf_path)).inertias[1:]
    assert len(inertias) == len(table.links)
    for inertia, row, (mass, centre, moments, products) in zip(
        inertias, table.dh, table.links, strict=True
    ):
        frame = pinocchio.SE3(transform(0, *row))
        in_table = frame.actInv(inertia)
        assert in_table.mass == mass
        np.testing.assert_allclose(in_table.lever, centre, atol=1e-12)
        np.testing.assert_allclose(in_table.inertia, tensor(moments, products), atol=1e-12)


def test_links_are_bodies_of_positive_mass(description):
    """Positive definite, and no principal moment above the sum of the others."""
    for inertia in pinocchio.buildModelFromUrdf(str(description.urdf_path)).inertias[1:]:
        smallest, middle, largest = np.linalg.eigvalsh(inertia.inertia)
        assert inertia.mass > 0
        assert smallest > 0
        assert largest < smallest + middle


@pytest.mark.parametrize(
    ("name", "line"), [("j3", [0.045, 0, 0.55]), ("j4", [-0.045, -0.3, 0])], ids=["j3", "j4"]
)
def test_long_links_turn_easiest_about_their_own_length(description, name, line):
    """With products of inertia of the wrong sign they would lean to the other side."""
    urdf = pinocchio.buildModelFromUrdf(str(description.urdf_path))
    _, axes = np.linalg.eigh(urdf.inertias[urdf.getJointId(name)].inertia)
    lean = np.arccos(np.abs(axes[:, 0] @ line) / np.linalg.norm(line))
    assert lean < np.deg2rad(4)


def test_torque_is_linear_in_the_inertial_parameters(description, model):
    """Torque regressor times masses, first moments and tensors of the URDF is the torque."""
    urdf = pinocchio.buildModelFromUrdf(str(description.urdf_path))
    data = urdf.createData()
    parameters = np.concatenate([body.toDynamicParameters() for body in urdf.inertias[1:]])
    random = np.random.default_rng(3)
    for position in postures(description, 20):
        velocity, acceleration = random.normal(size=(2, model.n_joints)) * [[2], [20]]
        motion = position, velocity, acceleration
        regressor = pinocchio.computeJointTorqueRegressor(urdf, data, *motion)
        np.testing.assert_allclose(
            regressor @ parameters, model.inverse_dynamics(*motion), atol=1e-9
        )


def test_gravity_is_the_slope_of_the_published_potential(description, table, model):
    step = 1e-6
    for position in postures(description, 10):
        slope = [
            table_energies(table, position + step * axis, axis)[0]
            - table_energies(table, position - step * axis, axis)[0]
            for axis in np.eye(model.n_joints)
        ]
        np.testing.assert_allclose(
            model.gravity(position), np.array(slope) / (2 * step), atol=1e-6
        )


def test_inertia_gives_the_published_kinetic_energy(description, table, model):
    random = np.random.default_rng(1)
    for position in postures(description, 10):
        velocity = random.normal(size=model.n_joints)
        momentum = model.inverse_dynamics(position, 0 * velocity, velocity) - model.gravity(
            position
        )
        _, kinetic = table_energies(table, position, velocity)
        assert 0.5 * velocity @ momentum == pytest.approx(kinetic, rel=1e-6)


def test_inverse_dynamics_equals_mujocos(description, model):
    mj_model = build_mujoco_model(description, timestep=0.001)
    data = mujoco.MjData(mj_model)
    random = np.random.default_rng(2)
    for position in 0.99 * postures(description, 100):
        velocity, acceleration = random.normal(size=(2, model.n_joints)) * [[2], [20]]
        data.qpos[:], data.qvel[:], data.qacc[:] = position, velocity, acceleration
        mujoco.mj_inverse(mj_model, data)
        torque = model.inverse_dynamics(position, velocity, acceleration)
        np.testing.assert_allclose(torque, data.qfrc_inverse, atol=1e-9)


def test_gravity_is_the_inverse_dynamics_at_rest(description, model):
    for position in postures(description, 10):
        still = np.zeros(model.n_joints)
        expected = model.inverse_dynamics(position, still, still)
        np.testing.assert_allclose(model.gravity(position), expected, atol=1e-12)


def test_tool_jacobian_is_the_slope_of_the_tool_point(description, model):
    step = 1e-6
    for position in postures(description, 10):
        slope = [
            model.tool_position(position + step * axis)
            - model.tool_position(position - step * axis)
            for axis in np.eye(model.n_joints)
        ]
        jacobian = model.tool_jacobian(position)
        np.testing.assert_allclose(jacobian, np.transpose(slope) / (2 * step), atol=1e-8)


def test_link_pose_of_the_tool_holds_the_tool_point(description, model):
    for position in postures(description, 5):
        pose = model.link_pose(position, "tool")
        np.testing.assert_allclose(pose[:3, 3], model.tool_position(position), atol=1e-12)
        np.testing.assert_allclose(pose[:3, :3] @ pose[:3, :3].T, np.eye(3), atol=1e-12)


def test_unknown_link_is_refused(model):
    with pytest.raises(RobotDescriptionError, match="no link 'hand'"):
        model.link_pose(np.zeros(model.n_joints), "hand")


def test_arm_points_run_from_the_base_to_the_tool(wam4):
    points = wam4.arm_points(np.zeros(4))
    assert points.shape == (6, 3)
    np.testing.assert_allclose(points[0], 0.0)
    np.testing.assert_allclose(points[-2], [0.045, 0, 0.55], atol=1e-12)
    np.testing.assert_allclose(points[-1], [0, 0, 0.91], atol=1e-12)


def test_results_are_not_overwritten_by_the_next_call(wam4):
    first = wam4.gravity([0, 1.0, 0, 0])
    kept = first.copy()
    wam4.gravity([0, -1.0, 0, 0])
    np.testing.assert_array_equal(first, kept)


def test_urdf_that_mujoco_cannot_read_is_named(tmp_path):
    path = tmp_path / "arm.urdf"
    path.write_text(
        '<robot name="arm"><link name="base"/><link name="tip">'
        '<inertial><mass value="1"/>'
        '<inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>'
        '<joint name="a" type="revolute"><parent link="base"/><child link="tip"/>'
        '<axis xyz="0 0 0"/><limit lower="-1" upper="1" effort="5" velocity="2"/></joint></robot>'
    )
    with pytest.raises(RobotDescriptionError, match="arm.urdf"):
        build_mujoco_model(load_description(path), timestep=0.001)


@pytest.mark.parametrize("robot", ["wam4", "wam7"])
def test_gravity_columns_are_the_weight_however_the_base_is_turned(robot):
    description = load_description(robot)
    rigid = RigidBodyModel(description)
    turned = pinocchio.buildModelFromUrdf(str(description.urdf_path))
    data = turned.createData()
    random = np.random.default_rng(0)
    for gravity in ([0.0, 0.0, -9.81], [9.81, 0.0, 0.0], [3.0, -4.0, 5.0]):
        turned.gravity.linear = np.array(gravity)
        q = random.uniform(description.position_lower, description.position_upper)
        expected = pinocchio.computeGeneralizedGravity(turned, data, q)
        np.testing.assert_allclose(rigid.gravity_columns(q) @ gravity, expected, atol=1e-12)


def test_arm_that_is_mounted_otherwise_has_its_weight_in_every_model():
    gravity = [3.0, -4.0, 5.0]
    standing, leaning = load_description("wam4"), load_description("wam4", gravity=gravity)
    q = np.array([0.3, -0.5, 0.2, 1.1])
    columns = RigidBodyModel(standing).gravity_columns(q)
    np.testing.assert_allclose(RigidBodyModel(leaning).gravity(q), columns @ gravity, atol=1e-12)
    np.testing.assert_array_equal(build_mujoco_model(leaning, timestep=0.001).opt.gravity, gravity)
    np.testing.assert_array_equal(IdentifiedDynamics.from_description(leaning).gravity, gravity)
