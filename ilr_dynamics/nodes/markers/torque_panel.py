# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Markers for RViz: torques of each joint, as bars within its limit and as numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from std_msgs.msg import ColorRGBA
from visualization_msgs.msg import Marker

from ilr_dynamics.arrays import FloatArray
from ilr_dynamics.nodes.markers import palette
from ilr_dynamics.nodes.markers.palette import Rgb
from ilr_dynamics.nodes.markers.panel_place import PanelPlace
from ilr_dynamics.nodes.markers.primitives import colour, marker, points
from ilr_dynamics.nodes.markers.shown_state import ShownState

__all__ = ["BARS", "NUMBERS", "SCALE", "TorquePanel", "bar_share", "joint_labels", "number_text"]

BARS = "torque bars"
NUMBERS = "torque numbers"
SCALE = "torque scale"

_LONGEST_LABEL = 4
_NEAR_LIMIT = 0.95
# Rows: heading, first joint, distance at most, and length for all joints, m.
_HEADING, _FIRST, _ROW, _ALL_ROWS = 0.63, 0.715, 0.12, 0.5
# Columns: joint names, zero of the bars, their half-length, and numbers, m.
_NAMES, _ZERO, _HALF = 0.08, 0.38, 0.205
_NUMBER_COLUMNS = (0.71, 0.87, 1.03)
_HEADING_HEIGHT, _NAME_HEIGHT, _NUMBER_HEIGHT, _TICK_HEIGHT = 0.033, 0.04, 0.031, 0.024
_TICKS = {-1.0: "-limit", -0.25: "", 0.0: "0", 0.25: "25%", 1.0: "limit"}
_TICK_WIDTH = 0.004
_SHORTEST = 0.002


@dataclass(frozen=True)
class _Part:
    """Torque that has a bar in each row."""

    heading: str
    rgb: Rgb
    # Middle below that of the row, and thickness, in distances between rows.
    offset: float
    thickness: float


_PARTS = (
    _Part("total", palette.TOTAL, -0.27, 0.26),
    _Part("ff", palette.FEEDFORWARD, 0.03, 0.2),
    _Part("fb", palette.FEEDBACK, 0.29, 0.2),
)


def bar_share(torque: FloatArray, limit: FloatArray) -> FloatArray:
    """
    Return lengths of bars, from -1 to 1, on the scale of a square root.

    A hundredth of the limit has a tenth of the length, so that torques far below it are seen
    beside those that reach it; the bar ends at the limit.
    """
    share = torque / limit
    return np.asarray(np.sign(share) * np.sqrt(np.minimum(np.abs(share), 1.0)))


def number_text(torque: float, limit: float) -> str:
    """Return a torque, Nm, with the digits that matter beside its limit, and few of them."""
    size = abs(torque)
    decimals = 2 if max(size, limit) < 9.995 else 1 if size < 99.95 else 0
    text = f"{torque:.{decimals}f}"
    # No negative zero.
    return text.removeprefix("-") if float(text) == 0.0 else text


def joint_labels(joints: Sequence[str], prefix: str) -> list[str]:
    """Return names without the prefix; numbers for all if one is too long to be read."""
    names = [joint.removeprefix(prefix) for joint in joints]
    if all(len(name) <= _LONGEST_LABEL and name.isascii() for name in names):
        return names
    return [f"{number}" for number in range(1, len(names) + 1)]


