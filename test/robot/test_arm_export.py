# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""The exported arm in other tools: Pinocchio and MuJoCo read it, and agree."""

from dataclasses import replace

import mujoco
import numpy as np
import pinocchio
import pytest
import yaml
from identification import motion, rigid_torque

from ilr_dynamics.exceptions import RobotDescriptionError
from ilr_dynamics.robot.arm_export import ArmExport
from ilr_dynamics.robot.description import load_description
from ilr_dynamics.robot.export_mjcf import exported_mjcf
from ilr_dynamics.robot.export_urdf import exported_urdf
from ilr_dynamics.robot.export_yaml import exported_yaml
from ilr_dynamics.robot.identified_dynamics import IdentifiedDynamics
from ilr_dynamics.robot.pseudo_inertia import pseudo_inertia
from ilr_dynamics.robot.rigid_body import RigidBodyModel


@pytest.fixture(scope="module")
def exported(arm, identified):
    return ArmExport.of(identified, arm)


@pytest.fixture(scope="module")
def urdf(exported, tmp_path_factory):
    path = tmp_path_factory.mktemp("export") / "arm.urdf"
    path.write_text(exported_urdf(exported, "a note"))
    return path


@pytest.fixture(scope="module")
def simulated(exported):
    """MuJoCo's model without friction."""
    model = mujoco.MjModel.from_xml_string(exported_mjcf(exported, "a note"))
    model.dof_damping[:] = 0.0
    model.tendon_damping[:] = 0.0
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_FRICTIONLOSS
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_LIMIT
    return model


def mujoco_torque(model, X):
    data, n = mujoco.MjData(model), model.nv
    torques = []
    for x in X:
        data.qpos[:], data.qvel[:], data.qacc[:] = np.split(x, 3)
        mujoco.mj_inverse(model, data)
        torques.append(data.qfrc_inverse.copy())
    return np.array(torques).reshape(-1, n)


def pinocchio_torque(path, X, gravity=(0.0, 0.0, -9.81)):
    model = pinocchio.buildModelFromUrdf(str(path))
    model.gravity.linear = np.array(gravity)
    data = model.createData()
    return np.array([pinocchio.rnea(model, data, *np.split(x, 3)) for x in X])


def test_every_body_is_one_that_can_exist(exported):
    J = pseudo_inertia(exported.bodies(exported.parameters))
    assert np.min(np.linalg.eigvalsh(J)) > 0.0
    rotors, viscous, *_ = exported.motors(exported.parameters)
    assert np.min(rotors) > 0.0 and np.min(viscous) > 0.0
    for body in exported.mass_distributions:
        a, b, c = np.linalg.eigvalsh(body.inertia)
        assert a > 0.0 and c < a + b


def test_pinocchio_and_mujoco_agree(exported, urdf, simulated):
    n = exported.n_joints
    X = motion(n, 300, 21)
    with_rotors = pinocchio_torque(urdf, X) + X[:, 2 * n :] @ exported.rotor_inertia
    assert np.max(np.abs(with_rotors - mujoco_torque(simulated, X))) < 1e-6


def test_bodies_are_those_of_the_regressor(exported, urdf):
    n = exported.n_joints
    bodies = np.zeros_like(exported.parameters)
    bodies[: 10 * n] = exported.parameters[: 10 * n]
    X = motion(n, 100, 22)
    np.testing.assert_allclose(pinocchio_torque(urdf, X), exported.torque(X, bodies), atol=1e-6)


def test_on_new_motions_it_errs_hardly_more_than_what_was_identified(exported, rubbing):
    X = 1.3 * motion(exported.n_joints, 500, 23)
    truth = rubbing(X)
    of_export = np.sqrt(np.mean((exported.torque(X) - truth) ** 2))
    of_identified = np.sqrt(np.mean((exported.dynamics.expected(X) - truth) ** 2))
    assert of_export < 1.1 * of_identified


def test_the_exported_urdf_is_an_arm_of_its_own(exported, urdf, arm):
    read = load_description(urdf)
    assert read.joint_names == arm.joint_names
    assert read.tool_frame == arm.tool_frame and read.warnings == ()
    np.testing.assert_array_equal(read.gear_matrix, arm.gear_matrix)
    np.testing.assert_allclose(
        IdentifiedDynamics.from_description(read).inertial_prior,
        exported.bodies(exported.parameters),
        rtol=1e-6,
        atol=1e-9,
    )


def test_the_simulated_tool_is_where_the_urdf_has_it(exported, simulated, arm):
    data, rigid = mujoco.MjData(simulated), RigidBodyModel(arm)
    for q in motion(arm.n_joints, 5, 24)[:, : arm.n_joints]:
        data.qpos[:] = q
        mujoco.mj_kinematics(simulated, data)
        pose = rigid.link_pose(q, arm.tool_frame)
        np.testing.assert_allclose(data.site(arm.tool_frame).xpos, pose[:3, 3], atol=1e-9)
        turn = data.site(arm.tool_frame).xmat.reshape(3, 3)
        np.testing.assert_allclose(turn, pose[:3, :3], atol=1e-9)


def test_friction_of_both_formats_is_that_of_the_motors(exported, urdf, rubbing):
    """1 Nm of dry friction and 0.5 Nms/rad at each motor, whose directions have length one."""
    viscous, dry = exported.motor_friction
    np.testing.assert_allclose(viscous, 0.5, atol=0.05)
    # Of a motor that moves one joint, dry friction may be the joint's as well.
    np.testing.assert_allclose(dry[exported.coupled], 1.0, atol=0.1)
    damping, friction = exported.joint_friction()
    g = exported.dynamics.motors
    np.testing.assert_allclose(damping, 0.5 * np.ones(len(g)) @ g**2, atol=0.05)
    np.testing.assert_allclose(friction, np.sum(np.abs(g), axis=0), atol=0.3)
    read = pinocchio.buildModelFromUrdf(str(urdf))
    np.testing.assert_allclose(read.damping, damping)
    np.testing.assert_allclose(read.upperDryFrictionLimit, friction)


