# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Pinocchio model of an arm, with one angle as the position of each joint."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree

import pinocchio

from ilr_dynamics.exceptions import RobotDescriptionError
from ilr_dynamics.robot.description import RobotDescription

__all__ = ["pinocchio_model"]


def pinocchio_model(description: RobotDescription) -> pinocchio.Model:
    """
    Return the Pinocchio model of an arm, with one angle as the position of each joint.

    By default Pinocchio represents the position of a continuous joint by cosine and sine.

    Parameters
    ----------
    description : RobotDescription
        Description of the arm.

    Returns
    -------
    pinocchio.Model

    Raises
    ------
    RobotDescriptionError
        If Pinocchio cannot read the URDF.
    """
    model = _read(description)
    model.gravity.linear = description.gravity
    return model


def _read(description: RobotDescription) -> pinocchio.Model:
    try:
        if not any(description.continuous):
            return pinocchio.buildModelFromUrdf(str(description.urdf_path))
        root = ElementTree.parse(description.urdf_path).getroot()
        for joint in root.findall("joint[@type='continuous']"):
            joint.set("type", "revolute")
        return pinocchio.buildModelFromXML(ElementTree.tostring(root, encoding="unicode"))
    except (ValueError, RuntimeError) as error:
        raise RobotDescriptionError(f"{description.urdf_path}: {error}") from error
