# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""MuJoCo model of an arm from its URDF."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree

import mujoco
import numpy as np
from numpy.typing import ArrayLike

from ilr_dynamics.exceptions import RobotDescriptionError
from ilr_dynamics.robot.description import RobotDescription
from ilr_dynamics.robot.moment_rounding import MOMENTS, tensor_of

__all__ = ["build_mujoco_model"]

# Impedance of the stiffest constraint MuJoCo allows: a sticking joint creeps by some 1e-6 rad/s.
_STICK_IMPEDANCE = (0.9999, 0.9999, 0.001, 0.5, 2.0)
# Margin to the moments of inertia that MuJoCo refuses, relative to the largest one.
_BEYOND_BOUND = 1e-9


def build_mujoco_model(
    description: RobotDescription,
    *,
    timestep: float,
    armature: ArrayLike = 0.0,
    damping: ArrayLike = 0.0,
) -> mujoco.MjModel:
    """
    Build the MuJoCo model of an arm, without dry friction.

    Moments of inertia that are inconsistent by rounding, which MuJoCo refuses, are changed
    slightly. The model has no shapes: their meshes may be missing, they would collide with each
    other, and masses are those of the inertials, as everywhere in this package.

    Parameters
    ----------
    description : RobotDescription
        Description of the arm.
    timestep : float
        Integration step [s].
    armature : array_like of shape (n_joints,)
        Reflected rotor inertia [kg m^2].
    damping : array_like of shape (n_joints,)
        Viscous friction [Nms/rad].

    Returns
    -------
    mujoco.MjModel
        Model whose dof_frictionloss may be set before each step.

    Raises
    ------
    RobotDescriptionError
        If MuJoCo cannot read the URDF or orders its joints differently.
    """
    try:
        model = mujoco.MjModel.from_xml_string(_mujoco_text(description))
    except ValueError as error:
        raise RobotDescriptionError(f"{description.urdf_path}: {error}") from error
    names = tuple(model.joint(index).name for index in range(model.njnt))
    if names != description.joint_names:
        raise RobotDescriptionError(
            f"{description.urdf_path}: joints {names}, expected {description.joint_names}"
        )
    model.opt.timestep = timestep
    model.opt.gravity[:] = description.gravity
    model.dof_armature[:] = armature
    model.dof_damping[:] = damping
    model.dof_solimp[:] = _STICK_IMPEDANCE
    model.dof_solref[:] = (2 * timestep, 1.0)
    mujoco.mj_setConst(model, mujoco.MjData(model))
    return model


def _mujoco_text(description: RobotDescription) -> str:
    """Return the text of the URDF in a form that MuJoCo accepts."""
    root = ElementTree.parse(description.urdf_path).getroot()
    for link in root.findall("link"):
        for kind in ("visual", "collision"):
            for shape in link.findall(kind):
                link.remove(shape)
    for inertia in root.findall("link/inertial/inertia"):
        _make_consistent(inertia)
    return ElementTree.tostring(root, encoding="unicode")


def _make_consistent(inertia: ElementTree.Element) -> None:
    """Raise the smaller principal moments so that their sum is at least the largest."""
    try:
        values = {name: float(inertia.attrib[name]) for name in MOMENTS}
        moments, axes = np.linalg.eigh(tensor_of(values))
    except (KeyError, ValueError, np.linalg.LinAlgError):
        # The inertial of a link that does not move was not checked: left for MuJoCo to judge.
        return
    wanted = (1.0 + _BEYOND_BOUND) * moments[2]
    if moments[0] + moments[1] < wanted:
        moments[:2] = np.maximum(moments[1], 0.5 * wanted)
        moments[0] = wanted - moments[1]
        tensor = axes @ np.diag(moments) @ axes.T
        for name, place in MOMENTS.items():
            inertia.set(name, repr(float(tensor[place])))
