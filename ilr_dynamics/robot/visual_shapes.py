# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Visual shapes of an arm's links, read from its URDF."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass
from enum import Enum

import numpy as np
import pinocchio

from ilr_dynamics.arrays import FloatArray, read_only
from ilr_dynamics.exceptions import RobotDescriptionError
from ilr_dynamics.robot.description import RobotDescription

__all__ = ["ShapeKind", "VisualShape", "visual_shapes"]

_GREY = "0.7 0.7 0.7 1"


class ShapeKind(Enum):
    """Kind of geometry of a shape."""

    BOX = "box"
    CYLINDER = "cylinder"
    SPHERE = "sphere"
    MESH = "mesh"


@dataclass(frozen=True, eq=False)
class VisualShape:
    """
    Visual element of a URDF.

    Attributes
    ----------
    link : str
        Link that the shape belongs to.
    kind : ShapeKind
        Kind of its geometry.
    size : ndarray of shape (3,)
        Extent along the axes of the shape [m]; for a mesh its scale [-].
    pose : ndarray of shape (4, 4)
        Homogeneous transform from the shape to its link [m].
    colour : ndarray of shape (4,)
        Red, green, blue and alpha, 0 to 1.
    mesh : str
        URI of the mesh; empty for other shapes.
    """

    link: str
    kind: ShapeKind
    size: FloatArray
    pose: FloatArray
    colour: FloatArray
    mesh: str = ""


def visual_shapes(description: RobotDescription) -> tuple[VisualShape, ...]:
    """
    Read the visual elements of an arm.

    Parameters
    ----------
    description : RobotDescription
        Description of the arm.

    Returns
    -------
    tuple of VisualShape

    Raises
    ------
    RobotDescriptionError
        If a visual element is malformed.
    """
    root = ElementTree.parse(description.urdf_path).getroot()
    colours = {
        material.get("name"): _colour_of(material)
        for material in root.iter("material")
        if material.find("color") is not None
    }
    shapes = []
    for link in root.findall("link"):
        for visual in link.findall("visual"):
            try:
                shapes.append(_shape(link.get("name", ""), visual, colours))
            except (ValueError, StopIteration) as error:
                raise RobotDescriptionError(
                    f"{description.urdf_path}: link '{link.get('name')}' has a visual that cannot "
                    f"be read: {error}"
                ) from error
    return tuple(shapes)


def _shape(
    link: str, visual: ElementTree.Element, colours: dict[str | None, FloatArray]
) -> VisualShape:
    geometry = visual.find("geometry")
    element = next(iter(geometry if geometry is not None else ()))
    kind = ShapeKind(element.tag)
    material = visual.find("material")
    name = None if material is None else material.get("name")
    return VisualShape(
        link=link,
        kind=kind,
        size=read_only(_size(kind, element)),
        pose=_pose(visual.find("origin")),
        colour=colours.get(name, _numbers(_GREY, 4)),
        mesh=element.get("filename", ""),
    )


def _size(kind: ShapeKind, element: ElementTree.Element) -> FloatArray:
    if kind is ShapeKind.BOX:
        return _numbers(element.get("size"), 3)
    if kind is ShapeKind.MESH:
        return _numbers(element.get("scale", "1 1 1"), 3)
    diameter = 2 * _numbers(element.get("radius"), 1)[0]
    if kind is ShapeKind.SPHERE:
        return np.full(3, diameter)
    return np.array([diameter, diameter, _numbers(element.get("length"), 1)[0]])


def _pose(origin: ElementTree.Element | None) -> FloatArray:
    pose = np.eye(4)
    if origin is not None:
        pose[:3, :3] = pinocchio.rpy.rpyToMatrix(_numbers(origin.get("rpy", "0 0 0"), 3))
        pose[:3, 3] = _numbers(origin.get("xyz", "0 0 0"), 3)
    return read_only(pose)


def _colour_of(material: ElementTree.Element) -> FloatArray:
    colour = material.find("color")
    return _numbers(None if colour is None else colour.get("rgba"), 4)


def _numbers(text: str | None, count: int) -> FloatArray:
    values = read_only([float(word) for word in (text or "").split()])
    if len(values) != count:
        raise ValueError(f"'{text}' given, expected {count} numbers")
    return values
