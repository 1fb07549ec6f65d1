# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Finding: one thing that is wrong with a recording or worth knowing of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Any

__all__ = ["KINDS", "Finding", "Severity", "join_names"]


class Severity(StrEnum):
    """How bad it is: an error keeps a recording from being learned from."""

    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


KINDS = MappingProxyType(
    {
        "unreadable": "the recording cannot be read",
        "rate": "states a second, and how regular they are",
        "dropouts": "states are missing",
        "clock_set_back": "the clock was set in the middle, back or far ahead",
        "wrong_stamp": "stamps of another time than their neighbours'",
        "position_jump": "positions that no arm reaches in the time",
        "wrapped_position": "positions of a joint without limits that jump by a whole turn",
        "guided": "stretches in which a person guided the arm, which are left out",
        "unread_reports": "reports of a controller under another name than is looked for",
        "rejected_states": "states that are of no use for another reason",
        "no_excitation": "too little motion to learn from",
        "range": "what share of the workspace was visited, and how fast",
        "unknown_parameters": "masses, centres and inertias that the motion does not show",
        "zero_velocity": "measured velocities that stay the same (zero) while the joint moves",
        "velocity_scale": "measured velocities in another unit or of the wrong sign",
        "filtered_velocity": "measured velocities that lag behind",
        "coarse_encoder": "positions in visible steps",
        "degrees": "positions in degrees",
        "position_scale": "positions in turns, or with another gear",
        "position_offset": "positions whose zero is not that of the description",
        "coarse_torque": "torques in visible steps: rounded, or held for many states",
        "saturation": "torques at their limit",
        "zero_effort": "a torque that never changes while its joint moves",
        "effort_scale": "torques in another unit",
        "wrong_sign": "torque, or position, of a joint with the wrong sign",
        "permuted_joints": "values of one joint under another one's name",
        "base_tilted": "the base is not as the description has it: tilted, or upside down",
        "gravity_missing": "the arm's weight is not in the torques",
        "gravity_twice": "the arm's weight is in the torques more than once",
        "payload": "the arm carries more, or less, than the description has",
        "torque_delay": "time from a command to its action, found in the data",
        "offset": "a constant in a joint's torque that is neither weight nor friction",
        "static_friction": "how much of the torque is dry friction",
        "unrelated_torque": "a torque that has no relation to the motion",
    }
)
"""All kinds of findings, and what each is about."""


@dataclass(frozen=True)
class Finding:
    """
    One thing that a person should know of a recording.

    Attributes
    ----------
    kind : str
        One of `KINDS`.
    severity : Severity
    text : str
        What was found, with the value and what was expected.
    advice : str
        What to do about it; empty where nothing is.
    joint : str
        Name, or names as of `join_names`; empty for the whole arm.
    from_s, to_s : float or None
        Time since the first state in which it shows, s; None for all of it.
    value : float or None
        What was measured.
    unit : str
        Of the value; empty for a pure number.
    probability : float
        That it is so and no chance, given the noise of the recording, in [0, 1].
    """

    kind: str
    severity: Severity
    text: str
    advice: str = ""
    joint: str = ""
    from_s: float | None = None
    to_s: float | None = None
    value: float | None = None
    unit: str = ""
    probability: float = 1.0

    def __str__(self) -> str:
        """Severity, kind and text, as an answer of a service shows them."""
        return f"{self.severity} ({self.kind}): {self.text}"

    def to_json(self) -> dict[str, Any]:
        """Return the fields as values that JSON can hold."""
        return asdict(self)


def join_names(names: Sequence[str]) -> str:
    """Names as a text lists them."""
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))
