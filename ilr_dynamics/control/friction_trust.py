# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
r"""
What of the compensated friction each joint of a guided arm may keep, by what it does with it.

A model errs by a tenth of a joint's friction or more, and in weight: with compensation that leaves
less than that of friction a joint may move by itself. Two shares, never above one, see to that.

A joint that slows down keeps less the more it does so: with the low-passed velocities u and w of a
short and a long time constant

.. math:: b = 1 - g \max\left(\frac{\operatorname{sgn}(u) (w - u)}{|w| + u_0}, 0\right)

A hand and a model that takes friction for larger by what a hand would bring move a joint alike:
no torque tells them apart, but what comes next does. A hand that lets go takes a force away, so
the joint loses some speed, if only a little. Then it keeps less compensation, slows down more, and
stands still soon; with a hand it goes on. A hand that slows a joint down is helped, and one that
turns it round or pushes harder has all. (A joint that is moved by its dither alone, and gains
speed, is not told from one that a hand has started.)

A joint at rest that creeps, moving in a tenth of a second but slowly, was moved by its dither or
by hardly anything else: of that it keeps a share less, and gets it back little by little while it
stands still. So the dither stays below what the joint sticks with where it is now, whatever the
model takes that for.
"""

from __future__ import annotations

import numpy as np

from ilr_dynamics.arrays import FloatArray

__all__ = ["FrictionTrust"]

# Time constants of the two velocities, s, and the speed that counts as none, rad/s.
SHORT, LONG, NO_SPEED = 0.02, 0.3, 0.01
# What is kept falls with the relative loss of speed by this.
GAIN = 2.0
# How often creeping is looked for, s: twice a period of the dither. A joint creeps that moves by
# more than the first, rad, slower than the second, rad/s.
INTERVAL, STILL, SLOW = 0.1, 0.0001, 0.03
# Share that a joint keeps that creeps, what it gets back while it stands still, and the least.
KEPT, BACK, LEAST = 0.97, 0.002, 0.8
# After a longer time without a state all begins anew, s.
GAP = 0.1


class FrictionTrust:
    """
    Shares of each joint's compensated friction, from its motion.

    Attributes
    ----------
    moving, resting : ndarray of shape (n_joints,) or float
        Share that is kept of what is compensated of a joint in motion, and of the dither of one at
        rest, from 0 to 1.
    """

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Begin anew: all of it is kept."""
        self.moving: FloatArray | float = 1.0
        self.resting: FloatArray | float = 1.0
        self._time = -np.inf

    def observe(self, time: float, position: FloatArray, velocity: FloatArray) -> None:
        """
        Observe a joint state; one that was seen before, or is not finite, changes nothing.

        Parameters
        ----------
        time : float
            Its stamp, s.
        position, velocity : ndarray of shape (n_joints,)
            Measured position and velocity, rad and rad/s.
        """
        elapsed = time - self._time
        # What is no number would stay in the low-passed velocities.
        if elapsed == 0.0 or not np.isfinite(position + velocity).all():
            return
        self._time = time
        if not 0.0 < elapsed <= GAP:
            self._short = self._long = velocity
            self._since, self._before = time, position
            self._trusted = np.ones_like(position)
            self.moving = self.resting = self._trusted
            return
        self._short = self._short + min(elapsed / SHORT, 1.0) * (velocity - self._short)
        self._long = self._long + min(elapsed / LONG, 1.0) * (velocity - self._long)
        direction = np.minimum(np.maximum(self._short / NO_SPEED, -1.0), 1.0)
        loss = direction * (self._long - self._short) / (np.abs(self._long) + NO_SPEED)
        self.moving = np.maximum(1.0 - GAIN * np.maximum(loss, 0.0), 0.0)
        if time - self._since >= INTERVAL:
            self._judge(time - self._since, np.abs(position - self._before))
            self._since, self._before = time, position
        # Without a step.
        self.resting = self.resting + min(elapsed / SHORT, 1.0) * (self._trusted - self.resting)

    def _judge(self, elapsed: float, distance: FloatArray) -> None:
        """Trust joints less that have crept, and those a little more that stood still."""
        stands = distance <= STILL
        creeps = ~stands & (distance < SLOW * elapsed)
        trusted = np.where(creeps, KEPT * self._trusted, self._trusted + BACK * stands)
        self._trusted = np.minimum(np.maximum(trusted, LEAST), 1.0)
