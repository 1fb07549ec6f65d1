# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
r"""
External torque: what acts on the joints beside the drives, by a model that knows its own doubt.

Positions and torques of the last 60 ms are smoothed as those that the model learned from
(`MotionBlocks`), which gives position, velocity, acceleration and torque :math:`\tau` at the
middle of that time. With the model's expectation m the torque from outside is

.. math::
    \tau_\mathrm{ext} = m(q, \dot q, \ddot q) - \tau

The model's deviation depends on the velocity, as a joint that sticks may have any friction. What
it errs by has two parts: that of a joint that slips, :math:`s_1`, which is taken for normal and is
at least what every model errs by, and what friction adds near rest, of deviation :math:`s_0`,
which is bounded as friction is: as that of a uniform distribution, by :math:`\sqrt 3` deviations.
Where a joint was slow in one of the parts p of the 60 ms, with the velocities :math:`v_p` and the
weights :math:`w_p` of the filter, the model is asked for either direction, and friction and its
bound are smoothed as all else is:

.. math::
    m = \tfrac12 (m_+ + m_-) + \tfrac12 (m_+ - m_-) \sum_p w_p \operatorname{sat}(v_p / v_t),
    \qquad b = \sqrt 3 s_0 \sum_p \frac{|w_p|}{\sqrt{1 + v_p^2 / v_r^2}}

It is called contact where :math:`|\tau_\mathrm{ext}| > u s_1 + b` in any joint. N looks at n
joints find a normal variable beyond u deviations at most :math:`2 n N Q(u)` times, however the
looks depend on each other (Boole's inequality), with Q the tail of the normal distribution. So u
follows from the rate of alarms that is asked for.
"""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from ilr_dynamics.arrays import FloatArray
from ilr_dynamics.control._comparisons import all_finite
from ilr_dynamics.control.command import Command
from ilr_dynamics.control.feedforward import FeedForward, FeedForwardTorque, Predictor
from ilr_dynamics.control.joint_path import Reference
from ilr_dynamics.control.modes import Mode
from ilr_dynamics.control.motion_blocks import MotionBlocks, SmoothedMotion
from ilr_dynamics.exceptions import InvalidParameterError

__all__ = ["ExternalTorque", "ExternalTorqueObserver", "PredictedTorque", "alarm_quantile"]

# Length of the filter, s, as that of samples that a model learns from.
WINDOW = 0.06
HOUR = 3600.0
# Deviations from the mean to the bound of what friction adds near rest.
BOUND = math.sqrt(3.0)
# A joint that is faster slips; friction turns round below the second; below the third it may be
# that of a joint that sticks, rad/s.
SLIPS, TURNS, RESTS = 0.1, 0.02, 0.04
# Modes in which the driver follows the commands.
OBSERVED = (Mode.HOLDING, Mode.TRACKING, Mode.STOPPING, Mode.GUIDING)


class ExternalTorque(NamedTuple):
    """
    What acts on the joints from outside; arrays of shape (n_joints,).

    Attributes
    ----------
    time : float
        Time that it is of, s, by the stamps of joint states.
    position
        Joint angles at that time, rad.
    torque
        Positive turns a joint forward, Nm.
    std
        Standard deviation of the torque's error, Nm.
    threshold
        Magnitude beyond which it is contact, Nm.
    contact : bool
        Whether a joint is beyond its threshold.
    """

    time: float
    position: FloatArray
    torque: FloatArray
    std: FloatArray
    threshold: FloatArray
    contact: bool


def alarm_quantile(n_joints: int, period: float, alarms_per_hour: float) -> float:
    """
    Return how many deviations are contact, if free motion is to give so many alarms at most.

    Parameters
    ----------
    n_joints : int
        Number of joints that are looked at.
    period : float
        Time from one look to the next, s.
    alarms_per_hour : float
        Largest expected number of looks an hour that find contact where there is none.

    Raises
    ------
    InvalidParameterError
        If the period or the number of alarms is not positive and finite.
    """
    for name, value in (("period", period), ("alarms_per_hour", alarms_per_hour)):
        if not 0.0 < value < math.inf:
            raise InvalidParameterError(f"{name} must be positive and finite, got {value:g}")
    tail = alarms_per_hour * period / (2.0 * n_joints * HOUR)
    return -NormalDist().inv_cdf(min(tail, 0.5))


class PredictedTorque:
    """
    Torque and deviation of a learned model, whatever its confidence: the deviation tells of that.

    Parameters
    ----------
    predictor : Predictor
        Learned model over inputs [q, qd, qdd].
    """

    def __init__(self, predictor: Predictor) -> None:
        self._predictor = predictor

    def __call__(self, reference: Reference) -> FeedForwardTorque:
        """Return what is expected at states, all arrays of shape (n_states, n_joints)."""
        mean, std = self._predictor.predict(np.concatenate(reference, axis=1))
        return FeedForwardTorque(mean, std, gate=1.0)


class _Expectation(NamedTuple):
    """Expected torque, and deviations of a joint that slips and beyond that, (n_joints,), Nm."""

    mean: FloatArray
    of_slipping: FloatArray
    of_resting: FloatArray


