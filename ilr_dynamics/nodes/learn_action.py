# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Action ~/learn of /inverse_dynamics: learning with progress and cancellation."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from rclpy.action import ActionServer, CancelResponse
from rclpy.action.server import ServerGoalHandle
from rclpy.callback_groups import CallbackGroup
from rclpy.node import Node

from ilr_dynamics.exceptions import IlrDynamicsError, LearnerError
from ilr_dynamics.learning import Progressed
from ilr_dynamics.nodes.event_log import EventLog
from ilr_dynamics.nodes.learner_client import LearnerClient
from ilr_dynamics.nodes.learner_messages import feedback, fill_learned
from ilr_dynamics_msgs.action import Learn

__all__ = ["LearnAction"]

Report = Callable[[Progressed], None]


class LearnAction:
    """
    Action that does what the service ~/update_model does, with progress and cancellation.

    Parameters
    ----------
    node : Node
        Node of the action.
    group : CallbackGroup
        Reentrant group for the callbacks.
    learner : LearnerClient
        Client through which a job is cancelled.
    learn : callable
        Coroutine that learns from a goal's recording, given the goal, a callback for progress and
        the owner of the job.
    log : EventLog
        Log of the node.
    """

    def __init__(
        self,
        node: Node,
        group: CallbackGroup,
        learner: LearnerClient,
        learn: Callable[[Learn.Goal, Report, object], Awaitable[Mapping[str, Any]]],
        log: EventLog,
    ) -> None:
        self._learner = learner
        self._learn = learn
        self._log = log
        self._server = ActionServer(
            node,
            Learn,
            "~/learn",
            self._on_goal,
            cancel_callback=self._on_cancel,
            callback_group=group,
        )

    def destroy(self) -> None:
        """Destroy the action."""
        self._server.destroy()

    async def _on_goal(self, goal: ServerGoalHandle[Any, Any, Any]) -> Learn.Result:
        def publish(progress: Progressed) -> None:
            goal.publish_feedback(feedback(progress))

        result = Learn.Result()
        try:
            if goal.is_cancel_requested:
                raise LearnerError("learning was cancelled")
            fill_learned(result, await self._learn(goal.request, publish, goal))
        except IlrDynamicsError as error:
            result.message = str(error)
        if result.success:
            goal.succeed()
            return result
        self._log.error("learn", f"learn: {result.message}")
        if goal.is_cancel_requested:
            goal.canceled()
        else:
            goal.abort()
        return result

    def _on_cancel(self, goal: ServerGoalHandle[Any, Any, Any]) -> CancelResponse:
        self._learner.cancel(goal)
        return CancelResponse.ACCEPT
