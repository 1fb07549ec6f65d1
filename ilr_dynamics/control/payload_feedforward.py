# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Feed-forward of an arm that carries something at its tool."""

from __future__ import annotations

from collections.abc import Callable

from ilr_dynamics.arrays import FloatArray
from ilr_dynamics.control.feedforward import FeedForward, FeedForwardTorque
from ilr_dynamics.control.joint_path import Reference

__all__ = ["PayloadFeedForward"]


class PayloadFeedForward:
    """
    Torque of the arm's model and, on top of it, that of a payload.

    A driver that compensates the arm's gravity knows of no payload, so its weight is always part
    of this.

    Parameters
    ----------
    arm : FeedForward
        Model of the arm without the payload.
    payload : callable
        Torque, Nm, of the payload for a position, velocity and acceleration, all (n_joints,) or
        rows of these as the arm's model takes them, such as
        ``robot.payload_dynamics.PayloadDynamics.torque_of`` returns.
    """

    def __init__(
        self,
        arm: FeedForward,
        payload: Callable[[FloatArray, FloatArray, FloatArray], FloatArray],
    ) -> None:
        self._arm = arm
        self._payload = payload

    def __call__(self, reference: Reference) -> FeedForwardTorque:
        """Return the sum of both torques, and what else is known of the arm's."""
        of_arm = self._arm(reference)
        return of_arm._replace(torque=of_arm.torque + self._payload(*reference))
