# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import dataclasses
import re

import mujoco
import numpy as np
import pytest

from ilr_dynamics.exceptions import InvalidDataError, RobotDescriptionError
from ilr_dynamics.robot.description import load_description
from ilr_dynamics.robot.mujoco_model import build_mujoco_model
from ilr_dynamics.robot.plant import WamPlant
from ilr_dynamics.robot.plant_config import load_plant_config
from ilr_dynamics.robot.rigid_body import RigidBodyModel

DESCRIPTION = load_description("wam4")
CONFIG = load_plant_config("wam4")
MODEL = RigidBodyModel(DESCRIPTION)
ZERO = np.zeros(4)


def plant(seed=0, **changes):
    return WamPlant(DESCRIPTION, dataclasses.replace(CONFIG, **changes), seed)


def without_ripple():
    return dataclasses.replace(CONFIG.ripple, amplitude=0.0)


def run(arm, torque, cycles):
    for _ in range(cycles):
        measurement = arm.step(torque)
    return measurement


def test_reset_starts_at_rest_near_the_start_posture():
    arm = plant()
    measurement = arm.reset()
    assert measurement.time == 0.0
    assert (np.abs(arm.position - CONFIG.start_position) <= CONFIG.start_offset).all()
    np.testing.assert_allclose(measurement.position, arm.position, atol=1e-4)
    np.testing.assert_array_equal(measurement.velocity, ZERO)
    np.testing.assert_array_equal(measurement.torque, ZERO)


def test_reset_takes_another_posture():
    arm = plant(start_offset=0.0)
    arm.reset([0.1, 0.2, 0.3, 0.4])
    np.testing.assert_array_equal(arm.position, [0.1, 0.2, 0.3, 0.4])


def test_time_advances_by_a_cycle_a_step():
    arm = plant()
    times = [arm.step(ZERO).time for _ in range(3)]
    np.testing.assert_allclose(times, [0.002, 0.004, 0.006])


def test_torque_acts_one_cycle_after_it_was_given():
    pushed, free = plant(), plant()
    push = np.array([0.0, 0.0, 0.0, 30.0])
    first = pushed.step(push)
    np.testing.assert_array_equal(first.position, free.step(ZERO).position)
    np.testing.assert_array_equal(first.torque, push)
    assert pushed.step(ZERO).position[3] > free.step(ZERO).position[3] + 1e-4


def test_same_seed_repeats_exactly():
    torque = MODEL.gravity(CONFIG.start_position) + [5.0, 0.0, 3.0, 2.0]
    first, second = plant(seed=3), plant(seed=3)
    run(first, torque, 100)
    run(second, torque, 100)
    np.testing.assert_array_equal(first.position, second.position)


def test_reset_repeats_exactly():
    arm = plant()
    torque = MODEL.gravity(CONFIG.start_position) + [5.0, 0.0, 3.0, 2.0]
    first = run(arm, torque, 100)
    arm.reset()
    again = run(arm, torque, 100)
    np.testing.assert_array_equal(first.position, again.position)
    np.testing.assert_array_equal(first.velocity, again.velocity)


def test_seeds_differ_in_start_ripple_and_encoders():
    one, other = plant(seed=1), plant(seed=2)
    assert (one.position != other.position).all()
    assert (one.ripple_phase != other.ripple_phase).all()
    one.reset(ZERO - one.position + CONFIG.start_position)
    other.reset(ZERO - other.position + CONFIG.start_position)
    assert (one.reset().position - one.position != other.reset().position - other.position).all()


def test_joint_sticks_below_its_dry_friction():
    arm = plant()
    start = arm.position
    holding = MODEL.gravity(start)
    level = CONFIG.friction.dry_level(start, ZERO, holding)
    run(arm, holding, 10)
    before = arm.position
    run(arm, holding + 0.7 * level * [1, -1, 1, -1], 1000)
    np.testing.assert_allclose(arm.position, before, atol=1e-5)
    np.testing.assert_allclose(arm.velocity, 0.0, atol=1e-5)


def test_joint_slips_above_its_dry_friction():
    arm = plant()
    start = arm.position
    holding = MODEL.gravity(start)
    level = CONFIG.friction.dry_level(start, ZERO, holding)
    run(arm, holding + 1.4 * level * [1, -1, 1, -1], 200)
    assert ((arm.position - start) * [1, -1, 1, -1] > 0.01).all()


def test_energy_never_grows_without_torque():
    arm = plant(ripple=without_ripple())
    arm.reset([0.5, -0.6, 0.4, 0.3])
    model = build_mujoco_model(
        DESCRIPTION, timestep=0.001, armature=arm.transmission.reflected_inertia
    )
    model.opt.enableflags |= mujoco.mjtEnableBit.mjENBL_ENERGY
    data = mujoco.MjData(model)
    energies = []
    for _ in range(500):
        arm.step(ZERO)
        data.qpos[:], data.qvel[:] = arm.position, arm.velocity
        mujoco.mj_forward(model, data)
        energies.append(data.energy.sum())
    assert np.max(np.diff(energies)) < 1e-3
    assert energies[-1] < energies[0] - 1.0


