# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Node /trajectory_publisher: sends a named trajectory or waypoints to /inverse_dynamics."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any

import numpy as np
from rclpy.node import Node
from trajectory_msgs.msg import JointTrajectory

from ilr_dynamics.arrays import FloatArray
from ilr_dynamics.control import joint_order
from ilr_dynamics.exceptions import InvalidDataError, TrajectoryError
from ilr_dynamics.nodes.parameter_table import declare, read
from ilr_dynamics.nodes.parameters import TRAJECTORY_PUBLISHER, joints_in_messages
from ilr_dynamics.nodes.shared import qos
from ilr_dynamics.nodes.shared.messages import seconds, trajectory_message
from ilr_dynamics.nodes.shared.node_process import StopRequest, limited_end, run_program, spin
from ilr_dynamics.nodes.shared.robot_description import PublishedArm
from ilr_dynamics.nodes.shared.robot_model import load_arm
from ilr_dynamics.robot.joint_motion import JointMotion
from ilr_dynamics.robot.rigid_body import RigidBodyModel
from ilr_dynamics.robot.tool_paths import joint_path, tool_path
from ilr_dynamics.robot.waypoints import read_waypoints, smooth_motion
from ilr_dynamics_msgs.msg import ControllerState

__all__ = ["Phase", "TrajectoryPublisher", "main", "with_lead_in"]

_ACCEPTANCE_TIME = 1.0
_LOG_PERIOD = 60.0


class Phase(Enum):
    """Phase of the publisher within one pass of the trajectory."""

    RESTING = 0
    SENT = 1
    FOLLOWED = 2
    DONE = 3
    FAILED = 4


class TrajectoryPublisher(Node):
    """
    Publishes the trajectory when the controller holds the arm, a given number of times.

    All times are by the stamps of the controller's states, so that a simulation may run at any
    pace.
    """

    def __init__(self) -> None:
        super().__init__("trajectory_publisher")
        declare(self, TRAJECTORY_PUBLISHER)
        self._values = PublishedArm(self).with_file(read(self, TRAJECTORY_PUBLISHER))
        self._joints = joints_in_messages(self._values)
        self._motion = _motion(self._values, self.get_logger().warning)
        self._end = self._values["lead_in"] + self._motion.times[-1]
        self._left = self._values["repeat"]
        self._followed = 0
        self.phase = Phase.RESTING
        self._since = np.inf
        self._trajectories = self.create_publisher(
            JointTrajectory, "inverse_dynamics/joint_trajectory", qos.REQUEST
        )
        self.create_subscription(
            ControllerState, "inverse_dynamics/controller_state", self._on_state, qos.STATUS
        )
        self.get_logger().info("waiting for the controller to hold the arm")

    def _on_state(self, state: ControllerState) -> None:
        now = seconds(state.header.stamp)
        if self.phase is Phase.RESTING:
            self._rest(now, state)
        elif self.phase is Phase.SENT:
            self._await_acceptance(now, state)
        elif self.phase is Phase.FOLLOWED:
            self._await_end(now, state)

    def _rest(self, now: float, state: ControllerState) -> None:
        if state.mode == ControllerState.FAULT:
            self.get_logger().warning(
                "the controller is in fault; waiting for it to hold the arm",
                throttle_duration_sec=_LOG_PERIOD,
            )
        if state.mode != ControllerState.HOLDING:
            self._since = np.inf
            return
        self._since = min(self._since, now)
        listeners = self._trajectories.get_subscription_count()
        if now - self._since < self._values["delay"] or listeners == 0:
            return
        order = joint_order(state.joint_names, self._joints)
        start = np.array(state.desired_position)[order]
        motion = with_lead_in(self._motion, start, self._values["lead_in"])
        self._trajectories.publish(trajectory_message(self._joints, motion))
        if not self._followed:
            again = "" if self._left == 1 else ", and again each time it was followed to its end"
            name = self._values["trajectory"]
            self.get_logger().info(f"sent {name}, {self._end:.1f} s{again}")
        self.phase, self._since = Phase.SENT, now

    def _await_acceptance(self, now: float, state: ControllerState) -> None:
        if state.mode == ControllerState.TRACKING:
            self.phase = Phase.FOLLOWED
        elif now - self._since > _ACCEPTANCE_TIME:
            self._fail("the controller did not accept the trajectory; its log says why")

    def _await_end(self, now: float, state: ControllerState) -> None:
        if state.mode == ControllerState.FAULT:
            self._fail("the controller is in fault; its log says why")
        if state.mode != ControllerState.HOLDING:
            return
        # If somebody stopped the arm, it must not start again.
        stopped_early = now - self._since < self._end - _ACCEPTANCE_TIME
        self._left -= 1
        self._followed += not stopped_early
        done = stopped_early or self._left == 0
        self.phase, self._since = (Phase.DONE if done else Phase.RESTING), now
        if done:
            times = "" if self._followed == 1 else f" {self._followed} times"
            end = f"followed to its end{times}"
            if stopped_early:
                end = "stopped before its end" + (f", {end}" if self._followed else "")
            self.get_logger().info(end)

    def _fail(self, reason: str) -> None:
        self.get_logger().error(reason)
        self.phase = Phase.FAILED


def with_lead_in(motion: JointMotion, start: FloatArray, duration: float) -> JointMotion:
    """
    Prepend a knot at rest at a start posture to a motion.

    Parameters
    ----------
    motion : JointMotion
        Motion to extend.
    start : ndarray of shape (n_joints,)
        Start posture, rad.
    duration : float
        Time from there to the motion's first knot, s.

    Returns
    -------
    JointMotion
    """
    rest = np.zeros_like(start)
    return JointMotion(
        np.append(0.0, motion.times + duration),
        np.vstack([start, motion.positions]),
        np.vstack([rest, motion.velocities]),
        np.vstack([rest, motion.accelerations]),
    )


def _motion(values: Mapping[str, Any], warn: Callable[[str], object]) -> JointMotion:
    name, rate = values["trajectory"], values["rate"]
    if not name.endswith((".csv", ".yaml")):
        model = RigidBodyModel(load_arm(values, warn))
        return joint_path(tool_path(name), model, rate)
    waypoints = read_waypoints(name)
    try:
        # A file is for each of two arms alike, so it has no prefix.
        order = joint_order(waypoints.joint_names, tuple(values["joints"]))
    except InvalidDataError as error:
        raise TrajectoryError(f"{name}: {error}") from error
    return smooth_motion(waypoints._replace(positions=waypoints.positions[:, order]), rate)


def main(args: list[str] | None = None) -> int:
    """Publish until done or until SIGINT or SIGTERM; 1 if the trajectory was not followed."""
    return run_program("trajectory_publisher", TRAJECTORY_PUBLISHER, args, _publish)


def _publish(stop: StopRequest) -> int:
    node = TrajectoryPublisher()
    spin(node, stop, lambda: node.phase in (Phase.DONE, Phase.FAILED))
    with limited_end():
        node.destroy_node()
    return int(node.phase is Phase.FAILED)


if __name__ == "__main__":
    raise SystemExit(main())
