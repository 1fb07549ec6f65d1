# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Payload observer: samples for the payload estimator from the cycles of the control loop."""

from __future__ import annotations

import numpy as np

from ilr_dynamics.arrays import FloatArray
from ilr_dynamics.control.command import Command
from ilr_dynamics.control.feedforward import FeedForward
from ilr_dynamics.control.joint_path import Reference
from ilr_dynamics.control.modes import Mode
from ilr_dynamics.control.motion_blocks import MotionBlocks
from ilr_dynamics.robot.payload_dynamics import PayloadDynamics
from ilr_dynamics.robot.payload_estimator import PayloadEstimator

__all__ = ["PayloadObserver"]

# Length of the filter on positions and torques, s, as that of samples that a model learns from.
WINDOW = 0.06
# Time from one sample to the next, s: neighbours tell much the same.
SAMPLE_PERIOD = 0.1
# Modes in which nobody but the controller moves the arm.
OBSERVED = (Mode.HOLDING, Mode.TRACKING, Mode.STOPPING)


class PayloadObserver:
    """
    Compares the torques that were sent with those that the model of the arm expects.

    Parameters
    ----------
    estimator : PayloadEstimator
        Learns from each sample.
    dynamics : PayloadDynamics
        Of the arm.
    torque_limit : ndarray of shape (n_joints,)
        Largest torques, Nm: beyond, nobody knows what the arm was given.
    least_std : ndarray of shape (n_joints,)
        Deviation of torques that even the best model has, Nm.
    period : float
        Nominal time between joint states, s.

    Attributes
    ----------
    n_saturated, n_at_rest, n_used : int
        Number of blocks since the last restart that were not used because of saturated torques
        or because the arm was at rest, and of those that were used.
    """

    def __init__(
        self,
        estimator: PayloadEstimator,
        dynamics: PayloadDynamics,
        torque_limit: FloatArray,
        least_std: FloatArray,
        period: float,
    ) -> None:
        self.estimator = estimator
        self._dynamics = dynamics
        self.torque_limit = torque_limit
        self._least_variance = least_std**2
        n_joints = len(torque_limit)
        n_cycles = max(round(WINDOW / period), 8)
        every = max(round(SAMPLE_PERIOD / period), n_cycles)
        self._duration = every * period
        self._blocks = MotionBlocks(n_joints, n_cycles, period, every)
        self.restart()

    @property
    def motion(self) -> float:
        """Duration of the motion that the estimate is made of, s."""
        return self.estimator.n_samples * self._duration

    def restart(self) -> None:
        """Forget all that was seen."""
        self.estimator.restart()
        self.n_saturated = self.n_at_rest = self.n_used = 0
        self.interrupt()

    def interrupt(self) -> None:
        """Begin a new block: what follows does not continue what was before."""
        self._blocks.restart()
        self._last: FloatArray | None = None
        self._second_last: FloatArray | None = None

    def add(self, command: Command, feedforward: FeedForward) -> None:
        """
        Observe one cycle, after its torque was sent.

        Parameters
        ----------
        command : Command
            Of the cycle.
        feedforward : FeedForward
            Model of the arm without a payload.
        """
        if command.mode not in OBSERVED:
            self.interrupt()
            return
        last, second_last = self._last, self._second_last
        self._last, self._second_last = command.torque, last
        if last is None or second_last is None:
            return
        # A command acts from the next state to the one after: about this one, half each.
        motion = self._blocks.add(command.time, command.position, 0.5 * (last + second_last))
        if motion is None:
            return
        if (motion.largest_torque >= self.torque_limit).any():
            self.n_saturated += 1
            return
        state = Reference(motion.position, motion.velocity, motion.acceleration)
        expected = feedforward(state)
        used = self.estimator.add(
            motion.position,
            motion.velocity,
            self._dynamics.columns(*state),
            motion.torque - expected.torque,
            np.sqrt(expected.std**2 + self._least_variance),
        )
        self.n_used += used
        self.n_at_rest += not used
