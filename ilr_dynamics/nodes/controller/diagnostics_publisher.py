# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Publisher of the controller's diagnostics, a part at a time."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from rclpy.clock import Clock, ClockType
from rclpy.lifecycle import LifecycleNode

from ilr_dynamics.nodes.controller.control_loop import ControlLoop
from ilr_dynamics.nodes.controller.diagnostic_groups import (
    FIT,
    JOINT_STATES,
    LOOP,
    MODEL,
    grouped,
    joint_state_status,
    model_status,
)
from ilr_dynamics.nodes.controller.diagnostics import (
    LoopState,
    LoopStatistics,
    input_warnings,
    loop_status,
)
from ilr_dynamics.nodes.shared import qos
from ilr_dynamics.nodes.shared.event_log import EventLog
from ilr_dynamics.nodes.shared.messages import diagnostic_status

__all__ = ["DiagnosticsPublisher"]

# The whole loop last: each round ends with it.
GROUPS = (JOINT_STATES, MODEL, FIT, LOOP)


class DiagnosticsPublisher:
    """
    Publisher of ``/diagnostics``, with a message for each group, and log of its warnings.

    At once they took 1 ms of Python a second: at 1 kHz a joint state was left without a torque.
    Between its parts, which `PriorityExecutor` has done, the loop answers joint states.

    Parameters
    ----------
    node : LifecycleNode
        Node of the topic; its parameter ``diagnostics.period`` is the time of a round, s.
    log : EventLog
        Log of the node.
    loop : callable
        Returns the control loop; None before configuration.
    robot, learner : callable
        Return the name of the arm, or "", and the state of the learner as text.
    """

    def __init__(
        self,
        node: LifecycleNode,
        log: EventLog,
        loop: Callable[[], ControlLoop | None],
        robot: Callable[[], str],
        learner: Callable[[], str],
    ) -> None:
        self._node, self._log = node, log
        self._loop, self._robot, self._learner = loop, robot, learner
        self._publisher = node.create_publisher(DiagnosticArray, "/diagnostics", qos.STATUS)
        self._statistics = LoopStatistics()
        self._since = self._until = time.perf_counter()
        self._judged = node.get_clock().now().to_msg()
        self._statuses: dict[str, tuple[bytes, str]] = {}
        self._groups: dict[str, dict[str, str]] = {}
        self._round: Iterator[None] | None = None
        # By a steady clock, as diagnostics matter most when simulated time stands still.
        clock = Clock(clock_type=ClockType.STEADY_TIME)
        period = node.get_parameter("diagnostics.period").value
        node.create_timer(period, self._begin, clock=clock)

    def do_part(self) -> None:
        """Do the next part of a round, if there is one."""
        if self._round is None:
            return
        try:
            next(self._round)
        except StopIteration:
            self._round = None

    def _begin(self) -> None:
        # Where there is little time, a round may take longer than the period.
        if self._round is None:
            self._round = self._parts()
        if self._loop() is None:
            # Nothing is disturbed, and hardly anything happens after which a part would be done.
            while self._round is not None:
                self.do_part()

    def _parts(self) -> Iterator[None]:
        """Yield after each part of a round."""
        self._log.flush()
        yield
        self._judge()
        yield
        self._summarise()
        for group in GROUPS:
            if group in self._statuses:
                yield
                self._publish(group)

    def _judge(self) -> None:
        """Take the statistics of this round, and find the status of each group."""
        loop = self._loop()
        self._statuses, self._groups = {LOOP: (DiagnosticStatus.OK, "not configured")}, {}
        self._since, self._until = self._until, time.perf_counter()
        self._judged = self._node.get_clock().now().to_msg()
        if loop is None:
            return
        report = loop.report
        clock = 1e-9 * self._node.get_clock().now().nanoseconds
        lag = report.statistics.lag(clock, self._until)
        self._statistics, state = report.statistics.take(), loop.state
        self._statuses = {
            LOOP: loop_status(state, self._statistics, lag),
            JOINT_STATES: joint_state_status(state, self._statistics, lag),
            MODEL: model_status(state, self._statistics, report.model),
            FIT: loop.fit.status,
        }
        self._groups = grouped(
            {
                "controller": report.controller,
                "model": report.model,
                "learner": self._learner(),
                "publishers of joint states": state.publishers_text,
                "last joint state answered [s ago]": f"{loop.silence:.2f}",
                **loop.fit.figures,
                **{f"{kind} [times]": count for kind, count in self._log.counts.items()},
            }
        )
        self._warn(state, lag)

    def _summarise(self) -> None:
        if len(self._statuses) > 1:
            summary = grouped(self._statistics.summary(self._until - self._since))
            self._groups = {group: self._groups[group] | summary[group] for group in GROUPS}

    def _publish(self, group: str) -> None:
        status = diagnostic_status(
            self._node.get_fully_qualified_name(),
            group,
            self._robot(),
            self._statuses[group],
            self._groups.get(group, {}),
        )
        message = DiagnosticArray(status=[status])
        # Of what it tells, not of when there was time to tell it.
        message.header.stamp = self._judged
        self._publisher.publish(message)

    def _warn(self, state: LoopState, lag: float | None) -> None:
        if not state.active:
            return
        if not state.listeners:
            text = "no subscriber to the torque command"
            self._log.recurring(text, text)
        for kind, text in input_warnings(state, self._statistics, lag).items():
            self._log.recurring(f"joint states: {kind}", text)
