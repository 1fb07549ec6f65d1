# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Smoothed motion and torque at the middle of blocks of control cycles."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ilr_dynamics.arrays import FloatArray

__all__ = ["MotionBlocks", "SmoothedMotion"]

# Deviation of a block's duration from the nominal one from which on it is not used.
IRREGULAR = 0.2
DEGREE = 4
# Rows of memory for one of a block: so seldom the newest ones are moved to its beginning.
ROWS = 8
# Parts of a block whose mean velocities are told.
PARTS = 6


class SmoothedMotion(NamedTuple):
    """
    Motion at one instant, all of shape (n_joints,).

    Attributes
    ----------
    position, velocity, acceleration
        rad, rad/s, rad/s^2.
    torque, torque_rate
        Torque that caused it, Nm, and its rate, Nm/s.
    largest_torque
        Largest magnitude of a torque in the block, Nm.
    parts : ndarray of shape (n_parts, n_joints)
        Mean velocity in each part of the block, rad/s.
    """

    position: FloatArray
    velocity: FloatArray
    acceleration: FloatArray
    torque: FloatArray
    torque_rate: FloatArray
    largest_torque: FloatArray
    parts: FloatArray


class MotionBlocks:
    """
    Least-squares polynomial through the positions and torques of each block of cycles.

    Positions, velocities and torques are smoothed alike and without delay, as those that a model
    learns from (Savitzky and Golay's filter), but only once a block.

    Parameters
    ----------
    n_joints : int
        Number of joints.
    n_cycles : int
        Cycles of a block, at least four.
    period : float
        Nominal time between cycles, s.
    every : int, optional
        Cycles from the end of one block to that of the next; blocks overlap if it is less than
        `n_cycles`, which is the default.

    Attributes
    ----------
    part_weights : ndarray of shape (n_parts,)
        Weights of the parts of a block in smoothed values; their sum is one.
    """

    def __init__(
        self, n_joints: int, n_cycles: int, period: float, every: int | None = None
    ) -> None:
        self._n_joints, self._n_cycles, self._every = n_joints, n_cycles, every or n_cycles
        self._duration = (n_cycles - 1) * period
        offsets = period * (np.arange(n_cycles) - 0.5 * (n_cycles - 1))
        powers = np.vander(offsets, DEGREE + 1, increasing=True)
        # Value, slope and curvature at the middle.
        self._ends = np.linspace(0, n_cycles - 1, PARTS + 1).round().astype(np.intp)
        self._lengths = period * np.diff(self._ends)[:, np.newaxis]
        derivatives = np.linalg.pinv(powers) * np.array([[1.0], [1.0], [2.0], [6.0], [24.0]])
        self._filter = derivatives[:3]
        # The cycle at which two parts meet counts half for either.
        total = np.cumsum(self._filter[0])
        self.part_weights = np.diff((total - 0.5 * self._filter[0])[self._ends])
        self.part_weights[[0, -1]] += 0.5 * self._filter[0, [0, -1]]
        # Time, positions and torques of the newest cycles.
        self._rows = np.empty((ROWS * n_cycles, 1 + 2 * n_joints))
        self.restart()

    def restart(self) -> None:
        """Begin a new block."""
        self._n = 0
        self._missing = self._n_cycles

    def add(self, time: float, position: FloatArray, torque: FloatArray) -> SmoothedMotion | None:
        """
        Add one cycle.

        Parameters
        ----------
        time : float
            Stamp of the joint state, s.
        position : ndarray of shape (n_joints,)
            Measured position, rad.
        torque : ndarray of shape (n_joints,)
            Torque at work at that time, Nm.

        Returns
        -------
        SmoothedMotion or None
            That at the middle of the block which this cycle ends, if the cycles came regularly.
        """
        rows, n_joints = self._rows, self._n_joints
        if self._n == len(rows):
            rows[: self._n_cycles] = rows[-self._n_cycles :]
            self._n = self._n_cycles
        row = rows[self._n]
        row[0], row[1 : 1 + n_joints], row[1 + n_joints :] = time, position, torque
        self._n += 1
        self._missing -= 1
        if self._missing > 0:
            return None
        self._missing = self._every
        block = rows[self._n - self._n_cycles : self._n]
        if abs(time - block[0, 0] - self._duration) > IRREGULAR * self._duration:
            return None
        value, first, second = self._filter @ block[:, 1:]
        at_ends = block[self._ends, 1 : 1 + n_joints]
        return SmoothedMotion(
            value[:n_joints],
            first[:n_joints],
            second[:n_joints],
            value[n_joints:],
            first[n_joints:],
            np.abs(block[:, 1 + n_joints :]).max(axis=0),
            (at_ends[1:] - at_ends[:-1]) / self._lengths,
        )
