# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Topic ~/model_fit and diagnostics of whether the learned model still fits the arm."""

from __future__ import annotations

from array import array
from typing import Any

from diagnostic_msgs.msg import DiagnosticStatus
from rclpy.lifecycle import LifecycleNode

from ilr_dynamics.control.model_fit import FitReport, ModelFit, name_of
from ilr_dynamics.nodes.shared import qos
from ilr_dynamics.nodes.shared.event_log import EventLog
from ilr_dynamics_msgs.msg import ModelFit as FitMessage

__all__ = ["FitPublisher"]


class FitPublisher:
    """
    Publisher of the reports of a `ModelFit`, and log lines where its verdict changes.

    Parameters
    ----------
    node : LifecycleNode
        Node of the topic.
    fit : ModelFit or None
        What is reported of; None: the model is not watched.
    joints : tuple of str
        Joints in the order of the arrays.
    frame : str
        First link of the arm.
    log : EventLog
        Log of the node.
    """

    def __init__(
        self,
        node: LifecycleNode,
        fit: ModelFit | None,
        joints: tuple[str, ...],
        frame: str,
        log: EventLog,
    ) -> None:
        self._node, self._log = node, log
        self._fit = fit
        self._joints = joints
        self._report: FitReport | None = None
        self._message = FitMessage(joint_names=list(joints))
        self._message.header.frame_id = frame
        self._publisher = node.create_lifecycle_publisher(FitMessage, "~/model_fit", qos.LATCHED)

    @property
    def status(self) -> tuple[bytes, str]:
        """Level of DiagnosticStatus and a short text."""
        if self._fit is None:
            return DiagnosticStatus.OK, "not watched: model_fit.alarms_per_hour is 0"
        report = self._fit.report
        return DiagnosticStatus.OK if report.fits else DiagnosticStatus.WARN, report.text

    @property
    def figures(self) -> dict[str, str]:
        """Figures of the last minute of motion as texts."""
        if self._fit is None or not self._fit.report.motion:
            return {}
        report = self._fit.report
        figures = {"fit to motion of [s]": f"{report.motion:.0f}"}
        of_joints = zip(self._joints, report.residual, report.outside, strict=True)
        for joint, residual, outside in of_joints:
            figures[f"fit residual of {joint} [std]"] = f"{residual:.2f}"
            figures[f"fit outside 95 % of {joint} [%]"] = f"{100.0 * outside:.1f}"
        return figures

    def restart(self) -> None:
        """Forget what was seen."""
        if self._fit is not None:
            self._fit.restart()

    def observe(self, stamp: Any) -> None:
        """Publish what is new after a cycle."""
        fit = self._fit
        if fit is None or fit.report is self._report:
            return
        before, self._report = self._report, fit.report
        if not (fit.report.motion or (before and before.motion)):
            return
        self._fill(stamp, fit.report)
        self._publisher.publish(self._message)
        if before is None or before.fits == fit.report.fits or not fit.report.motion:
            return
        text = f"the learned model {fit.report.text}"
        if fit.report.fits:
            self._log.info("model fit", text)
        else:
            self._log.warning("model fit", text)

    def destroy(self) -> None:
        """Destroy the publisher."""
        self._node.destroy_lifecycle_publisher(self._publisher)

    def _fill(self, stamp: Any, report: FitReport) -> None:
        message = self._message
        message.header.stamp = stamp
        message.fits, message.text, message.motion = report.fits, report.text, report.motion
        for name in ("residual", "bias", "outside", "log_odds"):
            setattr(message, name, array("d", getattr(report, name)))
        message.payload_log_odds = report.payload_log_odds
        message.changed_joints = [name_of(change, self._joints) for change in report.changes]
        message.changed_kinds = [change.kind for change in report.changes]
        message.changed_by = array("d", [change.by for change in report.changes])
        message.changed_std = array("d", [change.std for change in report.changes])
