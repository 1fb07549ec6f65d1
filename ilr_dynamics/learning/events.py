# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Events that a learner process reports, as lines of JSON."""

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
    Progress of a running job.

    Attributes
    ----------
    stage : str
        "reading", "learning" or "saving".
    fraction : float
        Share of the stage that is done.
    lower_bound : float or None
        Lower bound of the marginal likelihood in the last iteration, nats per sample.
    """

    stage: str
    fraction: float
    lower_bound: float | None


@dataclass(frozen=True)
class Finished:
    """End of a successful job; `values` is what `worker.run_job` returned. The last event."""

    values: Mapping[str, Any]


@dataclass(frozen=True)
class Failed:
    """
    End of a failed job, which has changed nothing. The last event.

    Attributes
    ----------
    message : str
        Reason, for the user.
    """

    message: str


Event = Progressed | Finished | Failed


def decode_event(line: bytes) -> Event:
    """
    Decode one line of the worker's output.

    Parameters
    ----------
    line : bytes
        Line to decode.

    Returns
    -------
    Event

    Raises
    ------
    ValueError
        If the line is not an event.
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
