# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Whether the arm's driver does what it is told."""

from __future__ import annotations

from collections import deque

import numpy as np

from ilr_dynamics.arrays import FloatArray
from ilr_dynamics.control._comparisons import within

__all__ = ["DriverWatch"]

# Commands that the torque at work may be the answer to: a driver is a few cycles late.
_CYCLES = 10
# The first commands may not reach the driver: DDS takes some tenths of a second to connect it.
_CONNECTION_TIME = 1.0


class DriverWatch:
    """
    Compares the torques that a driver says are at work with the newest commands.

    A driver that has braked, has lost its bus or listens to somebody else goes on sending joint
    states. Its torques then leave the range of what it was told lately.

    Parameters
    ----------
    tolerance : ndarray of shape (n_joints,) or None
        How far outside that range a torque may be, Nm; None does not watch.
    timeout : float
        For how long it may be farther, s; until it was once within, at least a second.
    """

    def __init__(self, tolerance: FloatArray | None, timeout: float) -> None:
        self._tolerance = tolerance
        self._timeout = timeout
        self._first_timeout = max(timeout, _CONNECTION_TIME)
        self._commands: deque[FloatArray] = deque(maxlen=_CYCLES)
        self._since: float | None = None
        self._followed = False

    def reset(self) -> None:
        """Forget what was commanded."""
        self._commands.clear()
        self._since = None
        self._followed = False

    def commanded(self, torque: FloatArray) -> None:
        """Note a command (n_joints,), Nm."""
        self._commands.append(torque)

    def violation(
        self, time: float, effort: FloatArray | None, joints: tuple[str, ...]
    ) -> str | None:
        """
        Return what is wrong with the driver's answer, or None.

        Parameters
        ----------
        time : float
            Stamp of the joint state, s.
        effort : ndarray of shape (n_joints,) or None
            Torques at work by it, Nm; None where the driver does not tell.
        joints : tuple of str
            Names for the text.
        """
        if self._tolerance is None or len(self._commands) < _CYCLES:
            return None
        if effort is None:
            outside = np.full(len(joints), np.inf)
        elif within(effort - self._commands[-1], self._tolerance):
            # So near to one command it is as near to their range, whatever the others are.
            self._since, self._followed = None, True
            return None
        else:
            commands = np.array(self._commands)
            outside = np.maximum(commands.min(axis=0) - effort, effort - commands.max(axis=0))
        # Written so that a torque that is not a number is outside.
        if (outside <= self._tolerance).all():
            self._since, self._followed = None, True
            return None
        if self._since is None:
            self._since = time
        connected = self._followed or effort is None
        if time - self._since <= (self._timeout if connected else self._first_timeout):
            return None
        if effort is None:
            return (
                "the driver does not tell its torques: expected efforts in the joint states, or "
                "supervision.effort_error 0"
            )
        joint = int(np.argmax(np.nan_to_num(outside - self._tolerance, nan=np.inf)))
        return (
            f"the driver does not follow: its torque in joint {joints[joint]} is "
            f"{effort[joint]:.3g} Nm, commanded was {self._commands[-1][joint]:.3g} Nm"
        )