def _expectation(
    expected: FeedForward, motion: SmoothedMotion, weights: FloatArray
) -> _Expectation:
    """Ask the model for the motion if all joints slip, else for both directions and at rest."""
    position, velocity, acceleration = motion[:3]
    parts = motion.parts
    speed = np.abs(parts)
    slow = (speed.min(axis=0) < SLIPS) | (np.abs(parts.sum(axis=0)) < speed.sum(axis=0))
    if not slow.any():
        moving = Reference(position[None], velocity[None], acceleration[None])
        (mean,), (std,), *_ = expected(moving)
        return _Expectation(mean, std, np.zeros_like(std))
    fast = np.maximum(np.abs(velocity), SLIPS)
    assumed = np.where(slow, np.array((fast, -fast, np.zeros_like(fast))), velocity)
    # All three at once: these states are near each other, so that takes little more than one.
    states = Reference(np.array((position,) * 3), assumed, np.array((acceleration,) * 3))
    (forth, back, _), (of_forth, of_back, of_rest), *_ = expected(states)
    direction = weights @ np.minimum(np.maximum(parts / TURNS, -1.0), 1.0)
    share = np.abs(weights) @ (1.0 / np.sqrt(1.0 + (parts / RESTS) ** 2))
    friction = 0.5 * (forth - back)
    of_slipping = np.maximum(of_forth, of_back)
    of_resting = np.sqrt(np.maximum(of_rest**2 - of_slipping**2, 0.0))
    return _Expectation(
        0.5 * (forth + back) + np.where(slow, direction, 0.0) * friction,
        of_slipping,
        np.where(slow, share, 0.0) * of_resting,
    )


class ExternalTorqueObserver:
    """
    Compares what the drives gave with what the model of the arm expects of the measured motion.

    Parameters
    ----------
    torque_limit : ndarray of shape (n_joints,)
        Largest torques, Nm: from there on nobody knows what the arm was given.
    least_std : ndarray of shape (n_joints,)
        Deviation of torques that even the best model has, Nm. Local models that saw a motion often
        know its torque to hundredths of a Nm, but not that of the next motion beside it.
    period : float
        Nominal time between joint states, s.
    every : int
        Joint states from one look to the next.
    alarms_per_hour : float
        False alarms in an hour of free motion, at most.
    measured : bool
        Whether the driver measures the torques; otherwise it follows the commands.

    Attributes
    ----------
    objection : str
        Why there was nothing to say at the last state; empty if only the time has not come.
    delay : float
        Time from that of an estimate to the newest joint state in it, s.
    quantile : float
        Deviations beyond which it is contact.
    """

    def __init__(
        self,
        torque_limit: FloatArray,
        least_std: FloatArray,
        period: float,
        every: int,
        alarms_per_hour: float,
        *,
        measured: bool = False,
    ) -> None:
        n_cycles = max(round(WINDOW / period), 8)
        self.delay = 0.5 * (n_cycles - 1) * period
        self.measured = measured
        self._torque_limit, self._least_std = torque_limit, least_std
        self._blocks = MotionBlocks(len(torque_limit), n_cycles, period, every)
        self.quantile = alarm_quantile(len(torque_limit), every * period, alarms_per_hour)
        self.restart()

    def restart(self) -> None:
        """Forget all that was seen: what follows does not continue it."""
        self.objection = ""
        self._blocks.restart()
        self._last: FloatArray | None = None
        self._second_last: FloatArray | None = None

    def add(
        self, command: Command, effort: FloatArray | None, expected: FeedForward
    ) -> ExternalTorque | None:
        """
        Observe one cycle, after its torque was sent.

        Parameters
        ----------
        command : Command
            Of the cycle.
        effort : ndarray of shape (n_joints,) or None
            Torque in the joint state, Nm; None where the driver reports none.
        expected : FeedForward
            Learned model of the arm with what it carries: torques and deviations at the states it
            is asked for, all arrays of shape (n_states, n_joints).

        Returns
        -------
        ExternalTorque or None
            None if it is not time for a look, or nothing is known (`objection`).
        """
        torque = self._torque_at_work(command, effort)
        if torque is None:
            return None
        motion = self._blocks.add(command.time, command.position, torque)
        if motion is None:
            return None
        if (motion.largest_torque >= self._torque_limit).any():
            self.objection = "a torque is at its limit: nobody knows what the arm was given"
            return None
        expectation = _expectation(expected, motion, self._blocks.part_weights)
        if not all(map(all_finite, expectation)) or not (expectation.of_slipping > 0.0).all():
            self.objection = "the model expects no finite torque, or has no deviation"
            return None
        self.objection = ""
        mean, of_model, of_resting = expectation
        of_slipping = np.hypot(of_model, self._least_std)
        torque = mean - motion.torque
        threshold = self.quantile * of_slipping + BOUND * of_resting
        return ExternalTorque(
            command.time - self.delay,
            motion.position,
            torque,
            np.hypot(of_slipping, of_resting),
            threshold,
            bool((np.abs(torque) > threshold).any()),
        )

    def _torque_at_work(self, command: Command, effort: FloatArray | None) -> FloatArray | None:
        """Torque around the state that was answered, Nm; None if it is not known."""
        if command.mode not in OBSERVED:
            self._interrupt(f"the controller is in {command.mode.name}: no command is followed")
            return None
        newest = command.torque
        if self.measured:
            if effort is None:
                self._interrupt("the joint states hold no efforts; expected measured torques")
                return None
            if not all_finite(effort):
                self._interrupt(f"the efforts are {effort.tolist()}: expected finite torques")
                return None
            newest = effort
        last, second_last = self._last, self._second_last
        self._last, self._second_last = newest, last
        if last is None or second_last is None:
            return None
        # An effort acts from its state on, a command from the next one: about this state, half of
        # each of two that follow each other.
        return 0.5 * (newest + last) if self.measured else 0.5 * (last + second_last)

    def _interrupt(self, objection: str) -> None:
        self.restart()
        self.objection = objection
