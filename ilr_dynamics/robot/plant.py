# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Simulated arm: rigid bodies, drives, friction and sensors, stepped by control cycles."""

from __future__ import annotations

from typing import NamedTuple

import mujoco
import numpy as np
from numpy.typing import ArrayLike

from ilr_dynamics.arrays import FloatArray, read_only
from ilr_dynamics.exceptions import InvalidDataError, RobotDescriptionError
from ilr_dynamics.robot.description import RobotDescription
from ilr_dynamics.robot.encoder import JointSensor
from ilr_dynamics.robot.mujoco_model import build_mujoco_model
from ilr_dynamics.robot.plant_config import PlantConfig
from ilr_dynamics.robot.rigid_body import RigidBodyModel
from ilr_dynamics.robot.transmission import Transmission

__all__ = ["Measurement", "WamPlant"]


class Measurement(NamedTuple):
    """Reading of the driver once per cycle; arrays of shape (n_joints,)."""

    time: float
    """Time since the reset [s]."""
    position: FloatArray
    """Joint angles from the motor encoders [rad]."""
    velocity: FloatArray
    """Low-passed differences of the positions [rad/s]."""
    torque: FloatArray
    """Total torque commanded to the drives, acting from this reading to the next [Nm]."""


class WamPlant:
    """
    Arm with friction, gears and encoders, simulated by MuJoCo.

    To simulate in lock-step call ``measurement = plant.reset()`` and then, once per cycle,
    ``measurement = plant.step(torque)``.

    Parameters
    ----------
    description : RobotDescription
        Rigid bodies, limits and gears.
    config : PlantConfig
        All other parameters.
    seed : int
        Seed of the random phases of encoders and torque ripple and of the start offset.

    Attributes
    ----------
    braked : bool
        Whether the brakes are applied: they lock the joints, and the drives give no torque.
    transmission : Transmission
        Gears of the description with the rotors of ``config``. Without gears in the description
        each joint has a motor with ratio one.

    Raises
    ------
    RobotDescriptionError
        If description and config have different numbers of joints.
    """

    def __init__(self, description: RobotDescription, config: PlantConfig, seed: int = 0) -> None:
        if config.n_joints != description.n_joints:
            raise RobotDescriptionError(
                f"the plant's numbers are for {config.n_joints} joints, expected "
                f"{description.n_joints} as '{description.name}' has"
            )
        self.description = description
        self.config = config
        gears = description.gear_matrix
        if gears is None:
            gears = np.eye(description.n_joints)
        self.transmission = Transmission(gears, config.rotor_inertia)
        self.braked = False
        n_joints = description.n_joints
        random = np.random.default_rng(seed)
        encoder_phase = random.uniform(0, 1, n_joints)
        self.ripple_phase = read_only(random.uniform(0, 2 * np.pi, n_joints))
        self._start_offset = random.uniform(-config.start_offset, config.start_offset, n_joints)
        self._sensor = JointSensor(config.encoder, self.transmission, config.cycle, encoder_phase)
        self._model = build_mujoco_model(
            description,
            timestep=config.physics_step,
            armature=self.transmission.reflected_inertia,
            damping=config.friction.viscous,
        )
        self._data = mujoco.MjData(self._model)
        self._rigid_body = RigidBodyModel(description)
        self._load = np.zeros(n_joints)
        self._pending_torque = np.zeros(n_joints)
        self._cycles = 0
        self.reset()

    @property
    def position(self) -> FloatArray:
        """True joint angles [rad], shape (n_joints,)."""
        return np.array(self._data.qpos)

    @property
    def velocity(self) -> FloatArray:
        """True joint velocities [rad/s], shape (n_joints,)."""
        return np.array(self._data.qvel)

    def reset(self, position: ArrayLike | None = None) -> Measurement:
        """
        Put the arm at rest in its start posture, with zero torque.

        Parameters
        ----------
        position : array_like of shape (n_joints,), optional
            Posture to start from instead [rad]. The random offset is added in both cases.

        Returns
        -------
        Measurement
        """
        start = self.config.start_position if position is None else np.asarray(position)
        mujoco.mj_resetData(self._model, self._data)
        self._data.qpos[:] = start + self._start_offset
        mujoco.mj_forward(self._model, self._data)
        self._load[:] = self._data.qfrc_bias
        self._pending_torque = np.zeros(self.description.n_joints)
        self._cycles = 0
        measured = self._sensor.reset(self._data.qpos)
        return Measurement(0.0, *measured, self._pending_torque)

    def step(self, torque: ArrayLike) -> Measurement:
        """
        Advance one control cycle.

        Parameters
        ----------
        torque : array_like of shape (n_joints,)
            Torque commanded in answer to the newest measurement [Nm]; it acts during the cycle
            after this one.

        Returns
        -------
        Measurement
            Reading at the end of the cycle.

        Raises
        ------
        InvalidDataError
            If the torque is not one finite number per joint.
        """
        acting = self._pending_torque
        for _ in range(self.config.steps_per_cycle):
            self._physics_step(acting)
        self._cycles += 1
        position, velocity = self._sensor.read(self._data.qpos)
        self._pending_torque = self._drive_torque(torque, position)
        return Measurement(
            self._cycles * self.config.cycle, position, velocity, self._pending_torque
        )

    def _physics_step(self, torque: FloatArray) -> None:
        data, config = self._data, self.config
        if self.braked:
            self._model.dof_frictionloss[:] = config.brake_torque
            data.qfrc_applied[:] = 0.0
        else:
            self._model.dof_frictionloss[:] = self._dry_level()
            motor_angle = self.transmission.motor_angle(data.qpos)
            ripple = config.ripple.motor_torque(motor_angle, self.ripple_phase)
            data.qfrc_applied[:] = torque + self.transmission.joint_torque(ripple)
            data.qfrc_applied += self._passive_torque()
        mujoco.mj_step(self._model, data)
        # The load of a joint is the rigid-body inverse dynamics, without its own rotor.
        mujoco.mj_rne(self._model, data, 1, self._load)

    def _dry_level(self) -> FloatArray:
        """Dry friction (n_joints,) that MuJoCo applies in the next step, Nm."""
        data = self._data
        return self.config.friction.dry_level(data.qpos, data.qvel, self._load)

    def _passive_torque(self) -> FloatArray | float:
        """Torque (n_joints,) in the next step of what the description does not have, Nm."""
        return 0.0

    def _drive_torque(self, command: ArrayLike, position: FloatArray) -> FloatArray:
        """Total torque [Nm] that the drives give for a command."""
        torque = np.array(command, dtype=np.float64)
        n_joints = self.description.n_joints
        if torque.shape != (n_joints,) or not np.isfinite(torque).all():
            raise InvalidDataError(f"torque is {command!r}, expected {n_joints} finite numbers")
        if self.braked:
            return np.zeros(n_joints)
        if self.config.driver_compensates_gravity:
            torque += self._rigid_body.gravity(position)
        limit = self.description.torque_limit
        return np.minimum(np.maximum(torque, -limit), limit)
