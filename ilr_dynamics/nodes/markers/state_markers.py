# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Markers for RViz: the arm, trails of a point, torques, trust in the learned model."""

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

__all__ = ["TorqueBars", "Trail", "arm_markers", "colour", "confidence_markers", "pose"]

_TYPES = {
    ShapeKind.BOX: Marker.CUBE,
    ShapeKind.CYLINDER: Marker.CYLINDER,
    ShapeKind.SPHERE: Marker.SPHERE,
    ShapeKind.MESH: Marker.MESH_RESOURCE,
}
_LINE_WIDTH = 0.006
# Resolution of seconds since 1970 as floats, 2e-7 s, with a margin; stamps count nanoseconds.
_ROUNDING = 1e-6
# Torque bars: position of the first one, and offset to that of the next joint, m.
_BAR_ORIGIN = np.array([-0.25, -0.45, 0.0])
_BAR_STEP = np.array([0.0, -0.09, 0.0])
# Length of a bar at the joint's limit, m, and width of the parts, m.
_BAR_LENGTH = 0.3
_BAR_WIDTHS = {"limit": 0.06, "feedforward": 0.02, "pd": 0.02}
# Horizontal offsets, so that the parts are side by side.
_BAR_OFFSETS = {
    "limit": np.zeros(3),
    "feedforward": np.array([0.0, 0.014, 0.0]),
    "pd": np.array([0.0, -0.014, 0.0]),
}
_BAR_COLOURS = {
    "limit": (0.7, 0.7, 0.7, 0.25),
    "feedforward": (0.1, 0.4, 0.9, 0.9),
    "pd": (0.9, 0.3, 0.1, 1.0),
}
_NAME_HEIGHT = 0.03
# Diameter of the sphere of trust and height of its text, m.
_TRUST_SIZE = 0.05
_TRUST_TEXT_HEIGHT = 0.035
# Colours for shares of zero, one half and one.
_TRUST_SCALE = np.array([[0.85, 0.15, 0.1], [0.95, 0.8, 0.1], [0.15, 0.75, 0.25]])
_NOT_LEARNED = (0.6, 0.6, 0.6)


def pose(transform: FloatArray) -> Pose:
    """Return a homogeneous transform (4, 4), m, as a message."""
    message = Pose()
    position, orientation = message.position, message.orientation
    position.x, position.y, position.z = map(float, transform[:3, 3])
    quaternion = Rotation.from_matrix(transform[:3, :3]).as_quat()
    orientation.x, orientation.y, orientation.z, orientation.w = map(float, quaternion)
    return message


def colour(rgba: Sequence[float] | FloatArray) -> ColorRGBA:
    """Return red, green, blue and opacity, 0 to 1, as a message."""
    red, green, blue, alpha = map(float, rgba)
    return ColorRGBA(r=red, g=green, b=blue, a=alpha)


def _marker(namespace: str, number: int, kind: int, frame: str, position: FloatArray) -> Marker:
    marker = Marker(ns=namespace, id=number, type=kind)
    marker.header.frame_id = frame
    point = marker.pose.position
    point.x, point.y, point.z = map(float, position)
    marker.pose.orientation.w = 1.0
    return marker


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


class TorqueBars:
    """
    One bar per joint, upward for positive torques: feed-forward and PD within the limits.

    Parameters
    ----------
    joints : sequence of str
        Names shown under the bars.
    limits : ndarray of shape (n_joints,)
        Torque of a full bar, Nm.
    frame : str
        Frame of the poses.
    """

    def __init__(self, joints: Sequence[str], limits: FloatArray, frame: str) -> None:
        self._limits = limits
        self._bars = {name: self._of_part(name, len(joints), frame) for name in _BAR_WIDTHS}
        self._names = []
        for joint, name in enumerate(joints):
            foot = _BAR_ORIGIN + joint * _BAR_STEP - [0.0, 0.0, _BAR_LENGTH + _NAME_HEIGHT]
            text = _marker("joint names", joint, Marker.TEXT_VIEW_FACING, frame, foot)
            text.text = name
            text.scale.z = _NAME_HEIGHT
            text.color = colour((1.0, 1.0, 1.0, 1.0))
            self._names.append(text)
        for bar in self._bars["limit"]:
            bar.scale.z = 2.0 * _BAR_LENGTH

    def fill(self, feedforward: FloatArray, pd: FloatArray) -> list[Marker]:
        """Return all markers for torques (n_joints,), Nm."""
        for name, torque in (("feedforward", feedforward), ("pd", pd)):
            lengths = _BAR_LENGTH * np.clip(torque / self._limits, -1.0, 1.0)
            for bar, length in zip(self._bars[name], lengths, strict=True):
                # RViz refuses a box with zero height.
                bar.scale.z = max(abs(float(length)), 1e-4)
                bar.pose.position.z = float(_BAR_ORIGIN[2] + 0.5 * length)
        return [*self._names, *(bar for bars in self._bars.values() for bar in bars)]

    def _of_part(self, name: str, n_joints: int, frame: str) -> list[Marker]:
        bars = []
        for joint in range(n_joints):
            middle = _BAR_ORIGIN + joint * _BAR_STEP + _BAR_OFFSETS[name]
            bar = _marker(f"torque {name}", joint, Marker.CUBE, frame, middle)
            bar.scale.x = bar.scale.y = _BAR_WIDTHS[name]
            bar.color = colour(_BAR_COLOURS[name])
            bars.append(bar)
        return bars


def confidence_markers(
    frame: str, tool: FloatArray, share: float, *, learned: bool, text: str
) -> list[Marker]:
    """
    Return a sphere around the tool point and a line of text above it.

    Parameters
    ----------
    frame : str
        Frame of the poses.
    tool : ndarray of shape (3,)
        Tool point, m.
    share : float
        Share of the learned torque that is used, in [0, 1].
    learned : bool
        Whether a learned model is in use; grey if not.
    text : str
        Line of text.
    """
    above = tool + [0.0, 0.0, 2.0 * _TRUST_SIZE]
    sphere = _marker("confidence", 0, Marker.SPHERE, frame, tool)
    line = _marker("confidence", 1, Marker.TEXT_VIEW_FACING, frame, above)
    line.text = text
    sphere.scale.x = sphere.scale.y = sphere.scale.z = _TRUST_SIZE
    line.scale.z = _TRUST_TEXT_HEIGHT
    rgb = _NOT_LEARNED
    if learned:
        rgb = tuple(np.interp(share, [0.0, 0.5, 1.0], channel) for channel in _TRUST_SCALE.T)
    sphere.color = colour((*rgb, 0.7))
    line.color = colour((1.0, 1.0, 1.0, 0.9))
    return [sphere, line]
