# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Markers for RViz: what the colours mean."""

from __future__ import annotations

from visualization_msgs.msg import Marker

from ilr_dynamics.nodes.markers import palette
from ilr_dynamics.nodes.markers.panel_place import WIDTH, PanelPlace
from ilr_dynamics.nodes.markers.primitives import colour

__all__ = ["NAMESPACE", "legend_markers"]

NAMESPACE = "legend"
_HEIGHT, _LINE = 0.029, 0.068
_LEFT, _MIDDLE, _RIGHT = 0.23 * WIDTH, 0.5 * WIDTH, 0.75 * WIDTH
# Line, middle, text and colour.
_TEXTS = (
    (0, _LEFT, "blue: desired path", palette.DESIRED),
    (0, _RIGHT, "orange: measured path", palette.MEASURED),
    (1, _MIDDLE, "ball, green to red: gate", palette.between(1.0)),
    (2, _MIDDLE, "grey ball: no learned model", palette.SUBDUED),
    (3, _LEFT, "ff: feed-forward", palette.FEEDFORWARD),
    (3, _RIGHT, "fb: feedback (PD)", palette.FEEDBACK),
)


def legend_markers(place: PanelPlace, top: float) -> list[Marker]:
    """
    Return the legend.

    Parameters
    ----------
    place : PanelPlace
    top : float
        Where it begins on the panel, m.
    """
    markers = []
    for number, (line, right, text, rgb) in enumerate(_TEXTS):
        middle = (right, top + (line + 0.5) * _LINE)
        marker = place.text(NAMESPACE, number, middle, _HEIGHT)
        marker.text, marker.color = text, colour(rgb)
        markers.append(marker)
    return markers
