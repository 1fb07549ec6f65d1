# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""States to show."""

from __future__ import annotations

import numpy as np

from ilr_dynamics.nodes.markers.shown_state import ShownState
from ilr_dynamics_msgs.msg import ControllerState

__all__ = ["some_state"]


def some_state(n_joints: int) -> ShownState:
    """Return an arm that tracks with the analytic model."""
    ramp = np.linspace(0.1, 1.0, n_joints)
    return ShownState(
        mode=ControllerState.TRACKING,
        controller="analytic",
        model="",
        gate=0.0,
        loop_time=0.0004,
        desired=ramp,
        velocity=ramp,
        acceleration=-ramp,
        measured=ramp + 0.01,
        total=1.5 * ramp,
        feedforward=2.0 * ramp,
        feedback=-0.5 * ramp,
        std=np.zeros(n_joints),
    )
