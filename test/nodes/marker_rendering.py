# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Draws a MarkerArray as RViz does, where there is no RViz."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from mpl_toolkits.mplot3d.art3d import Poly3DCollection
from scipy.spatial.transform import Rotation
from visualization_msgs.msg import Marker, MarkerArray

__all__ = ["render"]

BACKGROUND = (48 / 255, 48 / 255, 48 / 255)


def render(array: MarkerArray, path: Path) -> None:
    """Save a picture of the markers, seen from the side."""
    figure = Figure(figsize=(9.0, 7.0), facecolor=BACKGROUND)
    axes = figure.add_axes((0.0, 0.0, 1.0, 1.0), projection="3d", facecolor=BACKGROUND)
    axes.view_init(elev=18.0, azim=-35.0)
    for marker in array.markers:
        if marker.action == Marker.ADD:
            _draw(axes, marker)
    axes.set(xlim=(-0.4, 0.9), ylim=(-0.8, 0.5), zlim=(-0.5, 0.8))
    axes.set_box_aspect((1.0, 1.0, 1.0))
    axes.set_axis_off()
    figure.savefig(path, dpi=110)


def _draw(axes, marker: Marker) -> None:
    colour = _rgba(marker.color)
    if marker.type == Marker.TEXT_VIEW_FACING:
        point = marker.pose.position
        axes.text(point.x, point.y, point.z, marker.text, color=colour, fontsize=9)
    elif marker.type == Marker.LINE_STRIP:
        points = np.array([(p.x, p.y, p.z) for p in marker.points])
        for first, (start, end) in enumerate(zip(points[:-1], points[1:], strict=True)):
            axes.plot(*np.stack([start, end], axis=1), color=_rgba(marker.colors[first]), lw=2.0)
    else:
        axes.add_collection3d(Poly3DCollection(_faces(marker), facecolor=colour, edgecolor="none"))


def _faces(marker: Marker) -> np.ndarray:
    """Quadrilaterals (n, 4, 3) of a box, cylinder or ellipsoid."""
    orientation = marker.pose.orientation
    turn = Rotation.from_quat([orientation.x, orientation.y, orientation.z, orientation.w])
    point = marker.pose.position
    grid = _unit_surface(marker.type) * [marker.scale.x, marker.scale.y, marker.scale.z]
    grid = turn.apply(grid.reshape(-1, 3)).reshape(grid.shape) + [point.x, point.y, point.z]
    corners = [grid[:-1, :-1], grid[1:, :-1], grid[1:, 1:], grid[:-1, 1:]]
    return np.stack(corners, axis=2).reshape(-1, 4, 3)


def _unit_surface(kind: int) -> np.ndarray:
    """Points (rows, columns, 3) of a surface one unit wide."""
    if kind == Marker.SPHERE:
        heights, angles = np.linspace(0.0, np.pi, 9), np.linspace(0.0, 2.0 * np.pi, 17)
        radii, z = 0.5 * np.sin(heights), 0.5 * np.cos(heights)
    else:
        angles = np.linspace(0.0, 2.0 * np.pi, 5 if kind == Marker.CUBE else 17)
        radius = 0.5
        if kind == Marker.CUBE:
            angles, radius = angles + np.pi / 4.0, np.sqrt(0.5)
        radii, z = np.array([0.0, radius, radius, 0.0]), np.array([-0.5, -0.5, 0.5, 0.5])
    x, y = np.cos(angles) * radii[:, None], np.sin(angles) * radii[:, None]
    return np.stack([x, y, np.broadcast_to(z[:, None], x.shape)], axis=2)


def _rgba(colour) -> tuple[float, float, float, float]:
    return colour.r, colour.g, colour.b, colour.a
