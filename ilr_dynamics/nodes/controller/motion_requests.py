# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Motion requests to the controller: trajectories and goals, services to stop, hold and guide."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from rclpy.node import Node
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory

from ilr_dynamics.control import Command, JointPath, Mode, TrackingController
from ilr_dynamics.control.goal_tolerances import AskedTolerances, GoalTolerances
from ilr_dynamics.control.trajectory_goal import CANCELED, Outcome, TrajectoryGoal, aborted
from ilr_dynamics.exceptions import IlrDynamicsError, TrajectoryError
from ilr_dynamics.nodes.controller.trajectory_reader import read_trajectory
from ilr_dynamics.nodes.shared import qos
from ilr_dynamics.nodes.shared.event_log import EventLog

__all__ = ["REFUSAL", "MotionRequests", "TrajectoryRules"]

# Beginning of the log line with the reason why a trajectory is not followed.
REFUSAL = "trajectory refused"
_DEACTIVATED = aborted("Current goal cancelled during deactivate transition.")
_PREEMPTED = aborted("Current goal preempted by new incoming trajectory.")
_PREEMPTED_BY_GOAL = aborted("Current goal preempted by new incoming action.")


class TrajectoryRules(NamedTuple):
    """
    Rules by which trajectories are accepted and followed.

    Attributes
    ----------
    allow_linear : bool
        Whether trajectories of positions alone are accepted.
    max_points : int
        Largest number of points of a trajectory.
    tolerances : GoalTolerances
        Tolerances of goals that ask for none.
    """

    allow_linear: bool
    max_points: int
    tolerances: GoalTolerances


class MotionRequests:
    """
    Topic ~/joint_trajectory, services ~/stop, ~/hold and ~/guide, and the goal being followed.

    They exist as long as the node does, so that requests always get a response. A goal
    (`FollowJointTrajectoryServer`) is a trajectory whose end somebody waits for.

    Parameters
    ----------
    node : Node
        Node of the topic and the services.
    log : EventLog
        Log of the node.
    """

    def __init__(self, node: Node, log: EventLog) -> None:
        self._log = log
        self._controller: TrackingController | None = None
        self._rules: TrajectoryRules | None = None
        self._goal: TrajectoryGoal | None = None
        node.create_subscription(
            JointTrajectory, "~/joint_trajectory", self._on_trajectory, qos.REQUEST, raw=True
        )
        node.create_service(Trigger, "~/stop", self._on_stop)
        node.create_service(Trigger, "~/hold", self._on_hold)
        node.create_service(Trigger, "~/guide", self._on_guide)

    def connect(self, controller: TrackingController, rules: TrajectoryRules) -> None:
        """Pass requests to a controller from now on, between two of its cycles."""
        self._controller, self._rules = controller, rules

    def disconnect(self) -> None:
        """Respond without a controller from now on."""
        self.deactivated()
        self._controller = None

    def follow_goal(
        self, data: bytes, asked: AskedTolerances, on_end: Callable[[Outcome], None]
    ) -> TrajectoryGoal:
        """
        Follow a trajectory as the goal from now on; the one before ends.

        Parameters
        ----------
        data : bytes
            Serialised trajectory_msgs/JointTrajectory.
        asked : AskedTolerances
            Tolerances that the goal asks for.
        on_end : callable
            Callback with the outcome.

        Returns
        -------
        TrajectoryGoal

        Raises
        ------
        IlrDynamicsError
            If the trajectory cannot be followed. The present motion, and goal, then go on.
        """
        path, start, controller, rules = self._read(data)
        tolerances = rules.tolerances.asked(asked, controller.limits.joints)
        if not path.ends_at_rest:
            raise TrajectoryError(
                f"the trajectory ends at {path.fields[1][-1].tolist()} rad/s: expected zero, as a "
                "goal is reached at rest"
            )
        start = self._begin(path, start, _PREEMPTED_BY_GOAL)
        self._goal = TrajectoryGoal(path, start, tolerances, controller.limits.joints, on_end)
        return self._goal

    def cancel(self, goal: TrajectoryGoal) -> bool:
        """Brake, and end a goal when the arm is at rest; return whether it was still followed."""
        if self._controller is None or goal is not self._goal or not goal.end_at_rest(CANCELED):
            return False
        self._controller.stop()
        return True

    def observe(self, command: Command) -> None:
        """Judge a control cycle, after its torque was sent."""
        goal, controller = self._goal, self._controller
        if goal is None or controller is None:
            return
        if command.mode is Mode.FAULT:
            self.faulted(controller.fault)
        elif goal.observe(command):
            controller.stop()
        elif goal.ended:
            self._goal = None

    def faulted(self, fault: str) -> None:
        """End the goal because of a fault."""
        if self._goal is not None:
            self._end_goal(aborted(f"Current goal aborted by a fault: {fault}"))

    def deactivated(self) -> None:
        """End the goal because the controller stops to answer joint states."""
        self._end_goal(_DEACTIVATED)

    def _end_goal(self, outcome: Outcome) -> None:
        goal, self._goal = self._goal, None
        if goal is not None:
            goal.end(outcome)

    def _on_trajectory(self, data: bytes) -> None:
        try:
            path, start, *_ = self._read(data)
            self._begin(path, start, _PREEMPTED)
        except IlrDynamicsError as error:
            self._log.error(REFUSAL, f"{REFUSAL}: {error}")

    def _read(
        self, data: bytes
    ) -> tuple[JointPath, float | None, TrackingController, TrajectoryRules]:
        """Return path and start of a trajectory, who is to follow it and by which rules."""
        if self._controller is None or self._rules is None:
            raise TrajectoryError("the node is not configured: expected it to be active")
        path, start = read_trajectory(
            data,
            self._controller.limits.joints,
            max_points=self._rules.max_points,
            allow_linear=self._rules.allow_linear,
        )
        return path, start, self._controller, self._rules

    def _begin(self, path: JointPath, start: float | None, preempted: Outcome) -> float:
        """Follow a path, end the goal of before, and return when the path's own time is zero."""
        assert self._controller is not None
        start = self._controller.set_trajectory(path, start)
        self._end_goal(preempted)
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
        return start

    def _on_stop(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        if self._controller is not None:
            self._controller.stop()
        self._stopped("stop")
        return self._answer("stop", response)

    def _on_hold(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        if self._controller is not None:
            self._controller.hold()
        self._stopped("hold")
        return self._answer("hold", response)

    def _on_guide(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        refusal = "not configured: no torque goes out"
        if self._controller is not None:
            refusal = self._controller.guide()
        if not refusal:
            self._stopped("guide")
        response.success = not refusal
        response.message = refusal or "guiding"
        self._log.info("guide", f"request to guide: {response.message}")
        return response

    def _stopped(self, name: str) -> None:
        if self._goal is not None:
            self._goal.end_at_rest(aborted(f"Current goal stopped by ~/{name}."))

    def _answer(self, name: str, response: Trigger.Response) -> Trigger.Response:
        fault = "" if self._controller is None else self._controller.fault
        idle = self._controller is None or self._controller.mode is Mode.WAITING
        # Where no torque goes out nothing moves the arm, but nothing holds it either. A fault is
        # not ended by stop, and by hold only while the position of the arm is known.
        response.success = not fault and not (name == "hold" and idle)
        if self._controller is None:
            response.message = "not configured: no torque goes out"
        elif idle:
            response.message = "waiting for joint states: no torque goes out"
        else:
            response.message = fault or self._controller.mode.name.lower()
        self._log.info(name, f"request to {name}: {response.message}")
        return response
