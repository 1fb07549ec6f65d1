# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Smoothed motion and torque at the middle of each block of control cycles."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ilr_dynamics.arrays import FloatArray

__all__ = ["MotionBlocks", "SmoothedMotion"]

# Deviation of a block's duration from the nominal one from which on it is not used.
IRREGULAR = 0.2
DEGREE = 4


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
        Largest magnitude of a torque around that instant, Nm.
    """

    position: FloatArray
    velocity: FloatArray
    acceleration: FloatArray
    torque: FloatArray
    torque_rate: FloatArray
    largest_torque: FloatArray


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
    n_left_out : int
        Cycles between one block and the next.
    """

    def __init__(self, n_joints: int, n_cycles: int, period: float, n_left_out: int = 0) -> None:
        self._n_left_out = n_left_out
        self._duration = (n_cycles - 1) * period
        offsets = period * (np.arange(n_cycles) - 0.5 * (n_cycles - 1))
        powers = np.vander(offsets, DEGREE + 1, increasing=True)
        # Value, slope and curvature at the middle.
        self._filter = np.linalg.pinv(powers) * np.array([[1.0], [1.0], [2.0], [6.0], [24.0]])
        self._positions = np.empty((n_cycles, n_joints))
        self._torques = np.empty((n_cycles, n_joints))
        self.restart()

    def restart(self) -> None:
        """Begin a new block."""
        self._n = 0

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
        n = self._n
        if n < 0:
            self._n = n + 1
            return None
        if n == 0:
            self._start = time
        self._positions[n], self._torques[n] = position, torque
        self._n = n + 1
        if self._n < len(self._positions):
            return None
        self._n = -self._n_left_out
        if abs(time - self._start - self._duration) > IRREGULAR * self._duration:
            return None
        position, velocity, acceleration = self._filter[:3] @ self._positions
        torques = self._torques
        torque, rate = self._filter[:2] @ torques
        return SmoothedMotion(
            position,
            velocity,
            acceleration,
            torque,
            rate,
            np.abs(torques).max(axis=0),
        )