def test_brakes_stop_a_moving_arm_and_hold_it_against_torque():
    arm = plant()
    run(arm, [10.0, 0.0, 5.0, 2.0], 100)
    assert np.abs(arm.velocity).max() > 0.5
    arm.braked = True
    run(arm, ZERO, 5)
    np.testing.assert_allclose(arm.velocity, 0.0, atol=1e-4)
    held = arm.position
    measurement = run(arm, DESCRIPTION.torque_limit, 500)
    np.testing.assert_allclose(arm.position, held, atol=1e-4)
    np.testing.assert_array_equal(measurement.torque, ZERO)


def test_released_brakes_let_the_arm_move():
    arm = plant()
    arm.braked = True
    run(arm, ZERO, 10)
    held = arm.position
    arm.braked = False
    run(arm, ZERO, 200)
    assert np.abs(arm.position - held).max() > 0.1


def test_torque_is_limited():
    measurement = plant().step([1000.0, -1000.0, 0.0, 0.0])
    np.testing.assert_array_equal(measurement.torque, [77.0, -160.0, 0.0, 0.0])


def test_driver_may_compensate_gravity():
    arm = plant(driver_compensates_gravity=True)
    start = arm.position
    measurement = arm.step(ZERO)
    np.testing.assert_allclose(measurement.torque, MODEL.gravity(start), atol=1e-3)
    run(arm, ZERO, 1000)
    np.testing.assert_allclose(arm.position, start, atol=1e-3)


def test_ripple_moves_the_torque_that_holds_the_arm():
    """Without friction and gravity the ripple alone accelerates the joints."""
    free = dataclasses.replace(CONFIG.friction, dry=ZERO, load_coefficient=0.0, viscous=ZERO)
    quiet = {"friction": free, "driver_compensates_gravity": True, "start_offset": 0.0}
    rippling, smooth = plant(**quiet), plant(**quiet, ripple=without_ripple())
    run(rippling, ZERO, 2)
    run(smooth, ZERO, 2)
    ripple = CONFIG.ripple.motor_torque(
        rippling.transmission.motor_angle(CONFIG.start_position), rippling.ripple_phase
    )
    push = rippling.transmission.joint_torque(ripple)
    change = rippling.velocity - smooth.velocity
    assert (np.sign(change[np.abs(push) > 0.05]) == np.sign(push[np.abs(push) > 0.05])).all()
    assert np.abs(change).max() > 1e-4


def test_hard_stop_keeps_the_joint_in_its_range():
    arm = plant()
    run(arm, [0.0, 0.0, 0.0, 40.0], 1000)
    assert arm.position[3] < DESCRIPTION.position_upper[3] + 0.05


@pytest.mark.parametrize(
    "torque", [[0.0, 0.0, 0.0], [0.0, np.nan, 0.0, 0.0], [[0.0, 0.0, 0.0, 0.0]]]
)
def test_malformed_torque_is_refused(torque):
    with pytest.raises(InvalidDataError, match="expected 4 finite numbers"):
        plant().step(torque)


def test_numbers_of_another_arm_are_refused(tmp_path):
    path = tmp_path / "arm.urdf"
    path.write_text(
        '<robot name="arm"><link name="base"/><link name="tip">'
        '<inertial><mass value="1"/>'
        '<inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>'
        '<joint name="a" type="revolute"><parent link="base"/><child link="tip"/>'
        '<limit lower="-1" upper="1" effort="5" velocity="2"/></joint></robot>'
    )
    with pytest.raises(RobotDescriptionError, match="for 4 joints, expected 1 as 'arm' has"):
        WamPlant(load_description(path), CONFIG)


def described(path, change):
    path.write_text(change(DESCRIPTION.urdf_path.read_text()))
    return load_description(path)


def test_joints_of_an_arm_without_motors_turn_their_own(tmp_path):
    arm = described(tmp_path / "arm.urdf", lambda text: re.sub("<motor .*", "", text))
    rotors = [0.2, 0.2, 0.1, 0.05]
    transmission = WamPlant(arm, dataclasses.replace(CONFIG, rotor_inertia=rotors)).transmission
    np.testing.assert_array_equal(transmission.joint_to_motor, np.eye(4))
    np.testing.assert_array_equal(transmission.reflected_inertia, rotors)


def test_shapes_of_the_links_make_no_difference(tmp_path):
    """Meshes that are elsewhere, and collision shapes that overlap, as URDFs of many arms have."""
    shapes = (
        '<visual><geometry><mesh filename="package://arm/meshes/a.stl"/></geometry></visual>'
        '<collision><geometry><sphere radius="0.5"/></geometry></collision></link>'
    )
    arm = described(tmp_path / "arm.urdf", lambda text: text.replace("</link>", shapes))
    torque = np.array([5.0, -20.0, 3.0, 4.0])
    measured = [run(WamPlant(each, CONFIG), torque, 100) for each in (DESCRIPTION, arm)]
    np.testing.assert_array_equal(measured[0].position, measured[1].position)
