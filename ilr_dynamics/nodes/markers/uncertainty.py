# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Markers for RViz: standard deviation of the predicted torques along the desired path."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from visualization_msgs.msg import Marker

from ilr_dynamics.arrays import FloatArray
from ilr_dynamics.nodes.markers import palette
from ilr_dynamics.nodes.markers.palette import Rgb
from ilr_dynamics.nodes.markers.panel_place import WIDTH, PanelPlace
from ilr_dynamics.nodes.markers.primitives import colour, marker
from ilr_dynamics.nodes.markers.shown_state import ShownState
from ilr_dynamics.nodes.markers.trails import Trail

__all__ = ["UNCERTAINTY", "Uncertainty", "std_colour"]

UNCERTAINTY = "uncertainty along path"
_WIDTH, _BELOW, _ALPHA = 0.045, -0.02, 0.75
_TEXT_MIDDLE, _TEXT_HEIGHT = (0.5 * WIDTH, 0.56), 0.03


class Uncertainty:
    """
    Band below the desired path, and a text that names the joint with the largest uncertainty.

    Parameters
    ----------
    place : PanelPlace
        Place of the text, and frame of the poses.
    labels : sequence of str
        Names of the joints as shown.
    limits : ndarray of shape (n_joints,)
        Torques to which standard deviations are compared, Nm.
    """

    def __init__(self, place: PanelPlace, labels: Sequence[str], limits: FloatArray) -> None:
        self._labels = labels
        self._limits = limits
        band = marker(UNCERTAINTY, 0, Marker.LINE_STRIP, place.frame)
        band.scale.x = _WIDTH
        band.pose.position.z = _BELOW
        self._band = Trail(band, palette.SUBDUED, _ALPHA)
        self._text = place.text(UNCERTAINTY, 1, _TEXT_MIDDLE, _TEXT_HEIGHT)

    def add(
        self, time: float, state: ShownState, point: FloatArray, history: float, spacing: float
    ) -> None:
        """Add a desired point, as `Trail.add` does, if the state has a learned prediction."""
        if _is_predicted(state):
            rgb = std_colour(state.std, self._limits)
            self._band.add(time, point, history, spacing, rgb)

    def markers(self, state: ShownState) -> list[Marker]:
        """Return the band and the text; none without a learned prediction."""
        if not _is_predicted(state):
            return []
        worst = int(np.argmax(state.std / self._limits))
        self._text.text = f"std {state.std[worst]:.2f} Nm in {self._labels[worst]}"
        self._text.color = colour(std_colour(state.std, self._limits))
        return [self._band.fill_marker(), self._text]


def _is_predicted(state: ShownState) -> bool:
    """Whether a learned model was asked; in a fault it is not, and has no deviations."""
    return state.learned and bool(np.any(state.std > 0.0))


def std_colour(std: FloatArray, limit: FloatArray) -> Rgb:
    """
    Return green for a sure prediction, red for one that knows nothing.

    Parameters
    ----------
    std : ndarray of shape (n_joints,)
        Standard deviations of the predicted torques, Nm.
    limit : ndarray of shape (n_joints,)
        Limits of the torques, Nm: green at a thousandth of them, yellow at a hundredth, and red
        at a tenth, of the joint that is worst.
    """
    worst = max(float(np.max(std / limit)), 1e-9)
    return palette.between(float(np.clip(-0.5 * np.log10(10.0 * worst), 0.0, 1.0)))
