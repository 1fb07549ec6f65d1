# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Client of the learner process: coroutines that run jobs without blocking the executor."""

from __future__ import annotations

from collections.abc import Callable

from rclpy.callback_groups import CallbackGroup
from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from rclpy.task import Future

from ilr_dynamics.exceptions import LearnerError
from ilr_dynamics.learning import (
    Failed,
    Job,
    LearnerLimits,
    LearnerProcess,
    LearningReport,
    Progressed,
)

__all__ = ["LearnerClient"]

_POLL_PERIOD = 0.02


class LearnerClient:
    """
    Runs one job at a time, in a process that is polled by a timer.

    Parameters
    ----------
    node : Node
        Node whose executor runs the timer.
    group : CallbackGroup
        Group of the timer; must not exclude callbacks that await `run`.

    Attributes
    ----------
    limits : LearnerLimits
        Limits of jobs that are started from now on.
    """

    def __init__(self, node: Node, group: CallbackGroup) -> None:
        self.status = "idle"
        self.limits = LearnerLimits()
        self._title = ""
        self._process: LearnerProcess | None = None
        self._owner: object = None
        self._future: Future[LearningReport] = Future()
        self._on_progress: Callable[[Progressed], None] | None = None
        # By a steady clock, as results are needed also when simulated time stands still.
        self._timer = node.create_timer(
            _POLL_PERIOD,
            self._poll,
            callback_group=group,
            clock=Clock(clock_type=ClockType.STEADY_TIME),
            autostart=False,
        )

    async def run(
        self,
        job: Job,
        title: str,
        on_progress: Callable[[Progressed], None] | None = None,
        owner: object = None,
    ) -> LearningReport:
        """
        Run a job to its end.

        Parameters
        ----------
        job : Job
            Job to run.
        title : str
            Description of the job, shown while it runs.
        on_progress : callable, optional
            Callback for progress.
        owner : object, optional
            Owner of the job, by which it can be cancelled (`cancel`).

        Returns
        -------
        LearningReport

        Raises
        ------
        LearnerError
            If another job is running, or this one fails.
        """
        if self._process is not None:
            raise LearnerError(
                f"the learner is busy ({self.status}): expected one request at a time"
            )
        self._process = LearnerProcess(job, limits=self.limits)
        self._owner = owner
        self._future = Future()
        self._on_progress = on_progress
        self.status = self._title = title
        self._timer.reset()
        report = await self._future
        assert report is not None
        return report

    def cancel(self, owner: object = None) -> None:
        """Cancel the running job, if it has this owner or None is given; `run` then raises."""
        if self._process is not None and (owner is None or owner is self._owner):
            self._process.cancel()

    def close(self) -> None:
        """Kill the running job and wait for its end: for the end of the program only."""
        self._timer.cancel()
        if self._process is not None:
            self._process.close()
            self._process = None

    def _poll(self) -> None:
        if self._process is None:
            return
        for event in self._process.poll():
            if isinstance(event, Progressed):
                self.status = f"{self._title}: {event.stage} {event.fraction:.0%}"
                if self._on_progress is not None:
                    self._on_progress(event)
            else:
                self._end(event)

    def _end(self, event: LearningReport | Failed) -> None:
        self._timer.cancel()
        self._process = None
        self.status = "idle"
        if isinstance(event, Failed):
            self._future.set_exception(LearnerError(event.message))
        else:
            self._future.set_result(event)
