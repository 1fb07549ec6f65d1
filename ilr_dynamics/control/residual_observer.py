# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Residual observer: torques that a model of the arm does not expect, from the control cycles."""

from __future__ import annotations

from typing import NamedTuple

from ilr_dynamics.arrays import FloatArray
from ilr_dynamics.control.command import Command
from ilr_dynamics.control.feedforward import FeedForward
from ilr_dynamics.control.joint_path import Reference
from ilr_dynamics.control.modes import Mode
from ilr_dynamics.control.motion_blocks import MotionBlocks
from ilr_dynamics.robot.payload_dynamics import PayloadDynamics

__all__ = ["ResidualObserver", "ResidualSample"]

# Length of the filter on positions and torques, s, as that of samples that a model learns from.
WINDOW = 0.06
# Time from one sample to the next, s: neighbours tell much the same.
SAMPLE_PERIOD = 0.1
# Modes in which nobody but the controller moves the arm.
OBSERVED = (Mode.HOLDING, Mode.TRACKING, Mode.STOPPING)


class ResidualSample(NamedTuple):
    """
    Torque that a model of the arm does not expect; arrays of shape (n_joints,).

    Attributes
    ----------
    position, velocity
        State of the arm, rad and rad/s.
    torque_rate
        Rate of the torque, Nm/s.
    columns
        Torque per unit of each inertial parameter of a payload (n_joints, 10).
    residual
        Torque beyond what the model expects of the arm without a payload, Nm.
    std
        Deviation that the model expects of itself, Nm; zero of one that states none.
    gate
        Share of a learned torque in what is expected.
    common_doubt
        Part of `std` that may be one error of all torques, Nm; all of it where the model does not
        tell it from the rest.
    """

    position: FloatArray
    velocity: FloatArray
    torque_rate: FloatArray
    columns: FloatArray
    residual: FloatArray
    std: FloatArray
    gate: float
    common_doubt: FloatArray


class ResidualObserver:
    """
    Compares the torques that were sent with those that a model of the arm expects.

    Parameters
    ----------
    dynamics : PayloadDynamics
        Of the arm.
    torque_limit : ndarray of shape (n_joints,)
        Largest torques, Nm: beyond, nobody knows what the arm was given.
    period : float
        Nominal time between joint states, s.

    Attributes
    ----------
    sample_period : float
        Time from one sample to the next, s.
    n_saturated : int
        Number of blocks since the last restart that were not used because of saturated torques.
    """

    def __init__(self, dynamics: PayloadDynamics, torque_limit: FloatArray, period: float) -> None:
        self._dynamics = dynamics
        self.torque_limit = torque_limit
        n_cycles = max(round(WINDOW / period), 8)
        every = max(round(SAMPLE_PERIOD / period), n_cycles)
        self.sample_period = every * period
        self._blocks = MotionBlocks(len(torque_limit), n_cycles, period, every)
        self.restart()

    def restart(self) -> None:
        """Begin a new block, and count anew."""
        self.n_saturated = 0
        self.interrupt()

    def interrupt(self) -> None:
        """Begin a new block: what follows does not continue what was before."""
        self._blocks.restart()
        self._last: FloatArray | None = None
        self._second_last: FloatArray | None = None

    def add(self, command: Command, feedforward: FeedForward) -> ResidualSample | None:
        """
        Observe one cycle, after its torque was sent.

        Parameters
        ----------
        command : Command
            Of the cycle.
        feedforward : FeedForward
            Model of the arm without a payload.

        Returns
        -------
        ResidualSample or None
            That at the middle of the block which this cycle ends.
        """
        if command.mode not in OBSERVED:
            self.interrupt()
            return None
        last, second_last = self._last, self._second_last
        self._last, self._second_last = command.torque, last
        if last is None or second_last is None:
            return None
        # A command acts from the next state to the one after: about this one, half each.
        motion = self._blocks.add(command.time, command.position, 0.5 * (last + second_last))
        if motion is None:
            return None
        if (motion.largest_torque >= self.torque_limit).any():
            self.n_saturated += 1
            return None
        state = Reference(motion.position, motion.velocity, motion.acceleration)
        expected = feedforward(state)
        return ResidualSample(
            motion.position,
            motion.velocity,
            motion.torque_rate,
            self._dynamics.columns(*state),
            motion.torque - expected.torque,
            expected.std,
            expected.gate,
            expected.std if expected.common_doubt is None else expected.common_doubt,
        )
