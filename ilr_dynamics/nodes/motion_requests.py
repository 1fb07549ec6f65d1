# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""What others ask the arm to do: follow a trajectory, stop, hold."""

from __future__ import annotations

import time

from rclpy.node import Node
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory

from ilr_dynamics.control import Mode, TrackingController
from ilr_dynamics.exceptions import IlrDynamicsError
from ilr_dynamics.nodes import qos
from ilr_dynamics.nodes.messages import joint_path, start_time

__all__ = ["MotionRequests"]

# Log lines of one kind are at least this far apart, s.
_LOG_PERIOD = 1.0


class MotionRequests:
    """The topic ~/joint_trajectory and the services ~/stop and ~/hold.

    Parameters
    ----------
    node : Node
    controller : TrackingController
        Is told what is asked, between two of its cycles.
    allow_linear : bool
        Whether trajectories of positions alone are followed.
    """

    def __init__(self, node: Node, controller: TrackingController, allow_linear: bool) -> None:
        self.allow_linear = allow_linear
        self._node = node
        self._controller = controller
        self._refusal, self._refused_at = "", 0.0
        self._trajectories = node.create_subscription(
            JointTrajectory, "~/joint_trajectory", self._on_trajectory, qos.REQUEST
        )
        self._services = [
            node.create_service(Trigger, "~/stop", self._on_stop),
            node.create_service(Trigger, "~/hold", self._on_hold),
        ]

    def destroy(self) -> None:
        """Give up topic and services."""
        self._node.destroy_subscription(self._trajectories)
        for service in self._services:
            self._node.destroy_service(service)

    def _on_trajectory(self, message: JointTrajectory) -> None:
        logger = self._node.get_logger()
        try:
            path = joint_path(
                message, self._controller.limits.joints, allow_linear=self.allow_linear
            )
            self._controller.set_trajectory(path, start_time(message))
        except IlrDynamicsError as error:
            self._log_refusal(str(error))
            return
        logger.info(
            f"trajectory of {len(path.times)} points and {path.end:.2f} s accepted",
            throttle_duration_sec=_LOG_PERIOD,
        )

    def _log_refusal(self, reason: str) -> None:
        """Log every new reason at once, and one that is repeated now and then."""
        now = time.monotonic()
        if reason != self._refusal or now - self._refused_at > _LOG_PERIOD:
            self._node.get_logger().error(f"trajectory refused: {reason}")
            self._refusal, self._refused_at = reason, now

    def _on_stop(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        self._controller.stop()
        return self._answer(response)

    def _on_hold(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        self._controller.hold()
        return self._answer(response)

    def _answer(self, response: Trigger.Response) -> Trigger.Response:
        mode = self._controller.mode
        response.success = True
        response.message = self._controller.fault or mode.name.lower()
        if mode is Mode.WAITING:
            response.message = "waiting for joint states: no torque goes out"
        return response
