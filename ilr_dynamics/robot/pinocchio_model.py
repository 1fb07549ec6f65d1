# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Pinocchio's model of an arm."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree

import pinocchio

from ilr_dynamics.exceptions import RobotDescriptionError
from ilr_dynamics.robot.description import RobotDescription

__all__ = ["pinocchio_model"]


def pinocchio_model(description: RobotDescription) -> pinocchio.Model:
    """
    Return the model of an arm, in which each joint's position is one angle.

    Pinocchio has cosine and sine of a continuous joint for its position.

    Raises
    ------
    RobotDescriptionError
        If Pinocchio cannot read the URDF.
    """
    try:
        if not any(description.continuous):
            return pinocchio.buildModelFromUrdf(str(description.urdf_path))
        root = ElementTree.parse(description.urdf_path).getroot()
        for joint in root.findall("joint[@type='continuous']"):
            joint.set("type", "revolute")
        return pinocchio.buildModelFromXML(ElementTree.tostring(root, encoding="unicode"))
    except (ValueError, RuntimeError) as error:
        raise RobotDescriptionError(f"{description.urdf_path}: {error}") from error
