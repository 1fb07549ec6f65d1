# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Check of measured velocities against the change of the measured positions."""

from __future__ import annotations

import math

import numpy as np

from ilr_dynamics.arrays import FloatArray

__all__ = ["VelocityCheck"]

# Length of a block, s: long compared with the delay of filtered velocities (some tens of ms).
_BLOCK = 0.1
# Number of blocks in the regression, and of those in which a joint must have moved. A wrong
# velocity is detected after 0.6 s of motion; one that goes wrong during it, within a second.
_BLOCKS, _MOVING = 8, 5
# Least motion in a block, rad: twice the step of an encoder with 4096 counts and no gear.
_MOTION = 0.003
# Bounds of velocity over change of position. A wrong gear ratio (half, twice) or unit (0.16 for
# revolutions per second, 57 for degrees) is outside. Noise is too small to get there, and the
# attenuation by a filter at reversals is compensated (`_smallest`).
_SMALLEST, _LARGEST = 0.65, 1.4
# Time constant t of the slowest filter of velocities, s. Of a motion at w rad/s a first-order
# filter leaves 1 / (1 + (w t)^2) in phase.
_FILTER = 0.05
# Standard errors by which a slope must be outside, twice in a row: velocities may be noisy.
_ERRORS = 7.0
# Longest time between two states over which the velocity counts as constant, in blocks.
_LONGEST_STEP = 0.3


class VelocityCheck:
    """
    Regression of measured velocities on the change of the positions, over blocks of time.

    Over the blocks in which a joint moves, its mean velocity is regressed on its change of
    position per time. The slope is one for a sound driver, zero for one that fills in zeros, and
    far from one, or negative, for a wrong unit or sign. A verdict stays until `reset`.

    Parameters
    ----------
    joints : tuple of str
        Names of the joints, for the text.

    Attributes
    ----------
    verdict : str
        Description of wrong velocities; empty as long as none are found.
    """

    def __init__(self, joints: tuple[str, ...]) -> None:
        self._joints = joints
        self.reset()

    def reset(self) -> None:
        """Forget all states and the verdict."""
        shape = (_BLOCKS, len(self._joints))
        self.verdict = ""
        self._moved = np.zeros(shape)
        self._measured = np.zeros(shape)
        self._blocks = 0
        self._suspect = np.zeros(len(self._joints), dtype=bool)
        self._sum = np.zeros(len(self._joints))
        self._start = self._last = -math.inf
        self._position = self._sum
        self._count = 0

    def add(self, time: float, position: FloatArray, velocity: FloatArray) -> bool:
        """
        Add a joint state, and return whether the velocities are wrong.

        Parameters
        ----------
        time : float
            Stamp of the state, s.
        position, velocity : ndarray of shape (n_joints,)
            Measured position and velocity, rad and rad/s; finite.
        """
        if self.verdict:
            return True
        step = time - self._last
        if not 0.0 < step <= _LONGEST_STEP * _BLOCK:
            # The motion in such a gap is unknown.
            self._begin(time, position)
            return False
        self._last = time
        self._sum += velocity
        self._count += 1
        if time - self._start >= _BLOCK:
            self._end(time, position)
        return bool(self.verdict)

    def _begin(self, time: float, position: FloatArray) -> None:
        self._start = self._last = time
        self._position = position
        self._sum[:] = 0.0
        self._count = 0

    def _end(self, time: float, position: FloatArray) -> None:
        duration = time - self._start
        change = position - self._position
        row = self._blocks % _BLOCKS
        still = ~(np.abs(change) > _MOTION)
        self._moved[row] = np.where(still, 0.0, change / duration)
        self._measured[row] = np.where(still, 0.0, self._sum / self._count)
        self._blocks += 1
        self._begin(time, position)
        if not still.all():
            self._judge()

    def _judge(self) -> None:
        moved, measured = self._moved, self._measured
        n_moving = np.count_nonzero(moved, axis=0)
        size = np.maximum((moved * moved).sum(axis=0), np.finfo(float).tiny)
        slope = (moved * measured).sum(axis=0) / size
        rest = ((measured - slope * moved) ** 2).sum(axis=0)
        error = _ERRORS * np.sqrt(rest / np.maximum(n_moving - 1, 1) / size)
        wrong = (slope + error < self._smallest(size)) | (slope - error > _LARGEST)
        wrong &= n_moving >= _MOVING
        sure = wrong & self._suspect
        self._suspect = wrong
        if sure.any():
            joint = int(np.argmax(sure))
            self.verdict = (
                f"the velocities of joint {self._joints[joint]} are {slope[joint]:.3g} times the "
                "change of its positions: expected 1, velocities in rad/s"
            )

    def _smallest(self, size: FloatArray) -> FloatArray:
        """Smallest slope of filtered velocities, of sums of squares ``size`` (n_joints,)."""
        change = np.diff(np.roll(self._moved, -self._blocks, axis=0), axis=0) / _BLOCK
        return np.asarray(_SMALLEST / (1.0 + _FILTER**2 * (change**2).sum(axis=0) / size))
