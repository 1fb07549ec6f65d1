# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Marker for RViz: what the tool carries."""

from __future__ import annotations

import numpy as np
from visualization_msgs.msg import Marker

from ilr_dynamics.nodes.markers import palette
from ilr_dynamics.nodes.markers.primitives import colour, marker, points, text_marker
from ilr_dynamics.nodes.markers.shown_state import ShownState
from ilr_dynamics.robot.rigid_body import RigidBodyModel
from ilr_dynamics_msgs.msg import PayloadEstimate

__all__ = ["PAYLOAD", "PayloadMarker"]

PAYLOAD = "payload"
# The ball has the mass of the payload, and this density, kg/m^3.
_DENSITY = 2000.0
_ALPHA, _TEXT_HEIGHT, _ABOVE = 0.6, 0.03, 0.05


class PayloadMarker:
    """
    Ball at the payload's centre of mass: purple if it is fed forward, grey if only estimated.

    Parameters
    ----------
    model : RigidBodyModel
        Model of the arm.
    frame : str
        Frame of the poses.

    Attributes
    ----------
    estimate : PayloadEstimate or None
        Newest report of the controller.
    """

    def __init__(self, model: RigidBodyModel, frame: str) -> None:
        self._model = model
        self._ball = marker(PAYLOAD, 0, Marker.SPHERE, frame)
        self._text = text_marker(PAYLOAD, 1, frame, np.zeros(3), _TEXT_HEIGHT)
        self.estimate: PayloadEstimate | None = None

    def markers(self, state: ShownState) -> list[Marker]:
        """Return the ball and its mass where the arm was measured; none without a payload."""
        estimate = self.estimate
        if estimate is None:
            return []
        used = estimate.used_mass > 0.0
        if not used and estimate.verdict != PayloadEstimate.PAYLOAD:
            return []
        mass, com = (
            (estimate.used_mass, estimate.used_com) if used else (estimate.mass, estimate.com)
        )
        tool = self._model.link_pose(state.measured, self._model.description.tool_frame)
        centre = tool[:3, :3] @ com + tool[:3, 3]
        diameter = 2.0 * float(np.cbrt(3.0 * mass / (4.0 * np.pi * _DENSITY)))
        self._ball.pose.position = points([centre])[0]
        self._ball.scale.x = self._ball.scale.y = self._ball.scale.z = diameter
        rgb = palette.FEEDFORWARD if used else palette.SUBDUED
        self._ball.color = colour(rgb, _ALPHA)
        self._text.pose.position = points([centre + [0.0, 0.0, 0.5 * diameter + _ABOVE]])[0]
        self._text.text = f"{mass:.2f} kg" if used else f"{mass:.2f} kg, not fed forward"
        self._text.color = colour(rgb)
        return [self._ball, self._text]
