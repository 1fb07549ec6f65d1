# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""
RViz's view of markers, drawn without RViz: its Orbit camera, depth, opacity and text.

Text is laid out as rviz_rendering's MovableText does, in Liberation Sans where that is installed.
Meshes are left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from matplotlib.font_manager import findfont, findSystemFonts
from PIL import Image, ImageDraw, ImageFont
from scipy.spatial.transform import Rotation
from visualization_msgs.msg import Marker

__all__ = ["Camera", "View", "draw", "read_view"]

# Of Ogre's camera, rad, and of rviz_rendering's MovableText: cells of letters are twice as high as
# a marker's text and, in heights of the font, as high as its highest and lowest letter together.
_FIELD_OF_VIEW = np.pi / 4.0
_CELL = 1.15
_ASCENT = 0.76
# Pictures are drawn so many times too large, for smooth edges.
_FINER = 2
_FACETS = 24


@dataclass(frozen=True)
class Camera:
    """
    Camera of RViz's view controller Orbit.

    Attributes
    ----------
    size : (int, int)
        Width and height of the picture, pixels.
    distance, yaw, pitch : float
        Of the controller, m and rad.
    focal_point : ndarray of shape (3,)
        Of the controller, m.
    """

    size: tuple[int, int]
    distance: float
    yaw: float
    pitch: float
    focal_point: np.ndarray

    @property
    def axes(self) -> np.ndarray:
        """Unit vectors (3, 3) to the right, up and towards the viewer."""
        (sy, cy), (sp, cp) = ((np.sin(a), np.cos(a)) for a in (self.yaw, self.pitch))
        return np.array([[-sy, cy, 0.0], [-cy * sp, -sy * sp, cp], [cy * cp, sy * cp, sp]])

    @property
    def scale(self) -> float:
        """Pixels of a metre at a depth of a metre."""
        return 0.5 * self.size[1] / np.tan(0.5 * _FIELD_OF_VIEW)

    def project(self, points: np.ndarray) -> np.ndarray:
        """Return columns, rows (pixels) and depths (m) of points (..., 3)."""
        right, up, towards = np.moveaxis((points - self.focal_point) @ self.axes.T, -1, 0)
        depth = self.distance - towards
        columns = 0.5 * self.size[0] + self.scale * right / depth
        rows = 0.5 * self.size[1] - self.scale * up / depth
        return np.stack([columns, rows, depth], axis=-1)

    def enlarged(self, factor: int) -> Camera:
        """Return the camera of a larger picture."""
        size = (factor * self.size[0], factor * self.size[1])
        return Camera(size, self.distance, self.yaw, self.pitch, self.focal_point)


@dataclass(frozen=True)
class View:
    """View of a configuration of RViz: camera, background, grid, and namespaces on and off."""

    camera: Camera
    background: tuple[int, ...]
    grid: Mapping[str, Any]
    shown: frozenset[str]
    hidden: frozenset[str]


def read_view(config: Path, size: tuple[int, int]) -> View:
    """Read the default view of a configuration of RViz, for a picture of some size."""
    manager = yaml.safe_load(config.read_text())["Visualization Manager"]
    displays = {display["Class"].split("/")[1]: display for display in manager["Displays"]}
    current = manager["Views"]["Current"]
    focal = np.array([current["Focal Point"][axis] for axis in "XYZ"], dtype=float)
    camera = Camera(size, current["Distance"], current["Yaw"], current["Pitch"], focal)
    namespaces = displays["MarkerArray"]["Namespaces"]
    shown = frozenset(name for name, is_shown in namespaces.items() if is_shown)
    hidden = frozenset(namespaces) - shown
    background = tuple(map(int, manager["Global Options"]["Background Color"].split(";")))
    return View(camera, background, displays["Grid"], shown, hidden)


def draw(markers: Iterable[Marker], view: View) -> Image.Image:
    """Return a picture of markers as RViz would show them."""
    camera = view.camera.enlarged(_FINER)
    canvas = _Canvas(camera, view.background)
    shown = [marker for marker in markers if marker.ns not in view.hidden]
    shapes = [_surface(marker, camera) for marker in shown if marker.type in _SURFACES]
    shapes += [_ribbon(marker, camera) for marker in shown if marker.type in _LINES]
    shapes.append(_grid(view.grid, camera))
    for shape in shapes:
        if shape.opaque:
            canvas.fill(shape)
    texts = [marker for marker in shown if marker.type == Marker.TEXT_VIEW_FACING]
    behind = [(shape.depth, shape) for shape in shapes if not shape.opaque]
    behind += [(camera.project(_position(text))[2], text) for text in texts]
    for _, thing in sorted(behind, key=lambda pair: -pair[0]):
        if isinstance(thing, _Shape):
            canvas.fill(thing)
        else:
            canvas.write(thing)
    return canvas.picture().resize(view.camera.size, Image.Resampling.BOX)


