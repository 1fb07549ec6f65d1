# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Messages that markers are made of."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import pinocchio
from builtin_interfaces.msg import Duration
from geometry_msgs.msg import Point, Pose
from std_msgs.msg import ColorRGBA
from visualization_msgs.msg import Marker

from ilr_dynamics.arrays import FloatArray

__all__ = ["colour", "lasting", "marker", "points", "pose", "text_marker"]

# RViz forgets a marker that is not published again in this time, s: what is shown is true, also
# after the controller or the visualizer has ended. Pictures may come once a second. What never
# changes may outlast messages that are lost.
_LIFETIME, _FIXED_LIFETIME = 3, 10
# Width of a space in heights of the text. RViz would take metres (ros2/rviz, issue 1336).
_SPACE = 0.45


def pose(transform: FloatArray) -> Pose:
    """Return a homogeneous transform (4, 4), m, as a message."""
    message = Pose()
    position, orientation = message.position, message.orientation
    position.x, position.y, position.z = map(float, transform[:3, 3])
    quaternion = pinocchio.Quaternion(transform[:3, :3]).coeffs()
    orientation.x, orientation.y, orientation.z, orientation.w = map(float, quaternion)
    return message


def colour(rgb: Sequence[float] | FloatArray, alpha: float = 1.0) -> ColorRGBA:
    """Return red, green, blue and opacity, 0 to 1, as a message."""
    red, green, blue = map(float, rgb)
    return ColorRGBA(r=red, g=green, b=blue, a=float(alpha))


def points(positions: Iterable[FloatArray]) -> list[Point]:
    """Return positions (n, 3), m, as messages."""
    return [Point(x=float(x), y=float(y), z=float(z)) for x, y, z in positions]


def marker(namespace: str, number: int, kind: int, frame: str) -> Marker:
    """Return a marker at the frame's origin, which RViz forgets after some seconds."""
    message = Marker(ns=namespace, id=number, type=kind, lifetime=Duration(sec=_LIFETIME))
    message.header.frame_id = frame
    message.pose.orientation.w = 1.0
    return message


def lasting(markers: Sequence[Marker]) -> Sequence[Marker]:
    """Let markers that never change be forgotten later."""
    for message in markers:
        message.lifetime.sec = _FIXED_LIFETIME
    return markers


def text_marker(
    namespace: str, number: int, frame: str, position: FloatArray, height: float
) -> Marker:
    """
    Return a line of text that faces the viewer, without the text.

    Parameters
    ----------
    namespace, number, frame
        As those of `marker`.
    position : ndarray of shape (3,)
        Middle of the line, m.
    height : float
        Height that RViz is given, m; capital letters are a fifth higher.
    """
    message = marker(namespace, number, Marker.TEXT_VIEW_FACING, frame)
    message.pose.position = points(np.reshape(position, (1, 3)))[0]
    message.scale.z = float(height)
    message.scale.x = float(_SPACE * height)
    return message
