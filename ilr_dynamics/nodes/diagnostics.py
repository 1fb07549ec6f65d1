# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""What /diagnostics says about the control loop."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue

from ilr_dynamics.control import Mode
from ilr_dynamics.nodes.loop_statistics import TRUSTED, LoopStatistics

__all__ = [
    "LoopState",
    "diagnostic_array",
    "input_warnings",
    "loop_status",
]

# Share of the nominal rate below which it is said that joint states are rare: the torque then
# changes by so much less in a second.
ENOUGH_STATES = 0.8


@dataclass(frozen=True)
class LoopState:
    """
    What the control loop is doing now.

    Attributes
    ----------
    active : bool
        Whether torque goes out.
    mode : Mode
    fault : str
        What led to a fault.
    without_model : bool
        Whether a learned model is wanted and there is none.
    listeners : int
        Subscriptions to the torque.
    publishers : int
        Of joint states.
    publisher_names : tuple of str
        Nodes they belong to, as far as these are known.
    wrong_velocity : str
        What is wrong with the measured velocities.
    rate : float
        Nominal, of joint states, Hz.
    largest_lag : float
        How far a stamp may lie from the node's clock, s.
    """

    active: bool
    mode: Mode
    fault: str
    without_model: bool
    listeners: int
    publishers: int
    rate: float
    largest_lag: float
    publisher_names: tuple[str, ...] = ()
    wrong_velocity: str = ""

    @property
    def publishers_text(self) -> str:
        """Number of publishers of joint states, and their nodes."""
        names = ", ".join(self.publisher_names)
        return f"{self.publishers} publishers of joint states" + (f" ({names})" if names else "")


def input_warnings(
    state: LoopState, statistics: LoopStatistics, lag: float | None
) -> dict[str, str]:
    """
    Return what is wrong with the joint states that are answered, by kind.

    Parameters
    ----------
    state : LoopState
    statistics : LoopStatistics
    lag : float or None
        Of their stamps behind the node's clock, s, if one is known.
    """
    warnings = {}
    rate = statistics.stamped_rate
    if rate is not None and rate < ENOUGH_STATES * state.rate:
        warnings["rate"] = f"joint states at {rate:.0f} Hz instead of {state.rate:.0f} Hz"
    if lag is not None and abs(lag) > state.largest_lag:
        side = "behind" if lag > 0.0 else "ahead of"
        warnings["clock"] = f"joint states stamped {abs(lag):.3f} s {side} the node's clock"
    if state.publishers > 1:
        warnings["publishers"] = state.publishers_text
    if state.wrong_velocity:
        warnings["velocity"] = f"positions differentiated: {state.wrong_velocity}"
    return warnings


def loop_status(
    state: LoopState, statistics: LoopStatistics, lag: float | None = None
) -> tuple[bytes, str]:
    """Return a level of DiagnosticStatus, and the state in a few words; as `input_warnings`."""
    if not state.active:
        return DiagnosticStatus.OK, "not active"
    if state.mode is Mode.FAULT:
        # What is wrong with the joint states may be what led to it.
        found = [f"fault: {state.fault}", *input_warnings(state, statistics, lag).values()]
        return DiagnosticStatus.ERROR, ", ".join(found)
    cycles = len(statistics.loop_times)
    warnings = {
        "no joint states": not cycles,
        f"{statistics.unusable} joint states not answered": statistics.unusable,
        "nobody listens to the torque": not state.listeners,
        "a torque at its limit": statistics.saturated,
        "no model is loaded": state.without_model,
        "the learned model is not trusted": statistics.unsure > TRUSTED * cycles,
    }
    found = [text for text, holds in warnings.items() if holds]
    found += input_warnings(state, statistics, lag).values()
    level = DiagnosticStatus.WARN if found else DiagnosticStatus.OK
    return level, ", ".join([state.mode.name.lower(), *found])


def diagnostic_array(
    name: str, hardware: str, level: bytes, message: str, values: Mapping[str, str]
) -> DiagnosticArray:
    """
    Return a message with one status.

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
