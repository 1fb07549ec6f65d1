# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""What an update took for changed since the earlier samples, and how much of these it forgot."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

__all__ = ["Change"]


@dataclass(frozen=True)
class Change:
    """
    Hypothesis that an update chose.

    Attributes
    ----------
    log_odds
        Log of the odds that something has changed, against nothing.
    forgotten
        What has changed, by name, and the share of what was known of it that was forgotten, from
        0 to 1; empty if nothing has.
    outputs
        Indices of the outputs that it concerns.
    """

    log_odds: float
    forgotten: Mapping[str, float] = field(default_factory=dict)
    outputs: tuple[int, ...] = ()

    def __str__(self) -> str:
        """For the user."""
        odds = f"log odds {self.log_odds:.1f}"
        if not self.forgotten:
            return f"nothing has changed since the earlier samples ({odds})"
        listed = ", ".join(
            f"{name} ({share:.0%} forgotten)" for name, share in self.forgotten.items()
        )
        return f"changed since the earlier samples: {listed} ({odds})"