@dataclass(frozen=True)
class _Shape:
    """Triangles (n, 3, 3), in pixels and depths, and the colours (n, 3, 4) of their corners."""

    triangles: np.ndarray
    colours: np.ndarray

    @property
    def opaque(self) -> bool:
        return bool(self.colours.size == 0 or self.colours[-1, -1, 3] > 0.9998)

    @property
    def depth(self) -> float:
        return float(self.triangles[..., 2].mean()) if self.triangles.size else 0.0


class _Canvas:
    def __init__(self, camera: Camera, background: tuple[int, ...]) -> None:
        self._camera = camera
        width, height = camera.size
        self._pixels = np.empty((height, width, 3))
        self._pixels[:] = np.array(background) / 255.0
        self._depths = np.full((height, width), np.inf)

    def picture(self) -> Image.Image:
        return Image.fromarray(np.uint8(np.clip(255.0 * self._pixels, 0.0, 255.0)))

    def fill(self, shape: _Shape) -> None:
        for corners, colours in zip(shape.triangles, shape.colours, strict=True):
            self._triangle(corners, colours, solid=shape.opaque)

    def _triangle(self, corners: np.ndarray, colours: np.ndarray, *, solid: bool) -> None:
        low = np.maximum(np.floor(corners[:, :2].min(axis=0)), 0).astype(int)
        high = np.minimum(np.ceil(corners[:, :2].max(axis=0)) + 1, self._camera.size).astype(int)
        (a, b, c), area = corners[:, :2], _cross(corners[1] - corners[0], corners[2] - corners[0])
        if np.any(high <= low) or area == 0.0 or corners[:, 2].min() < 0.01:
            return
        x, y = np.meshgrid(np.arange(low[0], high[0]) + 0.5, np.arange(low[1], high[1]) + 0.5)
        p = np.stack([x, y], axis=-1)
        weights = np.stack([_cross(c - b, p - b), _cross(a - c, p - c), _cross(b - a, p - a)])
        weights /= area
        part = (slice(low[1], high[1]), slice(low[0], high[0]))
        depth = np.tensordot(corners[:, 2], weights, 1)
        covered = (weights >= 0.0).all(axis=0) & (depth < self._depths[part])
        shade = np.moveaxis(np.tensordot(colours.T, weights, 1), 0, -1)
        alpha = np.where(covered, 1.0 if solid else shade[..., 3], 0.0)[..., None]
        self._pixels[part] += alpha * (shade[..., :3] - self._pixels[part])
        if solid:
            self._depths[part] = np.where(covered, depth, self._depths[part])

    def write(self, marker: Marker) -> None:
        column, row, depth = self._camera.project(_position(marker))
        metre = self._camera.scale / depth
        cell = 2.0 * marker.scale.z * metre
        font = ImageFont.truetype(_font_file(), cell / _CELL)
        widths = [
            marker.scale.x * metre if letter == " " else font.getlength(letter)
            for letter in marker.text
        ]
        mask = Image.new("L", self._camera.size)
        pen = ImageDraw.Draw(mask)
        left, base = column - 0.5 * sum(widths), row - 0.5 * cell + _ASCENT * cell / _CELL
        for letter, width in zip(marker.text, widths, strict=True):
            pen.text((left, base), letter, fill=255, font=font, anchor="ls")
            left += width
        alpha = np.asarray(mask) / 255.0 * marker.color.a * (depth < self._depths)
        colour = np.array([marker.color.r, marker.color.g, marker.color.b])
        self._pixels += alpha[..., None] * (colour - self._pixels)


@cache
def _font_file() -> str:
    """RViz's font if it is installed, else the one of Matplotlib, which is wider."""
    files = {Path(name).name: name for name in findSystemFonts()}
    return files.get("LiberationSans-Regular.ttf") or findfont("DejaVu Sans")


def _cross(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0]


def _position(marker: Marker) -> np.ndarray:
    point = marker.pose.position
    return np.array([point.x, point.y, point.z])


def _rgba(colour: Any) -> np.ndarray:
    return np.array([colour.r, colour.g, colour.b, colour.a])