def test_a_falling_arm_with_friction_comes_to_rest(exported):
    """MuJoCo integrates the exported arm, whatever it holds."""
    model = mujoco.MjModel.from_xml_string(exported_mjcf(exported, "a note"))
    data = mujoco.MjData(model)
    for _ in range(20000):
        mujoco.mj_step(model, data)
    assert np.all(np.isfinite(data.qpos)) and np.max(np.abs(data.qvel)) < 0.05


def test_friction_that_grows_with_the_load_is_part_of_the_level(arm):
    model, n = RigidBodyModel(arm), arm.n_joints
    X = motion(n, 3000, 25)
    load = rigid_torque(model, X)
    Y = load + 0.05 * np.abs(load) * np.tanh(X[:, n : 2 * n] / 0.03)
    learned = IdentifiedDynamics.from_description(arm).updated(X, Y, np.ones(3000))
    found = ArmExport.of(learned, arm)
    _, friction = found.joint_friction()
    kept = rigid_torque(model, found.dynamics.representatives.X)
    expected = 0.05 * np.mean(np.abs(kept), axis=0)
    np.testing.assert_allclose(friction, expected, atol=0.05 + 0.2 * expected.max())
    assert friction[1] == pytest.approx(expected[1], rel=0.3)


def test_all_parameters_and_deviations_are_in_the_yaml(exported):
    text = exported_yaml(exported, "a note", {"export_to_measured": np.ones(exported.n_joints)})
    content = yaml.safe_load(text)
    assert text.startswith("# a note\n")
    assert content["joints"] == list(exported.description.joint_names)
    for key, chosen in (("value", exported.parameters), ("deviation", exported.std)):
        bodies = [body[key] for body in content["bodies"].values()]
        found = [
            *([body["mass"], *body["first_moment"], *body["inertia"].values()] for body in bodies),
            *zip(
                *(
                    [motor[key]["rotor_inertia"], motor[key]["viscous"], *motor[key]["dry"]]
                    for motor in content["motors"]
                ),
                strict=True,
            ),
            *(
                [
                    *joint[key]["dry"],
                    *joint[key]["position"].values(),
                    joint[key]["dry_by_load"],
                    *joint[key]["dry_by_sines"],
                    *joint[key]["dry_by_cosines"],
                ]
                for joint in content["joint_effects"].values()
            ),
        ]
        np.testing.assert_array_equal(np.concatenate(found), chosen)
    np.testing.assert_allclose(content["rotor_inertia"], exported.rotor_inertia)


def test_links_fixed_to_a_body_are_part_of_it(arm, tmp_path):
    """A tool is exported in the last link, and has no inertial of its own."""
    text = arm.urdf_path.read_text().replace(
        "</robot>",
        '<link name="knife"><inertial><origin xyz="0 0 0.1"/><mass value="0.7"/>'
        '<inertia ixx="0.001" iyy="0.001" izz="0.001" ixy="0" ixz="0" iyz="0"/></inertial></link>'
        f'<joint name="blade" type="fixed"><parent link="{arm.tool_frame}"/>'
        '<child link="knife"/></joint></robot>',
    )
    (tmp_path / "with_knife.urdf").write_text(text)
    with_knife = load_description(tmp_path / "with_knife.urdf")
    start = IdentifiedDynamics.from_description(with_knife)
    written = tmp_path / "written.urdf"
    written.write_text(exported_urdf(ArmExport.of(start, with_knife), "a note"))
    model = pinocchio.buildModelFromUrdf(str(written))
    last = model.inertias[arm.n_joints]
    assert last.mass == pytest.approx(start.inertial_prior[-1, 0], rel=1e-3)
    X = motion(arm.n_joints, 50, 26)
    # Next to the prior alone, whose plates and points have got volume.
    np.testing.assert_allclose(
        pinocchio_torque(written, X),
        rigid_torque(RigidBodyModel(with_knife), X),
        atol=0.02,
    )


def test_gravity_is_that_of_the_model(arm):
    weightless = IdentifiedDynamics.from_description(arm, gravity=np.zeros(3))
    exported = ArmExport.of(weightless, arm)
    model = mujoco.MjModel.from_xml_string(exported_mjcf(exported, "a note"))
    np.testing.assert_array_equal(model.opt.gravity, 0.0)
    assert yaml.safe_load(exported_yaml(exported, "a note", {}))["gravity"] == [0.0, 0.0, 0.0]


def test_the_description_of_another_arm_is_refused(identified, arm, tmp_path):
    other = load_description("wam7" if arm.name == "wam4" else "wam4")
    with pytest.raises(RobotDescriptionError, match="joints, expected"):
        ArmExport.of(identified, other)
    path = tmp_path / "heavier.urdf"
    path.write_text(arm.urdf_path.read_text().replace('mass value="10.7677"', 'mass value="11"'))
    with pytest.raises(RobotDescriptionError, match="joint 'j1' differ from the model's by 0.232"):
        ArmExport.of(identified, load_description(path))
    moved = replace(identified, placements=identified.placements + 0.01)
    with pytest.raises(RobotDescriptionError, match="placements"):
        ArmExport.of(moved, arm)
