# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""The simulated arm with something in its hand and more friction."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from pathlib import Path

from _simulated_motion import Arm

from ilr_dynamics.robot.description import RobotDescription, load_description
from ilr_dynamics.robot.plant import WamPlant

__all__ = ["changed_arm"]

# Of what is in the hand: a ball of steel of half a kilogram is this wide.
RADIUS_OF_GYRATION = 0.02


def changed_arm(seed: int, name: str, *, payload: float, friction: float, folder: Path) -> Arm:
    """
    An arm whose plant is not what its description says.

    Parameters
    ----------
    seed, name
        Of the arm.
    payload
        Mass at the tool point, kg.
    friction
        Factor of dry and viscous friction.
    folder
        Where the URDF of the changed arm is written.
    """
    arm = Arm(seed, name)
    loaded = _with_payload(arm.description, payload, folder)
    usual = arm.plant.config.friction
    rough = replace(usual, dry=friction * usual.dry, viscous=friction * usual.viscous)
    arm.plant = WamPlant(loaded, replace(arm.plant.config, friction=rough), seed=seed)
    return arm


def _with_payload(description: RobotDescription, mass: float, folder: Path) -> RobotDescription:
    tree = ElementTree.parse(description.urdf_path)
    tool = tree.find(f"link[@name='{description.tool_frame}']")
    assert tool is not None and tool.find("inertial") is None
    inertial = ElementTree.SubElement(tool, "inertial")
    ElementTree.SubElement(inertial, "mass", value=str(mass))
    moment = str(mass * RADIUS_OF_GYRATION**2)
    ElementTree.SubElement(
        inertial, "inertia", ixx=moment, iyy=moment, izz=moment, ixy="0", ixz="0", iyz="0"
    )
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "loaded.urdf"
    tree.write(path)
    return load_description(path)