def _surface(marker: Marker, camera: Camera) -> _Shape:
    """Box, cylinder or ellipsoid, with a light beside the camera."""
    turn = Rotation.from_quat(
        [getattr(marker.pose.orientation, axis) for axis in ("x", "y", "z", "w")]
    )
    size = [marker.scale.x, marker.scale.y, marker.scale.z]
    grid = _SURFACES[marker.type]() * size
    grid = turn.apply(grid.reshape(-1, 3)).reshape(grid.shape) + _position(marker)
    quads = np.stack([grid[:-1, :-1], grid[1:, :-1], grid[1:, 1:], grid[:-1, 1:]], axis=2)
    quads = quads.reshape(-1, 4, 3)
    triangles = np.concatenate([quads[:, [0, 1, 2]], quads[:, [0, 2, 3]]])
    normals = np.cross(triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0])
    lengths = np.linalg.norm(normals, axis=1)
    triangles, normals = triangles[lengths > 1e-12], normals[lengths > 1e-12]
    facing = np.abs(normals @ camera.axes[2]) / np.linalg.norm(normals, axis=1)
    colours = np.tile(_rgba(marker.color), (len(triangles), 3, 1))
    colours[..., :3] *= (0.25 + 0.75 * facing)[:, None, None]
    if marker.color.a < 1.0:
        # The back of a transparent body is not seen.
        outward = np.einsum("ij,ij->i", normals, triangles.mean(axis=1) - _position(marker))
        front = np.sign(outward) * (normals @ camera.axes[2]) > 0.0
        triangles, colours = triangles[front], colours[front]
    return _Shape(camera.project(triangles), colours)


def _ribbon(marker: Marker, camera: Camera) -> _Shape:
    """Lines of the width of a marker, turned to the viewer."""
    points = np.array([(p.x, p.y, p.z) for p in marker.points]).reshape(-1, 3) + _position(marker)
    colours = np.array([_rgba(colour) for colour in marker.colors or [marker.color] * len(points)])
    step = 2 if marker.type == Marker.LINE_LIST else 1
    starts = np.arange(0, max(len(points) - 1, 0), step)
    return _lines(points, starts, colours.reshape(-1, 4), marker.scale.x, camera)


def _lines(
    points: np.ndarray, starts: np.ndarray, colours: np.ndarray, width: float, camera: Camera
) -> _Shape:
    first, second = points[starts], points[starts + 1]
    across = np.cross(second - first, camera.axes[2])
    across *= 0.5 * width / np.maximum(np.linalg.norm(across, axis=1, keepdims=True), 1e-12)
    corners = np.stack([first + across, first - across, second - across, second + across], axis=1)
    shades = np.stack([colours[starts + k] for k in (0, 0, 1, 1)], axis=1)
    which = [[0, 1, 2], [0, 2, 3]]
    triangles = np.concatenate([corners[:, three] for three in which])
    return _Shape(camera.project(triangles), np.concatenate([shades[:, three] for three in which]))


def _grid(grid: Mapping[str, Any], camera: Camera) -> _Shape:
    half = 0.5 * grid["Plane Cell Count"] * grid["Cell Size"]
    offset = np.array([grid["Offset"][axis] for axis in "XYZ"], dtype=float)
    steps = np.linspace(-half, half, grid["Plane Cell Count"] + 1)
    ends = [[(s, -half, 0.0), (s, half, 0.0)] for s in steps]
    ends += [[(-half, s, 0.0), (half, s, 0.0)] for s in steps]
    points = np.array(ends).reshape(-1, 3) + offset
    rgb = np.array([int(part) for part in grid["Color"].split(";")]) / 255.0
    colours = np.tile([*rgb, grid["Alpha"]], (len(points), 1))
    return _lines(points, np.arange(0, len(points), 2), colours, 0.002, camera)


def _box() -> np.ndarray:
    return _prism(np.pi / 4.0 + np.linspace(0.0, 2.0 * np.pi, 5), np.sqrt(0.5))


def _cylinder() -> np.ndarray:
    return _prism(np.linspace(0.0, 2.0 * np.pi, _FACETS + 1), 0.5)


def _prism(angles: np.ndarray, radius: float) -> np.ndarray:
    """Points (rows, columns, 3) of a surface one unit high."""
    radii, z = np.array([0.0, radius, radius, 0.0]), np.array([-0.5, -0.5, 0.5, 0.5])
    return _turned(angles, radii, z)


def _sphere() -> np.ndarray:
    heights = np.linspace(0.0, np.pi, _FACETS // 2 + 1)
    angles = np.linspace(0.0, 2.0 * np.pi, _FACETS + 1)
    return _turned(angles, 0.5 * np.sin(heights), 0.5 * np.cos(heights))


def _turned(angles: np.ndarray, radii: np.ndarray, z: np.ndarray) -> np.ndarray:
    x, y = np.cos(angles) * radii[:, None], np.sin(angles) * radii[:, None]
    return np.stack([x, y, np.broadcast_to(z[:, None], x.shape)], axis=2)


_SURFACES = {Marker.CUBE: _box, Marker.CYLINDER: _cylinder, Marker.SPHERE: _sphere}
_LINES = (Marker.LINE_STRIP, Marker.LINE_LIST)
