# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Diagnostics of the control loop: statistics of its cycles, status level, text and warnings."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from diagnostic_msgs.msg import DiagnosticStatus

from ilr_dynamics.arrays import FloatArray
from ilr_dynamics.control import Command, Mode

__all__ = ["TRUSTED", "LoopState", "LoopStatistics", "input_warnings", "loop_status"]

# Share of the learned torque below which a cycle counts as one without trust in the model.
TRUSTED = 0.5
# Share of the nominal rate below which a warning is given: the torque rate limit applies per
# state, so the torque then changes more slowly.
ENOUGH_STATES = 0.8


@dataclass
class LoopStatistics:
    """
    Statistics since the last `take`.

    Attributes
    ----------
    loop_times : list of float
        Time from receipt of a joint state to publication of its torque, for each cycle, s.
    look_ahead_times : list of float
        Time spent afterwards on the feed-forward of the next cycle, for each cycle, s.
    prepared : int
        Number of cycles whose feed-forward had been evaluated ahead.
    gates, unseen : list of float
        Share of the learned torque and weight of the unseen component, for each cycle with a
        learned model.
    largest_std : float
        Largest predicted standard deviation of a joint's torque, Nm.
    limited, saturated : int
        Number of cycles in which a torque or rate limit acted, and of those at a torque limit.
    unusable : int
        Number of joint states that were not answered.
    largest_gap : float
        Longest time between two answered joint states by their stamps, s.
    """

    loop_times: list[float] = field(default_factory=list)
    look_ahead_times: list[float] = field(default_factory=list)
    prepared: int = 0
    gates: list[float] = field(default_factory=list)
    unseen: list[float] = field(default_factory=list)
    largest_std: float = 0.0
    limited: int = 0
    saturated: int = 0
    unusable: int = 0
    largest_gap: float = 0.0
    _receipts: list[float] = field(default_factory=list)
    _last_time: float | None = None
    _since: float | None = None
    _intervals: int = 0

    def add(
        self,
        command: Command,
        received: float,
        loop_time: float,
        *,
        learned: bool,
        saturated: bool,
    ) -> None:
        """
        Add one cycle.

        Parameters
        ----------
        command : Command
            Command of the cycle.
        received : float
            Time of receipt of the joint state by a steady clock, s.
        loop_time : float
            Time from receipt to publication of the torque, s.
        learned : bool
            Whether a learned model was in use.
        saturated : bool
            Whether a joint's torque is at its limit.
        """
        self.loop_times.append(loop_time)
        self.prepared += command.prepared
        self._receipts.append(received)
        if learned:
            self.gates.append(command.feedforward.gate)
            self.unseen.append(command.feedforward.unseen_weight)
            self.largest_std = max(self.largest_std, *command.feedforward.std.tolist())
        self.limited += command.limited
        self.saturated += saturated
        if self._last_time is None:
            self._since = command.time
        else:
            self._intervals += 1
            self.largest_gap = max(self.largest_gap, command.time - self._last_time)
        self._last_time = command.time

    @property
    def unsure(self) -> int:
        """Number of cycles in which the share of the learned torque was below `TRUSTED`."""
        return sum(gate < TRUSTED for gate in self.gates)

    @property
    def stamped_rate(self) -> float | None:
        """Rate of answered joint states by their stamps, Hz; None if it cannot be determined."""
        if self._last_time is None or self._since is None or self._last_time <= self._since:
            return None
        return self._intervals / (self._last_time - self._since)

    def lag(self, clock: float, steady: float) -> float | None:
        """
        Lag of the last stamp behind a clock at its receipt, s; None if none came lately.

        Parameters
        ----------
        clock, steady : float
            Present time by that clock, and by the steady clock of receipts, s.
        """
        if not self.loop_times or self._last_time is None:
            return None
        return clock - self._last_time - (steady - self._receipts[-1])

    def take(self) -> LoopStatistics:
        """Return these statistics and start new ones, with the gap to the last cycle."""
        taken = replace(self)
        self._clear()
        return taken

    def restart(self) -> None:
        """Start new statistics, without a gap between the last cycle and the next one."""
        self._clear()
        self._receipts = []
        self._last_time = self._since = None

    def _clear(self) -> None:
        # New lists, as the old ones may have been taken.
        self.loop_times, self.look_ahead_times, self.gates, self.unseen = [], [], [], []
        self._receipts = self._receipts[-1:]
        self._since, self._intervals = self._last_time, 0
        self.prepared = self.limited = self.saturated = self.unusable = 0
        self.largest_gap = self.largest_std = 0.0

    def summary(self, period: float) -> dict[str, str]:
        """Return the statistics as texts; ``period`` is the time of the statistics, s."""
        cycles = len(self.loop_times)
        figures = {
            "rate [Hz]": f"{cycles / period:.1f}",
            "largest gap [ms]": f"{1e3 * self.largest_gap:.2f}",
            "cycles with a prepared feed-forward": str(self.prepared),
            "cycles that waited for the feed-forward": str(cycles - self.prepared),
            "cycles with a torque or rate limit": str(self.limited),
            "cycles at a torque limit": str(self.saturated),
            "unusable joint states": str(self.unusable),
        }
        if self.stamped_rate is not None:
            figures["rate by stamps [Hz]"] = f"{self.stamped_rate:.1f}"
        if len(self._receipts) > 2:
            receipts = np.array(self._receipts)
            intervals = np.sort(1e3 * (receipts[1:] - receipts[:-1]))
            jitter = np.sort(np.abs(intervals - _quantile(intervals, 0.5)))
            figures["jitter of receipt 99 % [ms]"] = f"{_quantile(jitter, 0.99):.3f}"
            figures["largest interval of receipt [ms]"] = f"{intervals[-1]:.3f}"
        for name, seconds in (
            ("loop time", self.loop_times),
            ("look-ahead", self.look_ahead_times),
        ):
            if seconds:
                times = np.sort(1e3 * np.array(seconds))
                median, high, largest = (_quantile(times, share) for share in (0.5, 0.99, 1.0))
                figures[f"{name} median [ms]"] = f"{median:.3f}"
                figures[f"{name} 99 % [ms]"] = f"{high:.3f}"
                figures[f"{name} largest [ms]"] = f"{largest:.3f}"
        if self.gates:
            figures["gate mean"] = f"{sum(self.gates) / len(self.gates):.3f}"
            figures["gate smallest"] = f"{min(self.gates):.3f}"
            figures["weight of the unseen mean"] = f"{sum(self.unseen) / len(self.unseen):.3f}"
            figures["predicted std largest [Nm]"] = f"{self.largest_std:.3f}"
            figures["cycles without trust in the model"] = str(self.unsure)
        return figures


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


def _quantile(ordered: FloatArray, share: float) -> float:
    """
    Quantile of sorted values (n,), with linear interpolation.

    It replaces ``np.quantile``, which runs much Python code. Called once per second that is never
    in the caches, and joint states would have to wait.
    """
    place = share * (len(ordered) - 1)
    below = int(place)
    low, high = ordered[below], ordered[min(below + 1, len(ordered) - 1)]
    return float(low + (place - below) * (high - low))
