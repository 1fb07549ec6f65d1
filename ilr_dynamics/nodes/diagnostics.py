# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Diagnostics of the control loop: status level, text and warnings."""

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

# Share of the nominal rate below which a warning is given: the torque rate limit applies per
# state, so the torque then changes more slowly.
ENOUGH_STATES = 0.8


@dataclass(frozen=True)
class LoopState:
    """
    Present state of the control loop.

    Attributes
    ----------
    active : bool
        Whether torque is sent.
    mode : Mode
        Mode of the controller.
    fault : str
        Cause of a fault.
    without_model : bool
        Whether the controller needs a learned model and none is loaded.
    listeners : int
        Number of subscriptions to the torque.
    publishers : int
        Number of publishers of joint states.
    publisher_names : tuple of str
        Their nodes, as far as these are known.
    wrong_velocity : str
        Description of wrong measured velocities; empty if they are right.
    rate : float
        Nominal rate of joint states, Hz.
    largest_lag : float
        Largest difference of a stamp from the node's clock, s.
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
    Return warnings about the joint states that are answered, by kind.

    Parameters
    ----------
    state : LoopState
        Present state of the loop.
    statistics : LoopStatistics
        Statistics since the last diagnostics.
    lag : float or None
        Lag of their stamps behind the node's clock, s, if it is known.

    Returns
    -------
    dict of str to str
        Texts by kind.
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
    """Return a level of DiagnosticStatus and a short text; parameters as in `input_warnings`."""
    if not state.active:
        return DiagnosticStatus.OK, "not active"
    if state.mode is Mode.FAULT:
        # Bad joint states may be the cause.
        found = [f"fault: {state.fault}", *input_warnings(state, statistics, lag).values()]
        return DiagnosticStatus.ERROR, ", ".join(found)
    cycles = len(statistics.loop_times)
    warnings = {
        "no joint states": not cycles,
        f"{statistics.unusable} joint states not answered": statistics.unusable,
        "no subscriber to the torque": not state.listeners,
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
        Name of the node.
    hardware : str
        Identity of the arm.
    level : bytes
        One of DiagnosticStatus's constants.
    message : str
        Short text.
    values : mapping of str to str
        Details.

    Returns
    -------
    DiagnosticArray
    """
    status = DiagnosticStatus(
        name=name,
        hardware_id=hardware,
        level=level,
        message=message,
        values=[KeyValue(key=key, value=value) for key, value in values.items()],
    )
    return DiagnosticArray(status=[status])
