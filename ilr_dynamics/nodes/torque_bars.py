# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Markers for RViz: bars of each joint's feed-forward and PD torque relative to its limit."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from visualization_msgs.msg import Marker

from ilr_dynamics.arrays import FloatArray
from ilr_dynamics.nodes.markers import colour

__all__ = ["TorqueBars"]

# Position of the first bar, and offset to that of the next joint, m.
_ORIGIN = np.array([-0.25, -0.45, 0.0])
_STEP = np.array([0.0, -0.09, 0.0])
# Length of a bar at the joint's limit, m, and width of the parts, m.
_LENGTH = 0.3
_WIDTHS = {"limit": 0.06, "feedforward": 0.02, "pd": 0.02}
# Horizontal offsets, so that the parts are side by side.
_OFFSETS = {
    "limit": np.zeros(3),
    "feedforward": np.array([0.0, 0.014, 0.0]),
    "pd": np.array([0.0, -0.014, 0.0]),
}
_COLOURS = {
    "limit": (0.7, 0.7, 0.7, 0.25),
    "feedforward": (0.1, 0.4, 0.9, 0.9),
    "pd": (0.9, 0.3, 0.1, 1.0),
}
_TEXT_HEIGHT = 0.03


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
        self._bars = {name: self._of_part(name, len(joints), frame) for name in _WIDTHS}
        self._names = []
        for joint, name in enumerate(joints):
            foot = _ORIGIN + joint * _STEP - [0.0, 0.0, _LENGTH + _TEXT_HEIGHT]
            text = _marker("joint names", joint, Marker.TEXT_VIEW_FACING, frame, foot)
            text.text = name
            text.scale.z = _TEXT_HEIGHT
            text.color = colour((1.0, 1.0, 1.0, 1.0))
            self._names.append(text)
        for bar in self._bars["limit"]:
            bar.scale.z = 2.0 * _LENGTH

    def fill(self, feedforward: FloatArray, pd: FloatArray) -> list[Marker]:
        """Return all markers for torques (n_joints,), Nm."""
        for name, torque in (("feedforward", feedforward), ("pd", pd)):
            lengths = _LENGTH * np.clip(torque / self._limits, -1.0, 1.0)
            for bar, length in zip(self._bars[name], lengths, strict=True):
                # RViz refuses a box with zero height.
                bar.scale.z = max(abs(float(length)), 1e-4)
                bar.pose.position.z = float(_ORIGIN[2] + 0.5 * length)
        return [*self._names, *(bar for bars in self._bars.values() for bar in bars)]

    def _of_part(self, name: str, n_joints: int, frame: str) -> list[Marker]:
        bars = []
        for joint in range(n_joints):
            middle = _ORIGIN + joint * _STEP + _OFFSETS[name]
            bar = _marker(f"torque {name}", joint, Marker.CUBE, frame, middle)
            bar.scale.x = bar.scale.y = _WIDTHS[name]
            bar.color = colour(_COLOURS[name])
            bars.append(bar)
        return bars


def _marker(namespace: str, number: int, kind: int, frame: str, position: FloatArray) -> Marker:
    marker = Marker(ns=namespace, id=number, type=kind)
    marker.header.frame_id = frame
    point = marker.pose.position
    point.x, point.y, point.z = map(float, position)
    marker.pose.orientation.w = 1.0
    return marker
