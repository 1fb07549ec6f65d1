# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Markers for RViz: the arm, and a ball at the desired point with the colour of the gate."""

from __future__ import annotations

from collections.abc import Sequence

from visualization_msgs.msg import Marker

from ilr_dynamics.arrays import FloatArray
from ilr_dynamics.nodes.markers import palette
from ilr_dynamics.nodes.markers.primitives import colour, marker
from ilr_dynamics.nodes.markers.shown_state import ShownState
from ilr_dynamics.robot.visual_shapes import ShapeKind, VisualShape

__all__ = ["ARM", "BALL", "DesiredPoint", "arm_markers"]

ARM = "arm"
BALL = "desired point and gate"

_TYPES = {
    ShapeKind.BOX: Marker.CUBE,
    ShapeKind.CYLINDER: Marker.CYLINDER,
    ShapeKind.SPHERE: Marker.SPHERE,
    ShapeKind.MESH: Marker.MESH_RESOURCE,
}
# Diameter of the ball, m: it covers the WAM's tip, of 6 cm, and looks out of its tool plate, of
# 9 cm, where these are at the desired point.
_BALL_SIZE = 0.1


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
        message = marker(ARM, number, _TYPES[shape.kind], frame)
        message.mesh_resource = shape.mesh
        message.scale.x, message.scale.y, message.scale.z = map(float, shape.size)
        message.color = colour(shape.colour[:3], shape.colour[3])
        markers.append(message)
    return markers


class DesiredPoint:
    """
    Ball at the desired tool point: green to red by the gate, grey without a learned model.

    Parameters
    ----------
    frame : str
        Frame of the poses.
    """

    def __init__(self, frame: str) -> None:
        self._ball = marker(BALL, 0, Marker.SPHERE, frame)
        self._ball.scale.x = self._ball.scale.y = self._ball.scale.z = _BALL_SIZE

    def fill(self, state: ShownState, tool: FloatArray) -> Marker:
        """Return the ball of a state whose desired tool point is at `tool` (3,), m."""
        position = self._ball.pose.position
        position.x, position.y, position.z = map(float, tool)
        self._ball.color = colour(
            palette.between(state.gate) if state.learned else palette.SUBDUED
        )
        return self._ball
