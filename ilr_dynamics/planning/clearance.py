# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Clearance of an arm's shapes from each other and from stated boxes."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pinocchio

from ilr_dynamics.arrays import FloatArray, read_only
from ilr_dynamics.exceptions import InvalidParameterError, RobotDescriptionError
from ilr_dynamics.robot.description import RobotDescription
from ilr_dynamics.robot.pinocchio_model import pinocchio_model

__all__ = ["Clearance", "KeepOutBox"]

# What does not move with any joint.
UNIVERSE = 0


@dataclass(frozen=True, eq=False)
class KeepOutBox:
    """
    Box in the base's frame that no part of the arm may enter.

    Parameters
    ----------
    corner, opposite : ndarray of shape (3,)
        Two opposite corners, m.

    Raises
    ------
    InvalidParameterError
        If a coordinate is not finite, or the box has no volume.
    """

    corner: FloatArray
    opposite: FloatArray

    def __post_init__(self) -> None:
        """Check and freeze the corners."""
        for name in ("corner", "opposite"):
            object.__setattr__(self, name, read_only(getattr(self, name)))
        sides = np.abs(self.opposite - self.corner)
        if not (np.isfinite(sides).all() and (sides > 0.0).all()):
            raise InvalidParameterError(
                f"the box from {self.corner.tolist()} to {self.opposite.tolist()} has sides of "
                f"{sides.tolist()} m, expected finite ones above 0"
            )

    def __str__(self) -> str:
        return f"box from {self.corner.tolist()} to {self.opposite.tolist()} m"


class Clearance:
    """
    Whether an arm is clear of itself and of boxes.

    Shapes are the collision elements of the URDF, and the visual ones of links without. Those
    that turn about one point against each other, as neighbours and all parts of a spherical
    shoulder do, may touch: the ranges of their joints keep them apart. So may those that do in a
    posture in which the arm has been: shapes are larger than what they stand for. Those that were
    closer there than the margin may come as close again, and no closer.

    Parameters
    ----------
    description : RobotDescription
        The arm.
    boxes : sequence of KeepOutBox
        What it must not enter. What moves with no joint, as a foot on a table, may stand in one.
    margin : float
        Smallest distance, m.
    known : ndarray of shape (m, n_joints)
        Postures in which the arm has been, rad.

    Attributes
    ----------
    left_out : tuple of (str, str)
        Names of shapes that may touch each other, as they did in a known posture.
    bare_links : tuple of str
        Names of moving links with a mass and without a shape.

    Raises
    ------
    RobotDescriptionError
        If shapes cannot be read, or there are boxes and moving links without a shape.
    InvalidParameterError
        If the arm was closer to a box than the margin in a known posture.
    """

    def __init__(
        self,
        description: RobotDescription,
        boxes: Sequence[KeepOutBox],
        margin: float,
        known: FloatArray,
    ) -> None:
        self._model = pinocchio_model(description)
        self._shapes = _arm_shapes(description, self._model)
        self._n_of_arm = self._shapes.ngeoms
        self.bare_links = _bare_links(description, self._model, self._shapes)
        if boxes and self.bare_links:
            raise RobotDescriptionError(
                f"{description.urdf_path} has no shapes of {', '.join(self.bare_links)}, expected "
                f"some of each moving link to keep clear of the {boxes[0]}"
            )
        if boxes:
            for shape in _box_shapes(self._model, boxes).geometryObjects:
                self._shapes.addGeometryObject(shape)
        for first, second in self._candidates():
            self._shapes.addCollisionPair(pinocchio.CollisionPair(first, second))
        self._data = self._model.createData()
        distances = self._least_distances(known)
        self._check_boxes(boxes, margin, distances)
        self.left_out = self._drop_touching(distances)
        self._of_shapes = self._shapes.createData()
        kept = distances[distances > 0.0]
        for request, distance in zip(self._of_shapes.collisionRequests, kept, strict=True):
            request.security_margin = min(margin, float(distance))

    @property
    def n_shapes(self) -> int:
        """Number of the arm's shapes."""
        return self._n_of_arm

    @property
    def n_pairs(self) -> int:
        """Number of pairs of shapes that are kept apart."""
        return len(self._shapes.collisionPairs)

    def holds(self, positions: FloatArray) -> bool:
        """Whether the arm is clear in all postures (m, n_joints), rad."""
        return self.n_pairs == 0 or not any(self._touches(position) for position in positions)

    def _touches(self, position: FloatArray) -> bool:
        return bool(
            pinocchio.computeCollisions(
                self._model, self._data, self._shapes, self._of_shapes, position, True
            )
        )

    def _candidates(self) -> list[tuple[int, int]]:
        """Pairs of shapes that do not turn about one point, and of moving ones and boxes."""
        shapes = self._shapes.geometryObjects
        offsets = [np.linalg.norm(place.translation) for place in self._model.jointPlacements]
        pairs = []
        for first in range(self._n_of_arm):
            for second in range(first + 1, len(shapes)):
                joint, other = sorted((shapes[first].parentJoint, shapes[second].parentJoint))
                if second >= self._n_of_arm:
                    apart = shapes[first].parentJoint != UNIVERSE
                else:
                    apart = any(offsets[joint + 2 : other + 1])
                if apart:
                    pairs.append((first, second))
        return pairs

    def _least_distances(self, known: FloatArray) -> FloatArray:
        """Smallest distance of each pair in known postures, m; not above 0 where it touched."""
        of_shapes = self._shapes.createData()
        least = np.full(self.n_pairs, np.inf)
        for position in known:
            pinocchio.computeDistances(self._model, self._data, self._shapes, of_shapes, position)
            found = [result.min_distance for result in of_shapes.distanceResults]
            least = np.minimum(least, found)
        return least

    def _check_boxes(
        self, boxes: Sequence[KeepOutBox], margin: float, distances: FloatArray
    ) -> None:
        """Refuse a box to which the arm was closer than the margin."""
        pairs = zip(self._shapes.collisionPairs, distances, strict=True)
        for first, second, distance in [(p.first, p.second, d) for p, d in pairs]:
            if second >= self._n_of_arm and distance <= margin:
                name = self._shapes.geometryObjects[first].name
                raise InvalidParameterError(
                    f"the {boxes[second - self._n_of_arm]} is less than {margin:g} m from "
                    f"the arm's shape {name} in a recorded posture; expected a box that the arm "
                    "has kept clear of, or a smaller margin"
                )

    def _drop_touching(self, distances: FloatArray) -> tuple[tuple[str, str], ...]:
        """Leave out pairs that touched in known postures, and return the names of their shapes."""
        # Copies: what the container returns changes with it.
        pairs = [(pair.first, pair.second) for pair in self._shapes.collisionPairs]
        touched = [pair for pair, least in zip(pairs, distances, strict=True) if least <= 0.0]
        for pair in touched:
            self._shapes.removeCollisionPair(pinocchio.CollisionPair(*pair))
        shapes = self._shapes.geometryObjects
        return tuple((shapes[first].name, shapes[second].name) for first, second in touched)


