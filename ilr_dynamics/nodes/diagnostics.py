# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""What /diagnostics says about the control loop."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue

from ilr_dynamics.control import Command

__all__ = ["LoopStatistics", "diagnostic_array"]


@dataclass
class LoopStatistics:
    """Figures gathered since the last `clear`.

    Attributes
    ----------
    loop_times : list of float
        From receipt of a joint state to publication of its torque, s, cycle by cycle.
    gates : list of float
        Share of the learned torque, cycle by cycle.
    limited : int
        Cycles in which a torque or rate limit acted.
    unusable : int
        Joint states that were not answered.
    largest_gap : float
        Longest time between two answered joint states by their stamps, s.
    """

    loop_times: list[float] = field(default_factory=list)
    gates: list[float] = field(default_factory=list)
    limited: int = 0
    unusable: int = 0
    largest_gap: float = 0.0
    _last_time: float | None = None

    def add(self, command: Command, loop_time: float) -> None:
        """Count one cycle."""
        self.loop_times.append(loop_time)
        self.gates.append(command.feedforward.gate)
        self.limited += command.limited
        if self._last_time is not None:
            self.largest_gap = max(self.largest_gap, command.time - self._last_time)
        self._last_time = command.time

    def clear(self) -> None:
        """Begin anew; the gap to the last cycle stays in view."""
        self.loop_times.clear()
        self.gates.clear()
        self.limited = self.unusable = 0
        self.largest_gap = 0.0

    def forget(self) -> None:
        """Clear the last cycle's time too, as the next one does not follow it."""
        self.clear()
        self._last_time = None

    def summary(self, period: float) -> dict[str, str]:
        """Return the figures as text; ``period`` is the time since the last clear, s."""
        cycles = len(self.loop_times)
        figures = {
            "rate [Hz]": f"{cycles / period:.1f}",
            "largest gap [ms]": f"{1e3 * self.largest_gap:.2f}",
            "cycles with a torque or rate limit": str(self.limited),
            "unusable joint states": str(self.unusable),
        }
        if cycles:
            median, high, largest = 1e3 * np.percentile(self.loop_times, (50, 99, 100))
            figures["loop time median [ms]"] = f"{median:.3f}"
            figures["loop time 99 % [ms]"] = f"{high:.3f}"
            figures["loop time largest [ms]"] = f"{largest:.3f}"
            figures["gate mean"] = f"{np.mean(self.gates):.3f}"
        return figures


def diagnostic_array(
    name: str, hardware: str, level: bytes, message: str, values: Mapping[str, str]
) -> DiagnosticArray:
    """Return a message with one status.

    Parameters
    ----------
    name : str
        Of the node.
    hardware : str
        Identity of the arm.
    level : bytes
        One of DiagnosticStatus's constants.
    message : str
        The state in a few words.
    values : mapping of str to str
        Details.
    """
    status = DiagnosticStatus(
        name=name,
        hardware_id=hardware,
        level=level,
        message=message,
        values=[KeyValue(key=key, value=value) for key, value in values.items()],
    )
    return DiagnosticArray(status=[status])
