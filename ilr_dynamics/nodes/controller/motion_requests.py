# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Motion requests to the controller: trajectory topic, and services to stop and hold."""

from __future__ import annotations

from rclpy.node import Node
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory

from ilr_dynamics.control import Mode, TrackingController
from ilr_dynamics.exceptions import IlrDynamicsError, TrajectoryError
from ilr_dynamics.nodes.controller.trajectory_reader import read_trajectory
from ilr_dynamics.nodes.shared import qos
from ilr_dynamics.nodes.shared.event_log import EventLog

__all__ = ["REFUSAL", "MotionRequests"]

# Beginning of the log line with the reason why a trajectory is not followed.
REFUSAL = "trajectory refused"


class MotionRequests:
    """
    Topic ~/joint_trajectory and services ~/stop and ~/hold.

    They exist as long as the node does, so that requests always get a response.

    Parameters
    ----------
    node : Node
        Node of the topic and the services.
    log : EventLog
        Log of the node.
    """

    def __init__(self, node: Node, log: EventLog) -> None:
        self.allow_linear = False
        self.max_points = 0
        self._log = log
        self._controller: TrackingController | None = None
        node.create_subscription(
            JointTrajectory, "~/joint_trajectory", self._on_trajectory, qos.REQUEST, raw=True
        )
        node.create_service(Trigger, "~/stop", self._on_stop)
        node.create_service(Trigger, "~/hold", self._on_hold)

    def connect(self, controller: TrackingController, allow_linear: bool, max_points: int) -> None:
        """
        Pass requests to a controller from now on, between two of its cycles.

        Parameters
        ----------
        controller : TrackingController
            Controller that gets the requests.
        allow_linear : bool
            Whether trajectories of positions alone are accepted.
        max_points : int
            Largest number of points of a trajectory.
        """
        self._controller, self.allow_linear = controller, allow_linear
        self.max_points = max_points

    def disconnect(self) -> None:
        """Respond without a controller from now on."""
        self._controller = None

    def _on_trajectory(self, data: bytes) -> None:
        try:
            if self._controller is None:
                raise TrajectoryError("the node is not configured: expected it to be active")
            path, start = read_trajectory(
                data,
                self._controller.limits.joints,
                max_points=self.max_points,
                allow_linear=self.allow_linear,
            )
            self._controller.set_trajectory(path, start)
        except IlrDynamicsError as error:
            self._log.error(REFUSAL, f"{REFUSAL}: {error}")
            return
        self._log.info(
            "trajectory accepted",
            f"trajectory of {len(path.times)} points and {path.end:.2f} s accepted",
        )
        if path.stops_at_every_point:
            self._log.recurring(
                "trajectory that stops at each point",
                f"the arm stops at each of the trajectory's {len(path.times)} points, as their "
                "velocities are all zero: expected those of the motion, or none at all with "
                "trajectory.allow_linear",
            )

    def _on_stop(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        if self._controller is not None:
            self._controller.stop()
        return self._answer("stop", response)

    def _on_hold(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        if self._controller is not None:
            self._controller.hold()
        return self._answer("hold", response)

    def _answer(self, name: str, response: Trigger.Response) -> Trigger.Response:
        # A fault is not ended by stop, and by hold only while the position of the arm is known.
        blind = name == "hold" and bool(self._controller and self._controller.fault)
        response.success = not blind
        if self._controller is None:
            response.message = "not configured: no torque goes out"
        elif self._controller.mode is Mode.WAITING:
            response.message = "waiting for joint states: no torque goes out"
        else:
            response.message = self._controller.fault or self._controller.mode.name.lower()
        self._log.info(name, f"request to {name}: {response.message}")
        return response