def _arm_shapes(description: RobotDescription, model: pinocchio.Model) -> Any:
    """Shapes of an arm for Pinocchio; none if its URDF has none."""
    path = str(description.urdf_path)
    try:
        shapes = pinocchio.buildGeomFromUrdf(model, path, pinocchio.GeometryType.COLLISION)
        # Only where they are needed: meshes to look at may be missing.
        if any(link.find("collision") is None for link in _links(description, "visual")):
            covered = {shape.parentFrame for shape in shapes.geometryObjects}
            visual = pinocchio.buildGeomFromUrdf(model, path, pinocchio.GeometryType.VISUAL)
            for shape in visual.geometryObjects:
                if shape.parentFrame not in covered:
                    shapes.addGeometryObject(shape)
    except (ValueError, RuntimeError) as error:
        raise RobotDescriptionError(
            f"{path}: its shapes cannot be read: {error}; expected meshes to which "
            "ROS_PACKAGE_PATH leads"
        ) from error
    return shapes


def _bare_links(
    description: RobotDescription, model: pinocchio.Model, shapes: Any
) -> tuple[str, ...]:
    """Names of moving links with a mass and without a shape."""
    covered = {model.frames[shape.parentFrame].name for shape in shapes.geometryObjects}
    moving = {
        frame.name
        for frame in model.frames
        if frame.type == pinocchio.FrameType.BODY and frame.parentJoint != UNIVERSE
    }
    with_mass = [
        link.get("name", "")
        for link in _links(description, "inertial/mass")
        if float(link.find("inertial/mass").get("value", "0")) > 0.0  # type: ignore[union-attr]
    ]
    return tuple(name for name in with_mass if name in moving - covered)


def _links(description: RobotDescription, with_part: str) -> list[ElementTree.Element]:
    """Links of a URDF that have a part."""
    links = ElementTree.parse(description.urdf_path).getroot().findall("link")
    return [link for link in links if link.find(with_part) is not None]


def _box_shapes(model: pinocchio.Model, boxes: Sequence[KeepOutBox]) -> Any:
    """Shapes of boxes, read as those of a URDF's base, so that no other package is needed."""
    base = next(frame for frame in model.frames if frame.type == pinocchio.FrameType.BODY)
    robot = ElementTree.Element("robot", name="boxes")
    link = ElementTree.SubElement(robot, "link", name=base.name)
    for box in boxes:
        element = ElementTree.SubElement(link, "collision")
        ElementTree.SubElement(element, "origin", xyz=_words(0.5 * (box.corner + box.opposite)))
        geometry = ElementTree.SubElement(element, "geometry")
        ElementTree.SubElement(geometry, "box", size=_words(np.abs(box.opposite - box.corner)))
    text = ElementTree.tostring(robot, encoding="unicode")
    return pinocchio.buildGeomFromUrdfString(model, text, pinocchio.GeometryType.COLLISION)


def _words(numbers: FloatArray) -> str:
    return " ".join(repr(float(number)) for number in numbers)
