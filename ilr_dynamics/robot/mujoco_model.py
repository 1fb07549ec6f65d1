# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""MuJoCo model of an arm from its URDF."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree

import mujoco
import numpy.typing as npt

from ilr_dynamics.exceptions import RobotDescriptionError
from ilr_dynamics.robot.description import RobotDescription

__all__ = ["build_mujoco_model"]

# The stiffest constraint MuJoCo allows: a sticking joint then creeps by about 1e-6 rad/s.
_STICK_IMPEDANCE = (0.9999, 0.9999, 0.001, 0.5, 2.0)


def build_mujoco_model(
    description: RobotDescription,
    *,
    timestep: float,
    armature: npt.ArrayLike = 0.0,
    damping: npt.ArrayLike = 0.0,
) -> mujoco.MjModel:
    """Build the model that MuJoCo simulates, without dry friction.

    It has no shapes: their meshes may be missing, they would collide with each other, and masses
    are those of the inertials alone, as everywhere else.

    Parameters
    ----------
    description : RobotDescription
        The arm.
    timestep : float
        Integration step [s].
    armature : array_like of shape (n_joints,)
        Reflected rotor inertia [kg m^2].
    damping : array_like of shape (n_joints,)
        Viscous friction [Nms/rad].

    Returns
    -------
    mujoco.MjModel
        Its dof_frictionloss may be set before each step.

    Raises
    ------
    RobotDescriptionError
        If MuJoCo cannot read the URDF or orders its joints differently.
    """
    try:
        model = mujoco.MjModel.from_xml_string(_without_shapes(description))
    except ValueError as error:
        raise RobotDescriptionError(f"{description.urdf_path}: {error}") from error
    names = tuple(model.joint(index).name for index in range(model.njnt))
    if names != description.joint_names:
        raise RobotDescriptionError(
            f"{description.urdf_path}: joints {names}, expected {description.joint_names}"
        )
    model.opt.timestep = timestep
    model.opt.gravity[:] = (0.0, 0.0, -9.81)
    model.dof_armature[:] = armature
    model.dof_damping[:] = damping
    model.dof_solimp[:] = _STICK_IMPEDANCE
    model.dof_solref[:] = (2 * timestep, 1.0)
    mujoco.mj_setConst(model, mujoco.MjData(model))
    return model


def _without_shapes(description: RobotDescription) -> str:
    root = ElementTree.parse(description.urdf_path).getroot()
    for link in root.findall("link"):
        for kind in ("visual", "collision"):
            for shape in link.findall(kind):
                link.remove(shape)
    return ElementTree.tostring(root, encoding="unicode")
