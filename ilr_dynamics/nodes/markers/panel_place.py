# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Place of the panel: a plane beside the arm, which faces the default view."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from visualization_msgs.msg import Marker

from ilr_dynamics.arrays import FloatArray
from ilr_dynamics.nodes.markers.primitives import text_marker

__all__ = ["VIEW_PITCH", "VIEW_YAW", "WIDTH", "PanelPlace", "estimated_width"]

# Direction from the arm to the viewer, around the vertical and above the horizontal, rad, as in
# config/*.rviz.
VIEW_YAW, VIEW_PITCH = -0.7, 0.25
# Length of all links together of the arm for which these lengths are, m: that of the WAM with
# seven joints. Others get another size.
_REACH = 0.96
# Width of the panel, and its upper left corner: to the right of the base as it is seen, above it
# and towards the viewer, m. It stands before all that the arm can reach, so that the arm cannot
# hide it.
WIDTH = 1.12
_CORNER = (-1.56, 0.96, 1.04)
# Letters stand above the middle of the line by this share of the height.
_RAISED = 0.34
# Widths of letters in heights of the text, in RViz's Liberation Sans, rounded up.
_WIDEST, _WIDE, _CAPITAL, _NARROW, _OTHER = 1.78, 1.65, 1.36, 0.5, 1.02


@dataclass(frozen=True)
class PanelPlace:
    """
    Plane of the panel, with coordinates from its upper left corner to the right and down.

    Attributes
    ----------
    frame : str
        Frame of the poses.
    reach : float
        Length of the arm's links, m, beyond which its tool point cannot be.
    """

    frame: str
    reach: float

    @property
    def size(self) -> float:
        """Size relative to that for the WAM."""
        return self.reach / _REACH

    def point(self, right: float, down: float) -> FloatArray:
        """Return the position (3,), m, of a point of the panel."""
        coordinates = np.array(_CORNER) + [right, -down, 0.0]
        return np.asarray(self.size * coordinates @ _view_axes())

    def text(
        self, namespace: str, number: int, middle: tuple[float, float], height: float
    ) -> Marker:
        """Return a line of text without the text, by the middle of its letters."""
        right, down = middle
        position = self.point(right, down + _RAISED * height)
        return text_marker(namespace, number, self.frame, position, self.size * height)


def _view_axes() -> FloatArray:
    """Unit vectors (3, 3) to the right, up and towards the viewer."""
    sine, cosine = np.sin(VIEW_YAW), np.cos(VIEW_YAW)
    low, level = np.sin(VIEW_PITCH), np.cos(VIEW_PITCH)
    return np.array(
        [
            [-sine, cosine, 0.0],
            [-cosine * low, -sine * low, level],
            [cosine * level, sine * level, low],
        ]
    )


def estimated_width(text: str) -> float:
    """Return the width of a text in multiples of its height; it is not wider in RViz."""
    return sum(map(_letter_width, text))


def _letter_width(letter: str) -> float:
    if letter == "@":
        return _WIDEST
    if letter in "MW%m":
        return _WIDE
    if letter.isupper() or letter in "&w":
        return _CAPITAL
    return _NARROW if letter in " .,:;|!'ijl" else _OTHER
