# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Action ~/follow_joint_trajectory, where control_msgs is installed."""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from typing import Any, TypeVar

from builtin_interfaces.msg import Duration, Time
from rclpy.action import ActionServer, CancelResponse, GoalResponse
from rclpy.action.server import ServerGoalHandle
from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from rclpy.serialization import serialize_message
from rclpy.task import Future
from trajectory_msgs.msg import JointTrajectoryPoint

from ilr_dynamics.arrays import FloatArray
from ilr_dynamics.control import Command
from ilr_dynamics.control.goal_tolerances import AskedTolerance, AskedTolerances
from ilr_dynamics.control.trajectory_goal import End, Outcome, TrajectoryGoal
from ilr_dynamics.exceptions import IlrDynamicsError, TrajectoryError
from ilr_dynamics.nodes.controller.motion_requests import REFUSAL, MotionRequests
from ilr_dynamics.nodes.shared.event_log import EventLog
from ilr_dynamics.nodes.shared.messages import seconds

try:
    from control_msgs.action import FollowJointTrajectory
except ImportError:
    FollowJointTrajectory = None

__all__ = ["FollowJointTrajectoryServer"]

# Time between two feedbacks, s: that of joint_trajectory_controller.
_FEEDBACK_PERIOD = 0.05
_MISSING = "control_msgs is not installed: there is no action ~/follow_joint_trajectory"

Handle = ServerGoalHandle[Any, Any, Any]
_Time = TypeVar("_Time", Time, Duration)


class FollowJointTrajectoryServer:
    """
    Action server whose goals are trajectories as on ~/joint_trajectory, and whose end is told.

    It exists as long as the node does, so that goals always get a response.

    Parameters
    ----------
    node : Node
        Node of the action.
    requests : MotionRequests
        What accepts trajectories and observes the arm.
    log : EventLog
        Log of the node.
    """

    def __init__(self, node: Node, requests: MotionRequests, log: EventLog) -> None:
        self._requests, self._log = requests, log
        self._action: ActionServer[Any, Any, Any] | None = None
        # What was accepted last: its goal, its handle until its result, and its end.
        self._goal: TrajectoryGoal | None = None
        self._handle: Handle | None = None
        self._end: Future[Outcome] = Future()
        self._ends: dict[bytes, Future[Outcome]] = {}
        if FollowJointTrajectory is None:
            log.info("follow_joint_trajectory", _MISSING)
            return
        # By a steady clock, as simulated time may stand still.
        self._timer = node.create_timer(
            _FEEDBACK_PERIOD,
            self._publish_feedback,
            clock=Clock(clock_type=ClockType.STEADY_TIME),
            autostart=False,
        )
        self._action = ActionServer(
            node,
            FollowJointTrajectory,
            "~/follow_joint_trajectory",
            self._execute,
            goal_callback=self._on_goal,
            handle_accepted_callback=self._on_accepted,
            cancel_callback=self._on_cancel,
        )

    def close(self) -> None:
        """Destroy the action: for the end of the program only."""
        if self._action is not None:
            self._action.destroy()

    def _on_goal(self, request: Any) -> GoalResponse:
        end: Future[Outcome] = Future()
        try:
            _check_single_joints(request)
            # In the form in which the topic has it, and so on the way of the topic.
            data = serialize_message(request.trajectory)
            self._goal = self._requests.follow_goal(data, _asked(request), end.set_result)
        except IlrDynamicsError as error:
            self._log.error(REFUSAL, f"{REFUSAL}: {error}")
            return GoalResponse.REJECT
        self._end = end
        return GoalResponse.ACCEPT

    def _on_accepted(self, handle: Handle) -> None:
        self._handle = handle
        self._ends[bytes(handle.goal_id.uuid)] = self._end
        self._timer.reset()
        handle.execute()

    def _on_cancel(self, handle: Handle) -> CancelResponse:
        goal = self._goal
        if handle is self._handle and goal is not None and self._requests.cancel(goal):
            return CancelResponse.ACCEPT
        return CancelResponse.REJECT

    async def _execute(self, handle: Handle) -> Any:
        outcome = await self._ends.pop(bytes(handle.goal_id.uuid))
        assert outcome is not None
        if handle is self._handle:
            self._handle = None
            self._timer.cancel()
        if outcome.end is End.SUCCEEDED:
            handle.succeed()
        elif outcome.end is End.CANCELED:
            handle.canceled()
        else:
            handle.abort()
        tell = self._log.warning if outcome.end is End.ABORTED else self._log.info
        tell(f"goal {outcome.end.value}", f"goal {outcome.end.value}: {outcome.text}")
        return FollowJointTrajectory.Result(
            error_code=int(outcome.code), error_string=outcome.text
        )

    def _publish_feedback(self) -> None:
        if self._handle is not None and self._goal is not None and self._goal.last is not None:
            self._handle.publish_feedback(_feedback(self._goal, self._goal.last))


def _check_single_joints(request: Any) -> None:
    """Refuse what is for joints with several degrees of freedom."""
    multi = request.multi_dof_trajectory
    if multi.joint_names or multi.points:
        raise TrajectoryError(
            f"multi_dof_trajectory names {multi.joint_names} and has {len(multi.points)} points: "
            "expected none, as each joint turns about one axis"
        )
    for name in ("component_path_tolerance", "component_goal_tolerance"):
        if count := len(getattr(request, name)):
            raise TrajectoryError(
                f"{name} has {count} entries: expected none, as each joint turns about one axis"
            )


def _asked(request: Any) -> AskedTolerances:
    def tolerances(messages: Iterable[Any]) -> tuple[AskedTolerance, ...]:
        return tuple(
            AskedTolerance(one.name, one.position, one.velocity, one.acceleration)
            for one in messages
        )

    return AskedTolerances(
        tolerances(request.path_tolerance),
        tolerances(request.goal_tolerance),
        seconds(request.goal_time_tolerance),
    )


def _feedback(goal: TrajectoryGoal, command: Command) -> Any:
    feedback = FollowJointTrajectory.Feedback(joint_names=list(goal.joints))
    feedback.header.stamp = _time(Time, command.time)
    desired, position, velocity = command.reference, command.position, command.velocity
    elapsed = goal.elapsed(command.time)
    feedback.desired = _point(elapsed, *desired)
    feedback.actual = _point(elapsed, position, velocity)
    feedback.error = _point(elapsed, desired.position - position, desired.velocity - velocity)
    # Not in control_msgs before 6.3, as in Jazzy.
    if hasattr(feedback, "index"):
        feedback.index = goal.next_point(command.time)
    return feedback


def _point(elapsed: float, *fields: FloatArray) -> JointTrajectoryPoint:
    """Return a point with positions, velocities and accelerations, as far as they are given."""
    names = ("positions", "velocities", "accelerations")
    return JointTrajectoryPoint(
        time_from_start=_time(Duration, elapsed),
        **{name: array("d", field) for name, field in zip(names, fields, strict=False)},
    )


def _time(kind: type[_Time], value: float) -> _Time:
    sec, nanosec = divmod(round(1e9 * value), 10**9)
    return kind(sec=sec, nanosec=nanosec)
