# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
r"""
Guiding: torques with which a person moves the arm by hand.

The feed-forward f of a model is asked at the measured position and at plus and minus an assumed
velocity. What is equal at both carries the arm; what turns round is friction, of which a share s
is compensated:

.. math::
    \tau = \tfrac12 (f_+ + f_-) + \tfrac s2 (f_+ - f_-), \qquad f_\pm = f(q, \pm v, 0),

    v = \dot q + w v_0 \sin(2 \pi \nu t + \varphi), \qquad w = \max(1 - |\dot q| / v_1, 0)

Whatever the model is, the person feels 1 - s of its friction; s falls with the speed, so that an
arm that is let go comes to rest, or where the model errs by much slides on at a speed that this
bounds. The second
part of v is a dither: a joint that stands still has no velocity that says where it is to go, and
would stick with all its dry friction. With the dither the compensated friction acts either way by
turns, less than what the joint sticks with, and a push adds to it. Its share at rest may be larger
than in motion, as joints stick with more than they slip with. As soon as the joint moves, its own
velocity says where, and w is zero.

Of both shares a joint keeps what it makes no motion of its own of (`FrictionTrust`), never more.

Beside that there are damping, a brake from the velocity bound on, and springs that push joints
back from the ends of their range.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ilr_dynamics.arrays import FloatArray
from ilr_dynamics.control._validation import freeze, non_negative
from ilr_dynamics.control.feedforward import FeedForward, FeedForwardTorque
from ilr_dynamics.control.friction_trust import FrictionTrust
from ilr_dynamics.control.joint_path import Reference
from ilr_dynamics.control.limits import JointLimits
from ilr_dynamics.exceptions import InvalidParameterError

__all__ = ["Guide", "Guidance"]

# Frequency of the dither, Hz: slow enough to gain speed in half a period, and faster than a hand.
DITHER_FREQUENCY = 5.0
# Phase between neighbouring joints, so that they do not all turn at once: the golden angle, rad.
DITHER_PHASE = math.pi * (3.0 - math.sqrt(5.0))
# Amplitude of the dither, and velocity from which on there is none, rad/s: most dry friction has
# its full size at the first; the second is above the noise of velocities.
DITHER_SPEED, MOVING_SPEED = 0.04, 0.02
# Brake beyond the velocity bound, in multiples of the PD's damping.
BRAKE = 5.0


@dataclass(frozen=True, slots=True, eq=False)
class Guide:
    """
    How an arm is guided; arrays have shape (n_joints,).

    Parameters
    ----------
    friction_share : float
        Share of the model's friction that is compensated of a slow joint, from 0 to below 1. It
        falls with the speed, to nothing at the velocity bound.
    dither : float
        The same of a joint at rest, either way by turns; 0: not.
    damping : ndarray
        Damping, Nms/rad.
    velocity : ndarray
        Velocity from which on a joint is braked, rad/s.
    brake : ndarray
        Damping of what is faster, Nms/rad.
    margin : float
        Distance from an end of the range at which a joint is pushed back, rad.
    stiffness : ndarray
        Stiffness with which it is pushed back, Nm/rad.

    Raises
    ------
    InvalidParameterError
        If a value is negative or not finite, the share is not below 1 or a velocity is zero.
    """

    friction_share: float
    dither: float
    damping: FloatArray
    velocity: FloatArray
    brake: FloatArray
    margin: float
    stiffness: FloatArray

    def __post_init__(self) -> None:
        n_joints = np.size(self.damping)
        for name in ("damping", "velocity", "brake", "stiffness"):
            freeze(self, name, non_negative(name, getattr(self, name), n_joints))
        for name in ("friction_share", "dither"):
            if not 0.0 <= getattr(self, name) < 1.0:
                raise InvalidParameterError(
                    f"{name} must be at least 0 and below 1, got {getattr(self, name):g}"
                )
        if not 0.0 <= self.margin < math.inf:
            raise InvalidParameterError(
                f"margin must be finite and not negative, got {self.margin:g}"
            )
        if not (self.velocity > 0.0).all():
            raise InvalidParameterError(
                f"velocity must be positive, got {self.velocity.tolist()} rad/s"
            )

    def carry(
        self,
        feedforward: FeedForward,
        time: float,
        position: FloatArray,
        velocity: FloatArray,
        trust: FrictionTrust | None = None,
    ) -> FeedForwardTorque:
        """
        Return the torque that carries the arm and compensates a share of its friction.

        Parameters
        ----------
        feedforward : FeedForward
            Model of the arm.
        time : float
            Present time, s.
        position, velocity : ndarray of shape (n_joints,)
            Measured position and velocity, rad and rad/s.
        trust : FrictionTrust, optional
            What each joint keeps of that; by default all.
        """
        phase = 2.0 * math.pi * math.fmod(DITHER_FREQUENCY * time, 1.0)
        phases = phase + DITHER_PHASE * np.arange(position.size)
        speed = np.abs(velocity)
        resting = np.maximum(1.0 - speed / MOVING_SPEED, 0.0)
        assumed = velocity + resting * DITHER_SPEED * np.sin(phases)
        zero = np.zeros_like(position)
        forth = feedforward(Reference(position, assumed, zero))
        back = feedforward(Reference(position, -assumed, zero))
        moving = self.friction_share * np.maximum(1.0 - speed / self.velocity, 0.0)
        at_rest = resting * self.dither
        in_motion = (1.0 - resting) * moving
        if trust is not None:
            at_rest, in_motion = trust.resting * at_rest, trust.moving * in_motion
        share = at_rest + in_motion
        carried = 0.5 * (forth.torque + back.torque)
        friction = 0.5 * (forth.torque - back.torque)
        return forth._replace(torque=carried + share * friction)

    def resist(
        self, limits: JointLimits, position: FloatArray, velocity: FloatArray
    ) -> FloatArray:
        """
        Return the torque (n_joints,) that slows joints down and keeps them in their range, Nm.

        Parameters
        ----------
        limits : JointLimits
            Limits whose position range is kept.
        position, velocity : ndarray of shape (n_joints,)
            Measured position and velocity, rad and rad/s.
        """
        beyond = velocity - np.minimum(np.maximum(velocity, -self.velocity), self.velocity)
        # Of a range narrower than both margins a third is left.
        room = np.minimum(self.margin, (limits.position_upper - limits.position_lower) / 3.0)
        lower, upper = limits.position_lower + room, limits.position_upper - room
        outside = position - np.minimum(np.maximum(position, lower), upper)
        return -self.damping * velocity - self.brake * beyond - self.stiffness * outside


class _Prepared(NamedTuple):
    """Torque evaluated ahead, with the guide and the feed-forward it is of."""

    guide: Guide
    feedforward: FeedForward
    torque: FeedForwardTorque


class Guidance:
    """
    Torque that carries a guided arm, evaluated after the command of the cycle before.

    The state of the next cycle is predicted from the measured velocity. In a cycle an arm moves by
    thousandths of a radian, and its weight changes by no more; so the prediction serves, and the
    model, which takes most of a cycle, adds nothing to the time from a joint state to its torque.

    Parameters
    ----------
    guide : Guide
        How the arm is guided; may be exchanged.
    feedforward : FeedForward
        Model of the arm; may be exchanged.
    """

    def __init__(self, guide: Guide, feedforward: FeedForward) -> None:
        self.guide = guide
        self.feedforward = feedforward
        self._trust = FrictionTrust()
        self._prepared: _Prepared | None = None

    def carry(
        self, time: float, position: FloatArray, velocity: FloatArray
    ) -> tuple[FeedForwardTorque, bool]:
        """
        Return the torque that carries the arm, and whether it was evaluated ahead.

        Parameters
        ----------
        time : float
            Present time, s.
        position, velocity : ndarray of shape (n_joints,)
            Measured position and velocity, rad and rad/s.
        """
        prepared, self._prepared = self._prepared, None
        if prepared is not None and prepared.guide is self.guide:
            if prepared.feedforward is self.feedforward:
                return prepared.torque, True
        self._trust.observe(time, position, velocity)
        trust = self._trust
        return self.guide.carry(self.feedforward, time, position, velocity, trust), False

    def prepare(
        self, time: float, position: FloatArray, velocity: FloatArray, period: float
    ) -> None:
        """
        Evaluate the torque of the next cycle.

        Parameters
        ----------
        time : float
            Stamp of the joint state that was answered, s.
        position, velocity : ndarray of shape (n_joints,)
            Its position and velocity, rad and rad/s.
        period : float
            Time until the next one, s.
        """
        self._trust.observe(time, position, velocity)
        ahead, trust = position + period * velocity, self._trust
        torque = self.guide.carry(self.feedforward, time + period, ahead, velocity, trust)
        self._prepared = _Prepared(self.guide, self.feedforward, torque)

    def forget(self) -> None:
        """Discard what was evaluated ahead."""
        self._prepared = None
