# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Conversion of the learner's results and progress to responses and feedback."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, TypeAlias

from ilr_dynamics.exceptions import LearnerError
from ilr_dynamics.learning import Progressed
from ilr_dynamics_msgs.action import Learn
from ilr_dynamics_msgs.srv import LoadSnapshot, SaveSnapshot, UpdateModel

__all__ = ["MAX_TEXT", "check_texts", "feedback", "fill_learned"]

MAX_TEXT = 4096
"""Longest text in a request, such as a path, in characters."""

Request: TypeAlias = UpdateModel.Request | LoadSnapshot.Request | SaveSnapshot.Request | Learn.Goal


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


def fill_learned(answer: UpdateModel.Response | Learn.Result, values: Mapping[str, Any]) -> None:
    """
    Fill a response or result with the outcome of learning.

    Parameters
    ----------
    answer : UpdateModel.Response or Learn.Result
        Message to fill; both types have the same fields.
    values : mapping
        Result of an `UpdateJob`.
    """
    refusal: str = values["refusal"]
    rejected: dict[str, int] = values["rejected"]
    answer.success = not refusal
    overridden: str = values.get("overridden", "")
    answer.message = refusal or (
        f"learned from {values['samples_used']} samples in {values['learning_time']:.1f} s"
        + (f", although {overridden}" if overridden else "")
    )
    answer.findings = values["findings"]
    answer.samples_used = values["samples_used"]
    answer.samples_rejected = sum(rejected.values())
    answer.rejection_reasons = list(rejected)
    answer.rejection_counts = list(rejected.values())
    answer.components_before = values["components_before"]
    answer.components_after = values["components_after"]
    answer.newest_error_before = values["error_before"]
    answer.newest_error_after = values["error_after"]
    answer.learning_time = values["learning_time"]
    answer.snapshot_uri = values["snapshot"]
