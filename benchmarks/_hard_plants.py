# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""
Simulated arms that no term of identified dynamics describes.

Joints that give way before they slip (LuGre: Canudas de Wit et al., 1995), and a hose that pulls
from outside. Numbers are frozen: they judge.
"""

from __future__ import annotations

from collections.abc import Callable

import mujoco
import numpy as np
from _plant_inverse import PlantInverse
from _simulated_motion import Arm
from numpy.typing import ArrayLike

from ilr_dynamics.arrays import FloatArray
from ilr_dynamics.robot.description import RobotDescription
from ilr_dynamics.robot.plant import Measurement, WamPlant
from ilr_dynamics.robot.plant_config import PlantConfig

__all__ = ["PLANTS", "hard_arm", "perfect_inverse"]

# Deflection at which a joint slips, rad; share of critical damping of its bristles, and the speed
# at which that has gone, rad/s.
DEFLECTION, BRISTLE_DAMPING, DAMPING_SPEED = 0.007, 0.4, 0.1
# Where the hose is fixed, in the base frame, m; its free length, m; its pull, N, N/m^2.
HOSE_ORIGIN = np.array([0.15, 0.55, 0.75])
HOSE_LENGTH, HOSE_STIFFNESS, HOSE_HARDENING = 0.70, 40.0, 300.0


class LuGrePlant(WamPlant):
    """Arm whose joints have bristles in place of MuJoCo's dry friction."""

    def __init__(self, description: RobotDescription, config: PlantConfig, seed: int = 0) -> None:
        self._bristle = np.zeros(description.n_joints)
        super().__init__(description, config, seed)
        data = mujoco.MjData(self._model)
        data.qpos[:] = config.start_position
        mujoco.mj_forward(self._model, data)
        mass = np.zeros((description.n_joints, description.n_joints))
        for column, unit in zip(mass, np.eye(len(mass)), strict=True):
            mujoco.mj_mulM(self._model, data, column, unit)
        self._stiffness = config.friction.dry / DEFLECTION
        self._damping = BRISTLE_DAMPING * np.sqrt(self._stiffness * np.diag(mass))

    def reset(self, position: ArrayLike | None = None) -> Measurement:
        """As `WamPlant.reset`, with bristles at rest."""
        self._bristle[:] = 0.0
        return super().reset(position)

    def _passive_torque(self) -> FloatArray:
        data, step = self._data, self.config.physics_step
        level = self.config.friction.dry_level(data.qpos, data.qvel, self._load)
        slip = self._stiffness * np.abs(data.qvel) / level
        bristle = (self._bristle + step * data.qvel) / (1.0 + step * slip)
        speed = (bristle - self._bristle) / step
        self._bristle = bristle
        fading = np.exp(-((data.qvel / DAMPING_SPEED) ** 2))
        return -(self._stiffness * bristle + self._damping * fading * speed)

    def _dry_level(self) -> FloatArray:
        return np.zeros(self.description.n_joints)


class HosePlant(WamPlant):
    """Arm that a hose pulls at its last body; its joints carry what the hose does not."""

    def _physics_step(self, torque: FloatArray) -> None:
        super()._physics_step(torque)
        self._load -= hose_torque(self._model, self._data)

    def _passive_torque(self) -> FloatArray:
        return hose_torque(self._model, self._data)


class HoseInverse(PlantInverse):
    """Inverse dynamics of the arm that a hose pulls, with friction by what its joints carry."""

    def __init__(self, plant: WamPlant) -> None:
        super().__init__(plant)
        self._model = plant._model
        self._data = mujoco.MjData(self._model)

    def _load(
        self, position: FloatArray, velocity: FloatArray, acceleration: FloatArray
    ) -> FloatArray:
        self._data.qpos[:] = position
        mujoco.mj_kinematics(self._model, self._data)
        mujoco.mj_comPos(self._model, self._data)
        hose = hose_torque(self._model, self._data)
        return super()._load(position, velocity, acceleration) - hose


def hose_torque(model: mujoco.MjModel, data: mujoco.MjData) -> FloatArray:
    """Joint torque (n_joints,) of the hose, Nm."""
    body = model.nbody - 1
    away = HOSE_ORIGIN - data.xipos[body]
    distance = float(np.linalg.norm(away))
    stretch = max(distance - HOSE_LENGTH, 0.0)
    force = (HOSE_STIFFNESS + HOSE_HARDENING * stretch**2) * stretch * away / distance
    jacobian = np.zeros((3, model.nv))
    mujoco.mj_jacBodyCom(model, data, jacobian, None, body)
    return jacobian.T @ force


PLANTS: dict[str, type[WamPlant]] = {"own": WamPlant, "lugre": LuGrePlant, "hose": HosePlant}
"""Plants by name."""


def hard_arm(plant: str, seed: int) -> Arm:
    """Return the arm with four joints and one of `PLANTS`."""
    arm = Arm(seed)
    arm.plant = PLANTS[plant](arm.description, arm.plant.config, seed)
    return arm


def perfect_inverse(arm: Arm) -> Callable[[FloatArray], FloatArray]:
    """Return the best inverse known, for inputs [q, qd, qdd]; LuGre's joints do not give way."""
    kind = HoseInverse if isinstance(arm.plant, HosePlant) else PlantInverse
    inverse = kind(arm.plant)
    return lambda x: inverse(*np.split(x, 3))
