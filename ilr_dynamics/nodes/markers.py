# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Markers for RViz: links of an arm, and fading trails of a point."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

import numpy as np
from geometry_msgs.msg import Pose, PoseStamped
from nav_msgs.msg import Path
from scipy.spatial.transform import Rotation
from std_msgs.msg import ColorRGBA
from visualization_msgs.msg import Marker

from ilr_dynamics.arrays import FloatArray
from ilr_dynamics.robot.visual_shapes import ShapeKind, VisualShape

__all__ = ["Trail", "arm_markers", "colour", "pose"]

_TYPES = {
    ShapeKind.BOX: Marker.CUBE,
    ShapeKind.CYLINDER: Marker.CYLINDER,
    ShapeKind.SPHERE: Marker.SPHERE,
    ShapeKind.MESH: Marker.MESH_RESOURCE,
}
_LINE_WIDTH = 0.006
# Resolution of seconds since 1970 as floats, 2e-7 s, with a margin; stamps count nanoseconds.
_ROUNDING = 1e-6


def pose(transform: FloatArray) -> Pose:
    """Return a homogeneous transform (4, 4), m, as a message."""
    message = Pose()
    position, orientation = message.position, message.orientation
    position.x, position.y, position.z = map(float, transform[:3, 3])
    quaternion = Rotation.from_matrix(transform[:3, :3]).as_quat()
    orientation.x, orientation.y, orientation.z, orientation.w = map(float, quaternion)
    return message


def arm_markers(shapes: Sequence[VisualShape], frame: str) -> list[Marker]:
    """
    Return a marker for each shape, without its pose.

    Parameters
    ----------
    shapes : sequence of VisualShape
        Shapes of the arm.
    frame : str
        Frame of the poses that will be set.
    """
    markers = []
    for number, shape in enumerate(shapes):
        marker = Marker(ns="arm", id=number, type=_TYPES[shape.kind], mesh_resource=shape.mesh)
        marker.header.frame_id = frame
        marker.scale.x, marker.scale.y, marker.scale.z = map(float, shape.size)
        marker.color = colour(shape.colour)
        markers.append(marker)
    return markers


class Trail:
    """
    Recent positions of a point, as a path and as a line that fades with age.

    Parameters
    ----------
    name : str
        Namespace of the marker.
    frame : str
        Frame of the points.
    colour : sequence of float
        Red, green and blue, 0 to 1.
    """

    def __init__(self, name: str, frame: str, colour: Sequence[float]) -> None:
        self._colour = tuple(colour)
        self._times: deque[float] = deque()
        self.path = Path()
        self.path.header.frame_id = frame
        self.marker = Marker(ns=name, type=Marker.LINE_STRIP)
        self.marker.header.frame_id = frame
        self.marker.scale.x = _LINE_WIDTH
        self.marker.pose.orientation.w = 1.0

    def add(self, time: float, point: FloatArray, history: float, spacing: float) -> None:
        """
        Add a point and delete old ones.

        Parameters
        ----------
        time : float
            Time of the point, s; one before the last starts a new trail.
        point : ndarray of shape (3,)
            Position, m.
        history : float
            Time for which points are shown, s.
        spacing : float
            Shortest time between points, s.
        """
        poses = self.path.poses
        if self._times and time < self._times[-1]:
            self._times.clear()
            poses.clear()
        if self._times and time < self._times[-1] + spacing - _ROUNDING:
            return
        stamped = PoseStamped(header=self.path.header)
        position = stamped.pose.position
        position.x, position.y, position.z = map(float, point)
        self._times.append(time)
        poses.append(stamped)
        while self._times[0] < time - history:
            self._times.popleft()
            poses.pop(0)

    def fill_marker(self) -> Marker:
        """Return the line; it is empty with fewer than two points."""
        points = [stamped.pose.position for stamped in self.path.poses]
        alphas = np.linspace(0.0, 1.0, len(points))
        self.marker.points = points
        self.marker.colors = [colour((*self._colour, alpha)) for alpha in alphas]
        self.marker.action = Marker.ADD if len(points) > 1 else Marker.DELETE
        return self.marker


def colour(rgba: Sequence[float] | FloatArray) -> ColorRGBA:
    """Return red, green, blue and opacity, 0 to 1, as a message."""
    red, green, blue, alpha = map(float, rgba)
    return ColorRGBA(r=red, g=green, b=blue, a=alpha)
