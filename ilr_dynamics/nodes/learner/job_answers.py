# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Requests for learning, loading and saving, and the messages that answer them."""

from __future__ import annotations

import math
from typing import TypeAlias

from ilr_dynamics.exceptions import LearnerError
from ilr_dynamics.learning import LearningReport, Progressed
from ilr_dynamics_msgs.action import Learn
from ilr_dynamics_msgs.srv import LoadSnapshot, SaveSnapshot, UpdateModel

__all__ = ["MAX_TEXT", "Answer", "Request", "check_texts", "feedback", "fill"]

MAX_TEXT = 4096
"""Longest text in a request, such as a path, in characters."""

Request: TypeAlias = UpdateModel.Request | LoadSnapshot.Request | SaveSnapshot.Request | Learn.Goal
Answer: TypeAlias = (
    UpdateModel.Response | LoadSnapshot.Response | SaveSnapshot.Response | Learn.Result
)


def check_texts(request: Request) -> None:
    """
    Refuse a request with a text that is longer than any path.

    Parameters
    ----------
    request : Request
        Request of a service or goal of the action.

    Raises
    ------
    LearnerError
        If a text is too long; the message names the field.
    """
    for name in request.get_fields_and_field_types():
        value = getattr(request, name)
        if isinstance(value, str) and len(value) > MAX_TEXT:
            raise LearnerError(f"{name} has {len(value)} characters: expected at most {MAX_TEXT}")


def feedback(progress: Progressed) -> Learn.Feedback:
    """Return the action's feedback for a progress event."""
    return Learn.Feedback(
        stage=progress.stage,
        progress=float(progress.fraction),
        lower_bound=math.nan if progress.lower_bound is None else progress.lower_bound,
    )


def fill(answer: Answer, report: LearningReport) -> None:
    """
    Fill a response or the action's result with a report, as far as it has the fields.

    Parameters
    ----------
    answer : Answer
        Message to fill.
    report : LearningReport
        Report on the job of the request.
    """
    values = {
        "success": not report.refusal,
        "message": report.refusal or _success(answer, report),
        "findings": report.findings,
        "samples": report.samples_total,
        "samples_used": report.samples_used,
        "samples_rejected": sum(report.rejected.values()),
        "rejection_reasons": list(report.rejected),
        "rejection_counts": list(report.rejected.values()),
        "components": report.components_after,
        "components_before": report.components_before,
        "components_after": report.components_after,
        "newest_error_before": report.error_before,
        "newest_error_after": report.error_after,
        "learning_time": report.learning_time,
        "snapshot_uri": report.snapshot,
    }
    for name in answer.get_fields_and_field_types():
        setattr(answer, name, values[name])


def _success(answer: Answer, report: LearningReport) -> str:
    if isinstance(answer, LoadSnapshot.Response):
        return f"loaded {report.snapshot}"
    if isinstance(answer, SaveSnapshot.Response):
        return f"saved {report.snapshot}"
    text = f"learned from {report.samples_used} samples in {report.learning_time:.1f} s"
    text += f", although {report.overridden}" if report.overridden else ""
    return "; ".join(
        filter(None, [text, report.change, report.unsettled, *report.notes, _gains(report)])
    )


def _gains(report: LearningReport) -> str:
    """Say what each recording added; empty if there was nothing to add to."""
    if all(gain is None for gain in report.gains.values()):
        return ""
    listed = ", ".join(
        f"{uri} {'first' if gain is None else f'{gain:+.2f}'}"
        for uri, gain in report.gains.items()
    )
    return f"gain in nats per effective sample: {listed}"
