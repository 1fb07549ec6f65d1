# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Arms of which faulty recordings are made: what torque a motion really takes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np
import pinocchio

from ilr_dynamics.arrays import FloatArray
from ilr_dynamics.learning import LearningSettings
from ilr_dynamics.nodes.parameter_file import read_complete_parameters
from ilr_dynamics.nodes.parameters import INVERSE_DYNAMICS
from ilr_dynamics.nodes.settings import learning_settings
from ilr_dynamics.robot.description import RobotDescription, load_description
from ilr_dynamics.robot.friction import JointFriction
from ilr_dynamics.robot.plant_config import PlantConfig, load_plant_config
from ilr_dynamics.robot.transmission import Transmission

__all__ = ["ARMS", "AS_DESCRIBED", "Arm", "Drives", "World", "load_arm"]

REPOSITORY = Path(__file__).resolve().parents[1]
ARM6 = REPOSITORY / "test" / "data" / "arm6"
GRAVITY = 9.81
ARMS = ("wam4", "wam7", "arm6")


@dataclass(frozen=True)
class World:
    """
    What an arm stands in and carries.

    Attributes
    ----------
    up : tuple of 3 float
        Against gravity, in the axes of the base, of length 1.
    payload : float
        kg, at the tool point.
    extra_delay : float
        By which a torque acts later than it should, s.
    """

    up: tuple[float, float, float] = (0.0, 0.0, 1.0)
    payload: float = 0.0
    extra_delay: float = 0.0


AS_DESCRIBED = World()


@dataclass(frozen=True)
class Drives:
    """
    Friction and motors of one arm on one day.

    Attributes
    ----------
    friction : JointFriction
    presliding : float
        Travel over which friction builds up again after it was turned round, rad.
    ripple : float
        In units of the plant's.
    ripple_phase : ndarray of shape (n_joints,)
        Of each motor, rad.
    """

    friction: JointFriction
    presliding: float
    ripple: float
    ripple_phase: FloatArray


@dataclass(frozen=True)
class Arm:
    """An arm, its simulated drives, and the settings that a recording of it is inspected with."""

    name: str
    description: RobotDescription
    config: PlantConfig
    transmission: Transmission
    settings: LearningSettings
    kp: FloatArray
    kd: FloatArray

    @property
    def n_joints(self) -> int:
        return self.description.n_joints

    def rigid_torque(
        self,
        position: FloatArray,
        velocity: FloatArray,
        acceleration: FloatArray,
        world: World = AS_DESCRIBED,
    ) -> FloatArray:
        """Torque (n, n_joints) of the rigid bodies, Nm, for a motion of that shape."""
        model, data = _bodies(self.name, self.description.tool_frame, world)
        motion = zip(position, velocity, acceleration, strict=True)
        return np.array([pinocchio.rnea(model, data, *state) for state in motion])

    def torque(
        self,
        position: FloatArray,
        velocity: FloatArray,
        acceleration: FloatArray,
        drives: Drives,
        start: FloatArray,
        world: World = AS_DESCRIBED,
    ) -> FloatArray:
        """
        Torque of the drives that a motion takes.

        Parameters
        ----------
        position, velocity, acceleration : ndarray of shape (n, n_joints)
            At times that follow closely.
        drives : Drives
        start : ndarray of shape (n_joints,)
            Share of the dry friction, -1 to 1, that acts on joints that rest at first.
        world : World

        Returns
        -------
        ndarray of shape (n, n_joints)
            Nm: rigid bodies, rotors, friction and ripple.
        """
        load = self.rigid_torque(position, velocity, acceleration, world)
        friction = drives.friction
        level = friction.dry_level(position, velocity, load)
        side = _friction_side(position, velocity, drives.presliding, start)
        angle = position @ self.transmission.joint_to_motor.T
        ripple = drives.ripple * self.config.ripple.motor_torque(angle, drives.ripple_phase)
        return (
            load
            + self.transmission.reflected_inertia * acceleration
            + level * side
            + friction.viscous * velocity
            - ripple @ self.transmission.joint_to_motor
        )


def _friction_side(
    position: FloatArray, velocity: FloatArray, presliding: float, start: FloatArray
) -> FloatArray:
    """Share (n, n_joints) of the dry friction that acts, as Dahl has it: it stays at rest."""
    travel = np.diff(position, axis=0)
    kept = np.exp(-np.abs(travel) / presliding)
    to = np.sign(travel) * (1.0 - kept)
    side = np.empty_like(position)
    side[0] = np.where(velocity[0] == 0.0, start, np.tanh(velocity[0] / 0.01))
    for row in range(len(travel)):
        side[row + 1] = kept[row] * side[row] + to[row]
    return side


@cache
def load_arm(name: str) -> Arm:
    """Return one of `ARMS`."""
    if name == "arm6":
        description = load_description(ARM6 / "arm6.urdf")
        config = load_plant_config(ARM6 / "arm6_plant.yaml")
        parameters = ARM6 / "my_arm.yaml"
    else:
        description = load_description(name)
        config = load_plant_config(name)
        parameters = REPOSITORY / "config" / f"{name}.yaml"
    values = read_complete_parameters([parameters], "/inverse_dynamics", INVERSE_DYNAMICS)
    settings = replace(
        learning_settings(values), directories=None, robot=str(description.urdf_path)
    )
    gears = description.gear_matrix
    if gears is None:
        gears = np.eye(description.n_joints)
    return Arm(
        name,
        description,
        config,
        Transmission(gears, config.rotor_inertia),
        settings,
        np.array(values["gains.kp"]),
        np.array(values["gains.kd"]),
    )


@cache
def _bodies(name: str, tool_frame: str, world: World) -> tuple[pinocchio.Model, pinocchio.Data]:
    """Rigid bodies as they really are; the model of the package only knows the description."""
    model = pinocchio.buildModelFromUrdf(str(load_arm(name).description.urdf_path))
    model.gravity.linear = -GRAVITY * np.asarray(world.up)
    if world.payload:
        tool = model.frames[model.getFrameId(tool_frame, pinocchio.FrameType.BODY)]
        mass = pinocchio.Inertia(world.payload, np.zeros(3), np.zeros((3, 3)))
        model.appendBodyToJoint(tool.parentJoint, mass, tool.placement)
    return model, model.createData()
