# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Runs of the drift benchmark: what is named after a change, and when."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from _drift_arm import ChangingArm
from _learners import node_settings
from _payload_runs import HELD, RATE, long_path

from ilr_dynamics.control import FeedForward, Mode
from ilr_dynamics.control.model_fit import FitReport, name_of
from ilr_dynamics.exceptions import TrajectoryError

__all__ = ["Seen", "observed"]

Named = tuple[str, str]


@dataclass
class Seen:
    """
    What the watch said while the arm moved.

    Attributes
    ----------
    times : list of float
        Times of the reports, from the start of the motion, s.
    residuals, outside : list of list of float
        Of each report and joint.
    named : list of list of (str, str)
        Joints and kinds of each report.
    texts : list of str
        Of each report that is not the same as before.
    costs : list of float
        Time of the processor that each cycle took, s, without the payload's estimate, if timed.
    """

    times: list[float] = field(default_factory=list)
    residuals: list[list[float]] = field(default_factory=list)
    outside: list[list[float]] = field(default_factory=list)
    named: list[list[Named]] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    costs: list[float] = field(default_factory=list)

    def add(self, at: float, report: FitReport, joints: tuple[str, ...]) -> None:
        """Add a report."""
        named = [(name_of(change, joints), change.kind) for change in report.changes]
        if named and (not self.named or named != self.named[-1]):
            self.texts.append(f"{at:.0f} s: {report.text}")
        self.times.append(at)
        self.residuals.append(np.round(report.residual, 3).tolist())
        self.outside.append(np.round(report.outside, 3).tolist())
        self.named.append(named)


def observed(
    arm: ChangingArm,
    feedforward: FeedForward,
    path: str,
    duration: float,
    change: Callable[[float], None],
    *,
    is_timed: bool = False,
) -> Seen:
    """
    Track a path for so long; `change` is told the time since its start, s, in each cycle.

    The watch is the node's, with its parameters; what the tool carries is not fed forward. To
    read the processor's time may take longer than the cycle, so that is done where `is_timed`.
    """
    carried = node_settings(arm, "ilr").carried_payload(arm.description, RATE)
    controller = arm.controller(carried.feedforward(feedforward))
    assert carried.fit is not None
    seen, joints = Seen(), arm.description.joint_names
    motion = long_path(arm, path, duration)
    measured = arm.plant.reset(motion.positions[0])
    start, moving = measured.time + HELD, False
    while True:
        at = measured.time - start
        if not moving and at >= -1e-9:
            controller.set_trajectory(motion, measured.time - motion.start)
            start, moving = measured.time, True
        change(at)
        command = controller.step(measured.time, measured.position, measured.velocity)
        if command is None or command.mode is Mode.FAULT:
            raise TrajectoryError(f"at {at:.2f} s: {controller.fault}")
        if moving and command.mode is not Mode.TRACKING:
            return seen
        before, began = carried.fit.report, time.thread_time() if is_timed else 0.0
        carried.observe(command, estimates=False)
        if is_timed:
            seen.costs.append(time.thread_time() - began)
        if carried.fit.report is not before:
            seen.add(at, carried.fit.report, joints)
        measured = arm.plant.step(command.torque)
