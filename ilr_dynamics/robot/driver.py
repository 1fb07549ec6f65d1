# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Driver of the simulated arm: checks torque commands, holds the last one, applies brakes."""

from __future__ import annotations

from collections import Counter
from enum import Enum
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ilr_dynamics.arrays import FloatArray, read_only

__all__ = ["DriverEvent", "EventKind", "TorqueDriver"]

_ROUNDING = 1e-9


class EventKind(Enum):
    """Kind of a fault in the commands."""

    WRONG_SIZE = "wrong size"
    NOT_FINITE = "not finite"
    BEYOND_LIMITS = "beyond limits"
    LATE = "late"
    MISSING = "missing"
    BRAKED = "braked"


class DriverEvent(NamedTuple):
    """Fault in the commands, with a text for the log."""

    kind: EventKind
    message: str


class TorqueDriver:
    """
    Watchdog between the torque commands of a controller and the drives of an arm.

    A command that is malformed, beyond the torque limits or late is refused. Without a new valid
    command the last one is held for a short time; then the brakes are applied, as they are at
    first. The next valid command releases them.

    Parameters
    ----------
    torque_limit : array_like of shape (n_joints,)
        Largest torque of each joint [Nm].
    hold_time : float
        Largest age of the joint state that a command answers [s].

    Attributes
    ----------
    counts : Counter of EventKind
        Number of events of each kind.
    """

    def __init__(self, torque_limit: ArrayLike, hold_time: float = 0.02) -> None:
        self.counts: Counter[EventKind] = Counter()
        self._limit = read_only(torque_limit)
        self._hold_time = hold_time
        self._torque: FloatArray | None = None
        self._stamp = -np.inf

    @property
    def braked(self) -> bool:
        """Whether the brakes are on."""
        return self._torque is None

    def brake(self) -> None:
        """Apply the brakes and discard the last command, without an event."""
        self._torque = None

    def receive(self, now: float, stamp: float, torque: ArrayLike) -> DriverEvent | None:
        """
        Accept or refuse a command.

        Parameters
        ----------
        now : float
            Time of the newest joint state [s].
        stamp : float
            Time of the joint state that the command answers [s].
        torque : array_like of shape (n_joints,)
            Commanded torque [Nm].

        Returns
        -------
        DriverEvent or None
            Reason why the command was refused; None if it was accepted.
        """
        command = read_only(torque)
        event = self._fault(now, stamp, command)
        if event is None:
            self._torque, self._stamp = command, stamp
        return event and self._count(event)

    def torque(self, now: float) -> tuple[FloatArray | None, DriverEvent | None]:
        """
        Return the torque for the drives.

        Parameters
        ----------
        now : float
            Time of the newest joint state [s].

        Returns
        -------
        torque : ndarray of shape (n_joints,) or None
            Torque [Nm]; None while the brakes are applied.
        event : DriverEvent or None
            Event if a command was missing, whether the last one was held or the brakes applied.
        """
        if self._torque is None:
            return None, None
        age = now - self._stamp
        if age > self._hold_time + _ROUNDING:
            self._torque = None
            message = f"no valid torque for {age * 1e3:.1f} ms: brakes on"
            return None, self._count(DriverEvent(EventKind.BRAKED, message))
        if age > _ROUNDING:
            message = f"no torque for the newest state: held the one of {age * 1e3:.1f} ms ago"
            return self._torque, self._count(DriverEvent(EventKind.MISSING, message))
        return self._torque, None

    def _fault(self, now: float, stamp: float, command: FloatArray) -> DriverEvent | None:
        if command.shape != self._limit.shape:
            message = f"torque has shape {command.shape}, expected {self._limit.shape}"
            return DriverEvent(EventKind.WRONG_SIZE, message)
        if not np.isfinite(command).all():
            message = f"torque is {command.tolist()}, expected finite numbers"
            return DriverEvent(EventKind.NOT_FINITE, message)
        if (np.abs(command) > self._limit + _ROUNDING).any():
            message = f"torque is {command.tolist()}, expected within +-{self._limit.tolist()}"
            return DriverEvent(EventKind.BEYOND_LIMITS, message)
        age = now - stamp
        if abs(age) > self._hold_time + _ROUNDING or stamp < self._stamp:
            message = (
                f"torque answers a state of {age * 1e3:.1f} ms ago, expected at most "
                f"{self._hold_time * 1e3:.1f} ms and not older than the last"
            )
            return DriverEvent(EventKind.LATE, message)
        return None

    def _count(self, event: DriverEvent) -> DriverEvent:
        self.counts[event.kind] += 1
        return event
