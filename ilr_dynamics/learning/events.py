# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""What a learner says: lines of JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

__all__ = ["Event", "Failed", "Finished", "Progressed", "decode_event"]


@dataclass(frozen=True)
class Progressed:
    """
    The learner is at work.

    Attributes
    ----------
    stage : str
        "reading", "learning" or "saving".
    fraction : float
        Share of the stage that is done.
    lower_bound : float or None
        Lower bound of the newest iteration, nats per sample.
    """

    stage: str
    fraction: float
    lower_bound: float | None


@dataclass(frozen=True)
class Finished:
    """The job is done; `values` are what `worker.run_job` returns. Nothing follows."""

    values: Mapping[str, Any]


@dataclass(frozen=True)
class Failed:
    """
    The job is not done, and nothing has changed. Nothing follows.

    Attributes
    ----------
    message : str
        Why, for the user.
    """

    message: str


Event = Progressed | Finished | Failed


def decode_event(line: bytes) -> Event:
    """
    Read one line of the worker.

    Raises
    ------
    ValueError
        The line is no event.
    """
    values = json.loads(line)
    if not isinstance(values, dict):
        raise ValueError("not an event")
    kind = values.pop("event", None)
    try:
        if kind == "progress":
            return Progressed(**values)
        if kind == "error":
            return Failed(**values)
    except TypeError as error:
        raise ValueError("not an event") from error
    if kind == "result":
        return Finished(MappingProxyType(values))
    raise ValueError("not an event")