class TorquePanel:
    """
    Three bars a joint, total, feed-forward and feedback, to the right for positive torques.

    Parameters
    ----------
    place : PanelPlace
    labels : sequence of str
        Names of the joints as shown.
    limits : ndarray of shape (n_joints,)
        Torque of a full bar, Nm.
    """

    def __init__(self, place: PanelPlace, labels: Sequence[str], limits: FloatArray) -> None:
        self._place = place
        self._labels = labels
        self._limits = limits
        self._pitch = min(_ROW, _ALL_ROWS / len(labels))
        self._rows = [_FIRST + self._pitch * joint for joint in range(len(labels))]
        self._bars = [self._of_part(number) for number in range(len(_PARTS))]
        self._numbers = [
            [
                place.text(NUMBERS, joint * len(_PARTS) + number, (column, row), _NUMBER_HEIGHT)
                for number, column in enumerate(_NUMBER_COLUMNS)
            ]
            for joint, row in enumerate(self._rows)
        ]

    @property
    def foot(self) -> float:
        """Lower end on the panel, m."""
        return self._rows[-1] + 0.5 * self._pitch + 0.06

    def fixed(self) -> list[Marker]:
        """Return what does not change: names, headings and the scale."""
        headings = [
            self._label((column, _HEADING), _HEADING_HEIGHT, text, rgb)
            for column, text, rgb in (
                (_NAMES, "joint", palette.SUBDUED),
                (_ZERO, "torque [Nm]", palette.PLAIN),
                *(
                    (column, part.heading, part.rgb)
                    for column, part in zip(_NUMBER_COLUMNS, _PARTS, strict=True)
                ),
            )
        ]
        height = min(_NAME_HEIGHT, 0.45 * self._pitch)
        names = [
            self._label((_NAMES, row), height, label, palette.PLAIN)
            for row, label in zip(self._rows, self._labels, strict=True)
        ]
        below = self._rows[-1] + 0.5 * self._pitch + 0.025
        ticks = [
            self._label((self._along(share), below), _TICK_HEIGHT, text, palette.SUBDUED)
            for share, text in _TICKS.items()
            if text
        ]
        texts = [*headings, *names, *ticks]
        for number, text in enumerate(texts):
            text.id = number
        return [*texts, self._tick_lines(len(texts))]

    def bars(self, state: ShownState) -> list[Marker]:
        """Return the bars of a state."""
        torques = (state.total, state.feedforward, state.feedback)
        for part, bar, torque in zip(_PARTS, self._bars, torques, strict=True):
            lengths = _HALF * bar_share(torque, self._limits)
            # RViz draws no line without a length.
            ends = _ZERO + np.copysign(np.maximum(np.abs(lengths), _SHORTEST), torque)
            for row, end, tail in zip(self._rows, ends, bar.points[1::2], strict=True):
                tail.x, tail.y, tail.z = self._bar_point(end, row, part).tolist()
            bar.colors = self._colours(part.rgb, torque, twice=True)
        return self._bars

    def numbers(self, state: ShownState) -> list[Marker]:
        """Return the numbers of a state."""
        torques = np.column_stack([state.total, state.feedforward, state.feedback])
        colours = [self._colours(part.rgb, torques[:, k]) for k, part in enumerate(_PARTS)]
        for joint, texts in enumerate(self._numbers):
            for k, text in enumerate(texts):
                text.text = number_text(torques[joint, k], self._limits[joint])
                text.color = colours[k][joint]
        return [text for texts in self._numbers for text in texts]

    def _colours(self, rgb: Rgb, torque: FloatArray, *, twice: bool = False) -> list[ColorRGBA]:
        """Colours of joints, red at the limit; twice for both ends of lines."""
        near = np.abs(torque) >= _NEAR_LIMIT * self._limits
        usual, warning = colour(rgb), colour(palette.WRONG)
        return [warning if high else usual for high in near for _ in range(2 if twice else 1)]

    def _of_part(self, number: int) -> Marker:
        part = _PARTS[number]
        bar = marker(BARS, number, Marker.LINE_LIST, self._place.frame)
        bar.scale.x = self._place.size * self._pitch * part.thickness
        bar.color = colour(part.rgb)
        feet = [self._bar_point(_ZERO, row, part) for row in self._rows]
        bar.points = points(np.repeat(feet, 2, axis=0))
        return bar

    def _bar_point(self, right: float, row: float, part: _Part) -> FloatArray:
        return self._place.point(right, row + self._pitch * part.offset)

    def _along(self, share: float) -> float:
        """Place of a share of the limit along a bar, m."""
        return _ZERO + _HALF * float(bar_share(np.array(share), np.array(1.0)))

    def _label(self, middle: tuple[float, float], height: float, text: str, rgb: Rgb) -> Marker:
        label = self._place.text(SCALE, 0, middle, height)
        label.text, label.color = text, colour(rgb)
        return label

    def _tick_lines(self, number: int) -> Marker:
        """Vertical lines in each row, at zero, a quarter of the limit and the limit."""
        lines = marker(SCALE, number, Marker.LINE_LIST, self._place.frame)
        lines.scale.x = self._place.size * _TICK_WIDTH
        lines.color = colour(palette.SUBDUED)
        half = 0.46 * self._pitch
        lines.points = points(
            self._place.point(self._along(share), row + side)
            for row in self._rows
            for share in _TICKS
            for side in (-half, half)
        )
        return lines
