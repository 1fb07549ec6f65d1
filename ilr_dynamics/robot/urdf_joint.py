# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Joint of a URDF, with its limits and its place checked."""

from __future__ import annotations

import math
import xml.etree.ElementTree as ElementTree
from pathlib import Path

from ilr_dynamics.exceptions import RobotDescriptionError
from ilr_dynamics.robot.urdf_number import finite_numbers

__all__ = ["UrdfJoint"]

# Position from which on degrees may be meant, rad: cables allow an arm no two turns to a side, and
# the smallest range of a joint that is worth the name has more degrees.
FARTHEST = 4.0 * math.pi
# An axis that is shorter has no direction within the digits that files give.
SHORTEST_AXIS = 1e-6


class UrdfJoint:
    """
    Checked joint element of a URDF.

    Parameters
    ----------
    path : Path
        Path of the URDF, for error messages.
    element : Element
        Element of the joint.

    Attributes
    ----------
    name, parent, child : str
        Names of the joint and of its links.
    moves : bool
        Whether it is revolute or continuous, not fixed.
    limits : tuple of float
        Lower and upper position [rad], largest speed [rad/s] and torque [Nm]; empty if fixed.
    warnings : tuple of str
        What is legal, and more likely a mistake.

    Raises
    ------
    RobotDescriptionError
        If it is of another type, or a link, a number or a direction is missing or cannot be read.
    """

    def __init__(self, path: Path, element: ElementTree.Element) -> None:
        self.name = element.get("name", "")
        self.parent = _link_of(path, element, "parent")
        self.child = _link_of(path, element, "child")
        kind = element.get("type")
        if kind not in ("revolute", "continuous", "fixed"):
            raise RobotDescriptionError(
                f"{path}: joint '{self.name}' is of type '{kind}', expected revolute, continuous "
                "or fixed"
            )
        self.moves = kind != "fixed"
        _check_origin(path, self.name, element)
        if self.moves:
            _check_axis(path, self.name, element)
        self.limits = _limits(path, self.name, element) if self.moves else ()
        self.warnings = _warnings(path, self.name, self.limits)


def _link_of(path: Path, joint: ElementTree.Element, side: str) -> str:
    element = joint.find(side)
    link = None if element is None else element.get("link")
    if not link:
        raise RobotDescriptionError(
            f"{path}: joint '{joint.get('name')}' has no <{side} link=...>"
        )
    return link


def _check_origin(path: Path, name: str, joint: ElementTree.Element) -> None:
    origin = joint.find("origin")
    for key in ("xyz", "rpy"):
        text = None if origin is None else origin.get(key)
        if text is not None and finite_numbers(text) is None:
            raise RobotDescriptionError(
                f"{path}: joint '{name}' has the origin {key}='{text}', expected three finite "
                "numbers with decimal points, and xacro's ${...} expanded"
            )


def _check_axis(path: Path, name: str, joint: ElementTree.Element) -> None:
    axis = joint.find("axis")
    if axis is None:
        return
    text = axis.get("xyz", "")
    numbers = finite_numbers(text)
    if numbers is None or math.hypot(*numbers) < SHORTEST_AXIS:
        raise RobotDescriptionError(
            f"{path}: joint '{name}' has the axis xyz='{text}', expected three finite numbers, "
            "not all of them zero"
        )


def _limits(path: Path, name: str, joint: ElementTree.Element) -> tuple[float, ...]:
    element = joint.find("limit")
    attributes = {} if element is None else element.attrib
    continuous = joint.get("type") == "continuous"
    values = [-math.inf, math.inf] if continuous else []
    for key in ("velocity", "effort") if continuous else ("lower", "upper", "velocity", "effort"):
        try:
            values.append(float(attributes[key]))
        except (KeyError, ValueError) as error:
            raise RobotDescriptionError(
                f"{path}: joint '{name}' has the limit {key}={attributes.get(key)!r}, "
                "expected a number"
            ) from error
    lower, upper, velocity, effort = values
    finite = all(map(math.isfinite, values[2:] if continuous else values))
    if not (finite and lower < upper and velocity > 0 and effort > 0):
        raise RobotDescriptionError(
            f"{path}: joint '{name}' has lower={lower}, upper={upper}, velocity={velocity}, "
            f"effort={effort}; expected finite values, lower < upper and positive velocity, effort"
        )
    return lower, upper, velocity, effort


def _warnings(path: Path, name: str, limits: tuple[float, ...]) -> tuple[str, ...]:
    far = [limit for limit in limits[:2] if math.isfinite(limit) and abs(limit) > FARTHEST]
    if not far:
        return ()
    return (
        f"{path}: joint '{name}' goes from {limits[0]:g} to {limits[1]:g} rad, expected two turns "
        "to a side at most: are these degrees? Without limits it is a continuous joint",
    )
