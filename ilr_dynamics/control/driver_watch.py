# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Monitor of the driver: reported torques compared with the latest commands."""

from __future__ import annotations

from collections import deque

import numpy as np

from ilr_dynamics.arrays import FloatArray
from ilr_dynamics.control._comparisons import within

__all__ = ["DriverWatch"]

# Number of latest commands the applied torque may correspond to: a driver is a few cycles late.
_CYCLES = 10
# The first commands may not reach the driver: DDS takes some tenths of a second to connect it.
_CONNECTION_TIME = 1.0


class DriverWatch:
    """
    Compares the torques that a driver reports as applied with the latest commands.

    A driver that has braked, has lost its bus or follows another controller goes on sending joint
    states. Its torques then leave the range of the latest commands.

    Parameters
    ----------
    tolerance : ndarray of shape (n_joints,) or None
        Largest distance of a torque from that range, Nm; None disables the check.
    timeout : float
        Time for which the distance may be exceeded, s. Before the driver has followed once this
        is at least a second.
    """

    def __init__(self, tolerance: FloatArray | None, timeout: float) -> None:
        self._tolerance = tolerance
        self._timeout = timeout
        self._first_timeout = max(timeout, _CONNECTION_TIME)
        self._commands: deque[FloatArray] = deque(maxlen=_CYCLES)
        self._since: float | None = None
        self._followed = False

    def reset(self) -> None:
        """Forget all commands."""
        self._commands.clear()
        self._since = None
        self._followed = False

    def commanded(self, torque: FloatArray) -> None:
        """Record a command (n_joints,), Nm."""
        self._commands.append(torque)

    def violation(
        self, time: float, effort: FloatArray | None, joints: tuple[str, ...]
    ) -> str | None:
        """
        Return a description of the driver's failure to follow, or None.

        Parameters
        ----------
        time : float
            Stamp of the joint state, s.
        effort : ndarray of shape (n_joints,) or None
            Applied torques in the joint state, Nm; None where the driver reports none.
        joints : tuple of str
            Names of the joints, for the text.
        """
        if self._tolerance is None or len(self._commands) < _CYCLES:
            return None
        if effort is None:
            outside = np.full(len(joints), np.inf)
        elif within(effort - self._commands[-1], self._tolerance):
            # Close to one command means close to the range of all: no need to compute the range.
            self._since, self._followed = None, True
            return None
        else:
            commands = np.array(self._commands)
            outside = np.maximum(commands.min(axis=0) - effort, effort - commands.max(axis=0))
        # With this form of the comparison a NaN counts as outside.
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
                "the driver reports no torques: expected efforts in the joint states, or "
                "supervision.effort_error 0"
            )
        joint = int(np.argmax(np.nan_to_num(outside - self._tolerance, nan=np.inf)))
        return (
            f"the driver does not follow: its torque in joint {joints[joint]} is "
            f"{effort[joint]:.3g} Nm, commanded was {self._commands[-1][joint]:.3g} Nm"
        )
