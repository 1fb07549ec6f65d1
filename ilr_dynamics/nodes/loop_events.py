# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Log messages of the control loop."""

from __future__ import annotations

import numpy as np

from ilr_dynamics.control import Command, JointLimits, Mode
from ilr_dynamics.nodes.event_log import EventLog
from ilr_dynamics.nodes.loop_statistics import TRUSTED

__all__ = ["LoopEvents"]


class LoopEvents:
    """
    Writes one log line for each event of the control loop, with the values that explain it.

    Parameters
    ----------
    log : EventLog
        Log of the node.
    """

    def __init__(self, log: EventLog) -> None:
        self._log = log
        self._mode = Mode.WAITING
        self._fault = ""

    def refused(self, reason: str) -> None:
        """Log that a joint state was not answered."""
        self._log.warning("joint state", f"joint state not answered: {reason}")

    def velocity_missing(self, cutoff: float) -> None:
        """Log that a joint state has no velocities."""
        self._log.info(
            "velocity",
            lambda: (
                "joint states have no velocities: positions are differentiated, with a low-pass "
                f"of {cutoff:g} Hz (velocity_filter.cutoff)"
            ),
        )

    def velocity_wrong(self, verdict: str, cutoff: float) -> None:
        """Log that measured velocities do not match the change of the positions."""
        self._log.warning(
            "wrong velocity",
            f"{verdict}; positions are differentiated from now on, with a low-pass of "
            f"{cutoff:g} Hz (velocity_filter.cutoff)",
        )

    def saturated(self, command: Command, limits: JointLimits) -> None:
        """Log that a torque is at its limit."""
        self._log.warning("torque limit", lambda: _saturation(command, limits))

    def trust(self, command: Command, fallback: str) -> None:
        """Log if the learned torque is too uncertain, so that the fallback is used."""
        if command.feedforward.gate < TRUSTED:
            self._log.warning("trust", lambda: _distrust(command, fallback))

    def mode(self, mode: Mode, fault: str) -> None:
        """
        Log a change of the mode, or of the fault.

        Between two calls a request can end a fault and another fault follow.
        """
        if mode is self._mode and fault == self._fault:
            return
        text = f"{self._mode.name.lower()} -> {mode.name.lower()}"
        self._mode, self._fault = mode, fault
        if mode is Mode.FAULT:
            self._log.error("fault", f"{text}: {fault}")
        else:
            self._log.info(f"mode {text}", text)


def _saturation(command: Command, limits: JointLimits) -> str:
    at_limit = np.abs(command.torque) >= limits.torque
    names = ", ".join(np.array(limits.joints)[at_limit])
    wanted = command.feedforward.torque + command.pd
    return (
        f"torque at its limit in {names}: wanted {_text(wanted[at_limit])} Nm, limited to "
        f"{_text(limits.torque[at_limit])} Nm"
    )


def _distrust(command: Command, fallback: str) -> str:
    feedforward = command.feedforward
    return (
        f"the learned torque is too uncertain at {_text(command.reference.position)} rad: "
        f"share {feedforward.gate:.2f} of it used (weight of the unseen component "
        f"{feedforward.unseen_weight:.2f}, std {_text(feedforward.std)} Nm), fallback: {fallback}"
    )


def _text(values: np.ndarray) -> str:
    return "[" + ", ".join(f"{value:.3g}" for value in values) + "]"
