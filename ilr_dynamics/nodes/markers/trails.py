# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Markers for RViz: where the tool point was and should have been."""

from __future__ import annotations

from collections import deque

import numpy as np
from geometry_msgs.msg import PoseStamped
from nav_msgs.msg import Path
from std_msgs.msg import ColorRGBA
from visualization_msgs.msg import Marker

from ilr_dynamics.arrays import FloatArray
from ilr_dynamics.nodes.markers import palette
from ilr_dynamics.nodes.markers.palette import Rgb
from ilr_dynamics.nodes.markers.primitives import colour, marker

__all__ = ["NAMESPACES", "Trail", "desired_trail", "measured_trail"]

NAMESPACES = {"desired": "desired path", "measured": "measured path"}
# The desired path is wide, and the measured one narrow and above it: where they are one, both are
# seen and none flickers.
_WIDTHS = {"desired": 0.014, "measured": 0.006}
_BELOW = -0.007
# RViz draws the whole line opaque if its last point is.
_NEWEST_ALPHA = 0.99
# Resolution of seconds since 1970 as floats, 2e-7 s, with a margin; stamps count nanoseconds.
_ROUNDING = 1e-6


class Trail:
    """
    Recent positions of a point, as a path and as a line that fades with age.

    Parameters
    ----------
    line : Marker
        Line without points, which is filled.
    rgb : tuple of float
        Colour of points that have none of their own.
    alpha : float
        Opacity of the newest point, less than 1.
    """

    def __init__(self, line: Marker, rgb: Rgb, alpha: float = _NEWEST_ALPHA) -> None:
        self._rgb = rgb
        self._alpha = alpha
        self._times: deque[float] = deque()
        self._own_colours: deque[Rgb | None] = deque()
        self._faded: list[ColorRGBA] = []
        self.path = Path()
        self.path.header.frame_id = line.header.frame_id
        self.marker = line

    def add(
        self,
        time: float,
        point: FloatArray,
        history: float,
        spacing: float,
        rgb: Rgb | None = None,
    ) -> None:
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
        rgb : tuple of float, optional
            Colour of the point, if that is not the trail's.
        """
        poses = self.path.poses
        if self._times and time < self._times[-1]:
            self._times.clear()
            self._own_colours.clear()
            poses.clear()
        if self._times and time < self._times[-1] + spacing - _ROUNDING:
            return
        stamped = PoseStamped(header=self.path.header)
        position = stamped.pose.position
        position.x, position.y, position.z = map(float, point)
        self._times.append(time)
        self._own_colours.append(rgb)
        poses.append(stamped)
        while self._times[0] < time - history:
            self._times.popleft()
            self._own_colours.popleft()
            poses.pop(0)

    def fill_marker(self) -> Marker:
        """Return the line; it is empty with fewer than two points."""
        self.marker.points = [stamped.pose.position for stamped in self.path.poses]
        self.marker.colors = self._colours()
        self.marker.action = Marker.ADD if len(self._times) > 1 else Marker.DELETE
        return self.marker

    def _colours(self) -> list[ColorRGBA]:
        alphas = np.linspace(0.0, self._alpha, len(self._times))
        if any(self._own_colours):
            pairs = zip(self._own_colours, alphas, strict=True)
            return [colour(rgb or self._rgb, alpha) for rgb, alpha in pairs]
        if len(self._faded) != len(alphas):
            self._faded = [colour(self._rgb, alpha) for alpha in alphas]
        return self._faded


def desired_trail(frame: str) -> Trail:
    """Return the trail of the desired tool point."""
    return Trail(_line("desired", frame, _BELOW), palette.DESIRED)


def measured_trail(frame: str) -> Trail:
    """Return the trail of the measured tool point."""
    return Trail(_line("measured", frame, 0.0), palette.MEASURED)


def _line(name: str, frame: str, raised: float) -> Marker:
    line = marker(NAMESPACES[name], 0, Marker.LINE_STRIP, frame)
    line.scale.x = _WIDTHS[name]
    line.pose.position.z = raised
    return line
