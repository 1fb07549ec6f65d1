# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Parameters of the simulated arm beyond its rigid bodies, and their YAML files."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ilr_dynamics.arrays import FloatArray, read_only
from ilr_dynamics.exceptions import RobotDescriptionError
from ilr_dynamics.robot.description import DESCRIPTION_FOLDER
from ilr_dynamics.robot.encoder import Encoder
from ilr_dynamics.robot.friction import JointFriction
from ilr_dynamics.robot.torque_ripple import TorqueRipple
from ilr_dynamics.robot.yaml_config import build, read_yaml

__all__ = ["PlantConfig", "load_plant_config"]


@dataclass(frozen=True, eq=False)
class PlantConfig:
    """
    Parameters of the simulated arm beyond its rigid bodies.

    Attributes
    ----------
    cycle : float
        Period of the control cycle, a whole number of physics steps [s].
    physics_step : float
        Integration step [s].
    start_position : array_like of shape (n_joints,)
        Joint angles after a reset [rad].
    start_offset : float
        Bound of the random offset of each joint's start angle, uniform in plus or minus it [rad].
    driver_compensates_gravity : bool
        Whether the driver adds the gravity torque of the published inertials to the command.
    brake_torque : float
        Largest torque against which the brakes hold a joint [Nm].
    rotor_inertia : array_like of shape (n_joints,)
        Inertia of each motor's rotor [kg m^2].
    friction : JointFriction
        Friction in the joints.
    ripple : TorqueRipple
        Torque ripple of the motors.
    encoder : Encoder
        Encoders on the motors.

    Raises
    ------
    RobotDescriptionError
        If sizes differ or a number is out of range.
    """

    cycle: float
    physics_step: float
    start_position: FloatArray
    start_offset: float
    driver_compensates_gravity: bool
    brake_torque: float
    rotor_inertia: FloatArray
    friction: JointFriction
    ripple: TorqueRipple
    encoder: Encoder

    def __post_init__(self) -> None:
        """Check the numbers and freeze the arrays."""
        object.__setattr__(self, "start_position", read_only(self.start_position))
        object.__setattr__(self, "rotor_inertia", read_only(self.rotor_inertia))
        sizes = (len(self.friction.dry), self.rotor_inertia.size)
        if sizes != (self.n_joints, self.n_joints):
            raise RobotDescriptionError(
                f"friction and rotor_inertia have {sizes} joints, expected {self.n_joints}"
            )
        if self.ripple.amplitude.size not in (1, self.n_joints):
            raise RobotDescriptionError(
                f"ripple has {self.ripple.amplitude.size} amplitudes, expected one, or one for "
                f"each of {self.n_joints} motors"
            )
        if not 0 < self.physics_step <= self.cycle:
            raise RobotDescriptionError(
                f"physics_step is {self.physics_step} s, expected more than 0 and at most the "
                f"cycle of {self.cycle} s"
            )
        if abs(self.steps_per_cycle * self.physics_step - self.cycle) > 1e-12:
            raise RobotDescriptionError(
                f"cycle is {self.cycle} s, expected a multiple of {self.physics_step} s"
            )
        if self.start_offset < 0 or self.brake_torque <= 0:
            raise RobotDescriptionError(
                f"start_offset is {self.start_offset} rad, expected at least 0, and brake_torque "
                f"{self.brake_torque} Nm, expected more than 0"
            )

    @property
    def n_joints(self) -> int:
        """Number of joints."""
        return len(self.start_position)

    @property
    def steps_per_cycle(self) -> int:
        """Physics steps in a control cycle."""
        return round(self.cycle / self.physics_step)


def load_plant_config(robot: str | Path) -> PlantConfig:
    """
    Load the parameters of a simulated arm.

    Parameters
    ----------
    robot : str or Path
        Name of an arm that comes with the package, such as ``"wam4"``, or the path of a YAML file.

    Returns
    -------
    PlantConfig

    Raises
    ------
    RobotDescriptionError
        If the file is missing or its content is not valid.
    """
    path = Path(robot).expanduser()
    if not path.suffix:
        path = DESCRIPTION_FOLDER / f"{robot}_plant.yaml"
    values = read_yaml(path)
    parts = {
        "friction": JointFriction,
        "ripple": TorqueRipple,
        "encoder": Encoder,
    }
    for key, cls in parts.items():
        values[key] = build(cls, values.get(key), f"{path}, {key}")
    return build(PlantConfig, values, str(path))
