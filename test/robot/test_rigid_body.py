# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import mujoco
import numpy as np
import pytest

from ilr_dynamics.exceptions import RobotDescriptionError
from ilr_dynamics.robot.description import load_description
from ilr_dynamics.robot.mujoco_model import build_mujoco_model
from ilr_dynamics.robot.rigid_body import RigidBodyModel

HALF_TURN = np.pi / 2
# Barrett's tables: alpha, a, d of each row; mass, centre of mass and products of inertia as
# published, in the frames of the table.
DH_TABLE = [
    (-HALF_TURN, 0, 0),
    (HALF_TURN, 0, 0),
    (-HALF_TURN, 0.045, 0.55),
    (HALF_TURN, -0.045, 0),
]
TOOL = (0.0, 0.0, 0.36)
MASS = [10.7677, 3.8749, 1.8023, 1.0651]
CENTRE = [
    (-0.00443, 0.12189, -0.00066),
    (-0.00237, 0.03106, 0.01542),
    (-0.03826, 0.20751, 0.00003),
    (0.01095, -0.00003, 0.14054),
]
INERTIA = [
    (0.13488033, 0.11328369, 0.09046330, -0.00213041, -0.00012485, 0.00068555),
    (0.02140958, 0.01377875, 0.01558906, 0.00027172, 0.00002461, -0.00181920),
    (0.05911077, 0.00324550, 0.05927043, -0.00249612, 0.00000738, -0.00001767),
    (0.01848577, 0.01891658, 0.00197517, 0.00000219, -0.00160868, 0.00000515),
]


@pytest.fixture(scope="module")
def description():
    return load_description("wam4")


@pytest.fixture(scope="module")
def model(description):
    return RigidBodyModel(description)


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


def table_frames(position):
    frames = [np.eye(4)]
    for theta, row in zip(position, DH_TABLE, strict=True):
        frames.append(frames[-1] @ transform(theta, *row))
    return frames[1:]


def table_energies(position, velocity):
    """Potential and kinetic energy straight from the published tables."""
    step = 1e-6
    frames = table_frames(position)
    ahead, behind = (
        table_frames(position + step * velocity),
        table_frames(position - step * velocity),
    )
    potential = kinetic = 0.0
    for i, (mass, centre, inertia) in enumerate(zip(MASS, CENTRE, INERTIA, strict=True)):
        centre = np.array([*centre, 1.0])
        speed = ((ahead[i] - behind[i]) @ centre)[:3] / (2 * step)
        spin = (ahead[i] - behind[i])[:3, :3] / (2 * step) @ frames[i][:3, :3].T
        spin = frames[i][:3, :3].T @ [spin[2, 1], spin[0, 2], spin[1, 0]]
        xx, yy, zz, xy, xz, yz = inertia
        tensor = np.array([[xx, -xy, -xz], [-xy, yy, -yz], [-xz, -yz, zz]])
        potential += mass * 9.81 * (frames[i] @ centre)[2]
        kinetic += 0.5 * mass * speed @ speed + 0.5 * spin @ tensor @ spin
    return potential, kinetic


def test_tool_point_of_the_resting_posture(model):
    tool = model.tool_position([0, 0.7, 0, 1.8])
    np.testing.assert_allclose(tool, [0.640, 0.0, 0.130], atol=5e-4)


def test_stretched_arm_points_up(model):
    np.testing.assert_allclose(model.tool_position(np.zeros(4)), [0, 0, 0.91], atol=1e-12)


def test_tool_follows_the_published_kinematics(description, model):
    for position in postures(description, 20):
        expected = table_frames(position)[-1] @ [*TOOL, 1]
        np.testing.assert_allclose(model.tool_position(position), expected[:3], atol=1e-12)


def test_gravity_is_the_slope_of_the_published_potential(description, model):
    step = 1e-6
    for position in postures(description, 10):
        slope = [
            table_energies(position + step * axis, axis)[0]
            - table_energies(position - step * axis, axis)[0]
            for axis in np.eye(4)
        ]
        np.testing.assert_allclose(
            model.gravity(position), np.array(slope) / (2 * step), atol=1e-6
        )


def test_inertia_gives_the_published_kinetic_energy(description, model):
    random = np.random.default_rng(1)
    for position in postures(description, 10):
        velocity = random.normal(size=4)
        momentum = model.inverse_dynamics(position, 0 * velocity, velocity) - model.gravity(
            position
        )
        _, kinetic = table_energies(position, velocity)
        assert 0.5 * velocity @ momentum == pytest.approx(kinetic, rel=1e-6)


def test_inverse_dynamics_equals_mujocos(description, model):
    mj_model = build_mujoco_model(description, timestep=0.001)
    data = mujoco.MjData(mj_model)
    random = np.random.default_rng(2)
    for position in 0.99 * postures(description, 100):
        velocity, acceleration = random.normal(size=(2, 4)) * [[2], [20]]
        data.qpos[:], data.qvel[:], data.qacc[:] = position, velocity, acceleration
        mujoco.mj_inverse(mj_model, data)
        torque = model.inverse_dynamics(position, velocity, acceleration)
        np.testing.assert_allclose(torque, data.qfrc_inverse, atol=1e-9)


def test_gravity_is_the_inverse_dynamics_at_rest(description, model):
    for position in postures(description, 10):
        still = np.zeros(4)
        expected = model.inverse_dynamics(position, still, still)
        np.testing.assert_allclose(model.gravity(position), expected, atol=1e-12)


def test_tool_jacobian_is_the_slope_of_the_tool_point(description, model):
    step = 1e-6
    for position in postures(description, 10):
        slope = [
            model.tool_position(position + step * axis)
            - model.tool_position(position - step * axis)
            for axis in np.eye(4)
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
        model.link_pose(np.zeros(4), "hand")


def test_arm_points_run_from_the_base_to_the_tool(model):
    points = model.arm_points(np.zeros(4))
    assert points.shape == (6, 3)
    np.testing.assert_allclose(points[0], 0.0)
    np.testing.assert_allclose(points[-2], [0.045, 0, 0.55], atol=1e-12)
    np.testing.assert_allclose(points[-1], [0, 0, 0.91], atol=1e-12)


def test_results_are_not_overwritten_by_the_next_call(model):
    first = model.gravity([0, 1.0, 0, 0])
    kept = first.copy()
    model.gravity([0, -1.0, 0, 0])
    np.testing.assert_array_equal(first, kept)


def test_urdf_without_masses_is_no_rigid_body(tmp_path):
    path = tmp_path / "arm.urdf"
    path.write_text(
        '<robot name="arm"><link name="base"/><link name="tip"/>'
        '<joint name="a" type="revolute"><parent link="base"/><child link="tip"/>'
        '<axis xyz="0 0 0"/><limit lower="-1" upper="1" effort="5" velocity="2"/></joint></robot>'
    )
    with pytest.raises(RobotDescriptionError, match="arm.urdf"):
        build_mujoco_model(load_description(path), timestep=0.001)
