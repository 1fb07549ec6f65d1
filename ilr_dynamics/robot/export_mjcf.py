# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""MJCF of an identified arm, MuJoCo's own format: bodies, rotors, friction and torque limits."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree

import numpy as np
import pinocchio

from ilr_dynamics.arrays import FloatArray
from ilr_dynamics.robot.arm_export import ArmExport
from ilr_dynamics.robot.export_urdf import numbers
from ilr_dynamics.robot.rigid_body import RigidBodyModel

__all__ = ["exported_mjcf"]


def exported_mjcf(arm: ArmExport, note: str) -> str:
    """
    Return the MJCF of an identified arm.

    A motor that moves one joint is armature, damping and friction loss of that joint. One of a
    differential, which moves several, is a fixed tendon over them with the same properties, which
    MuJoCo knows since 3.3. There are no shapes.

    Parameters
    ----------
    arm : ArmExport
        Identified arm.
    note : str
        Text of a comment at the beginning, without ``--``.

    Returns
    -------
    str
        XML.
    """
    root = ElementTree.Element("mujoco", {"model": arm.description.name})
    ElementTree.SubElement(root, "compiler", {"angle": "radian", "autolimits": "true"})
    ElementTree.SubElement(root, "option", {"gravity": numbers(arm.dynamics.gravity)})
    parent = ElementTree.SubElement(root, "worldbody")
    armature, damping, friction = _of_joints(arm)
    for joint in range(arm.n_joints):
        parent = _body(parent, arm, joint)
        losses = {
            "armature": numbers(armature[joint : joint + 1]),
            "damping": numbers(damping[joint : joint + 1]),
            "frictionloss": numbers(friction[joint : joint + 1]),
        }
        _joint(parent, arm, joint, losses)
    _add_tool(parent, arm)
    _add_motors(root, arm)
    _add_actuators(root, arm)
    ElementTree.indent(root)
    text = ElementTree.tostring(root, encoding="unicode")
    return f'<?xml version="1.0"?>\n<!-- {note} -->\n{text}\n'


def _of_joints(arm: ArmExport) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Armature, damping and friction loss (n,) of joints with the motors that move one alone."""
    alone = ~np.array(arm.coupled)
    g = arm.dynamics.motors[alone]
    viscous, dry = arm.motor_friction
    rotors = arm.motors(arm.parameters)[0]
    return (
        rotors[alone] @ g**2,
        viscous[alone] @ g**2,
        arm.dry_friction + dry[alone] @ np.abs(g),
    )


def _body(parent: ElementTree.Element, arm: ArmExport, joint: int) -> ElementTree.Element:
    placement = arm.dynamics.placements[joint]
    body = ElementTree.SubElement(
        parent, "body", {"name": f"body_of_{arm.description.joint_names[joint]}"}
    )
    body.set("pos", numbers(placement[:3, 3]))
    body.set("quat", _quaternion(placement))
    mass = arm.mass_distributions[joint]
    tensor = mass.inertia
    full = [*np.diagonal(tensor), tensor[0, 1], tensor[0, 2], tensor[1, 2]]
    inertial = {
        "pos": numbers(mass.centre),
        "mass": repr(mass.mass),
        "fullinertia": numbers(np.array(full)),
    }
    ElementTree.SubElement(body, "inertial", inertial)
    return body


def _joint(body: ElementTree.Element, arm: ArmExport, joint: int, losses: dict[str, str]) -> None:
    description = arm.description
    values = {"name": description.joint_names[joint], "type": "hinge"}
    values["axis"] = numbers(arm.dynamics.axes[joint])
    limits = np.array([description.position_lower[joint], description.position_upper[joint]])
    if np.all(np.isfinite(limits)):
        values["range"] = numbers(limits)
    ElementTree.SubElement(body, "joint", values | losses)


def _add_tool(body: ElementTree.Element, arm: ArmExport) -> None:
    """Add a site at the tool point."""
    model = RigidBodyModel(arm.description)
    at_zero = np.zeros(arm.n_joints)
    last = np.eye(4)
    for placement in arm.dynamics.placements:
        last = last @ placement
    tool = np.linalg.inv(last) @ model.link_pose(at_zero, arm.description.tool_frame)
    values = {"name": arm.description.tool_frame, "pos": numbers(tool[:3, 3])}
    ElementTree.SubElement(body, "site", {**values, "quat": _quaternion(tool)})


def _add_motors(root: ElementTree.Element, arm: ArmExport) -> None:
    """Add a tendon for each motor that moves several joints."""
    if not any(arm.coupled):
        return
    tendons = ElementTree.SubElement(root, "tendon")
    rotors = arm.motors(arm.parameters)[0]
    viscous, dry = arm.motor_friction
    for motor in np.flatnonzero(arm.coupled):
        values = {
            "name": f"motor{motor + 1}",
            "armature": repr(float(rotors[motor])),
            "damping": repr(float(viscous[motor])),
            "frictionloss": repr(float(dry[motor])),
        }
        tendon = ElementTree.SubElement(tendons, "fixed", values)
        direction = arm.dynamics.motors[motor]
        for joint in np.flatnonzero(direction):
            name = arm.description.joint_names[joint]
            coefficient = repr(float(direction[joint]))
            ElementTree.SubElement(tendon, "joint", {"joint": name, "coef": coefficient})


def _add_actuators(root: ElementTree.Element, arm: ArmExport) -> None:
    actuators = ElementTree.SubElement(root, "actuator")
    for name, limit in zip(arm.description.joint_names, arm.description.torque_limit, strict=True):
        limits = numbers(np.array([-limit, limit]))
        ElementTree.SubElement(
            actuators, "motor", {"name": f"torque_{name}", "joint": name, "ctrlrange": limits}
        )


def _quaternion(placement: FloatArray) -> str:
    """Rotation of a pose as MuJoCo writes it, w first."""
    x, y, z, w = pinocchio.Quaternion(placement[:3, :3]).coeffs()
    return numbers(np.array([w, x, y, z]))
