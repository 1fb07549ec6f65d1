# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Marker for RViz: share of the learned torque that is used, as a colour at the tool point."""

from __future__ import annotations

import numpy as np
from visualization_msgs.msg import Marker

from ilr_dynamics.arrays import FloatArray
from ilr_dynamics.nodes.markers import colour

__all__ = ["confidence_markers"]

_SIZE = 0.05
_TEXT_HEIGHT = 0.035
# Colours for shares of zero, one half and one.
_SCALE = np.array([[0.85, 0.15, 0.1], [0.95, 0.8, 0.1], [0.15, 0.75, 0.25]])
_NOT_LEARNED = (0.6, 0.6, 0.6)


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
    sphere = Marker(ns="confidence", id=0, type=Marker.SPHERE)
    line = Marker(ns="confidence", id=1, type=Marker.TEXT_VIEW_FACING, text=text)
    for marker, height in ((sphere, 0.0), (line, 2.0 * _SIZE)):
        marker.header.frame_id = frame
        point = marker.pose.position
        point.x, point.y, point.z = map(float, tool + [0.0, 0.0, height])
        marker.pose.orientation.w = 1.0
    sphere.scale.x = sphere.scale.y = sphere.scale.z = _SIZE
    line.scale.z = _TEXT_HEIGHT
    rgb = _NOT_LEARNED
    if learned:
        rgb = tuple(np.interp(share, [0.0, 0.5, 1.0], channel) for channel in _SCALE.T)
    sphere.color = colour((*rgb, 0.7))
    line.color = colour((1.0, 1.0, 1.0, 0.9))
    return [sphere, line]
