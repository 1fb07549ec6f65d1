# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Admission of joint states: which of them are answered, and why others are not."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable

from ilr_dynamics.arrays import FloatArray
from ilr_dynamics.control._comparisons import all_finite
from ilr_dynamics.control.sender_watch import SenderWatch
from ilr_dynamics.control.supervised_motion import SupervisedMotion
from ilr_dynamics.control.supervision import Supervision

__all__ = ["StateAdmission"]


class StateAdmission:
    """
    Admits joint states that can be true; refuses the others with a reason.

    A state is unusable if it is not finite, no newer than the last one, farther from it than the
    arm can have moved, or contradicted by another sender.

    Parameters
    ----------
    period : float
        Nominal time between joint states, s.
    is_present : callable, optional
        Whether a sender of joint states still exists, see `SenderWatch`.
    """

    def __init__(
        self, period: float, is_present: Callable[[Hashable], bool] | None = None
    ) -> None:
        self._period = period
        self._senders = SenderWatch(is_present)
        self.reset()

    def reset(self, *, several_senders: bool = False) -> None:
        """Forget all states and senders; of several senders none is believed at first."""
        self._senders.reset(several=several_senders)
        self._clock = 0.0
        self._last_stamp = -math.inf

    @property
    def contradiction(self) -> str:
        """How senders contradict each other for too long; or empty."""
        return self._senders.contradiction

    def refusal(
        self,
        time: float,
        position: FloatArray,
        motion: SupervisedMotion,
        supervision: Supervision,
        joints: tuple[str, ...],
        sender: Hashable | None = None,
        received: float | None = None,
    ) -> str | None:
        """
        Return why a joint state is not answered, or None.

        Parameters
        ----------
        time : float
            Its stamp, s.
        position : ndarray of shape (n_joints,)
            Its positions, rad.
        motion : SupervisedMotion
            Motion up to the state that was answered last.
        supervision : Supervision
            Bounds of the time, and of the motion, between them.
        joints : tuple of str
            Names of the joints.
        sender : hashable, optional
            Identity of the sender, where it is known.
        received : float, optional
            Time of receipt by a steady clock, s; by default estimated from the stamps.
        """
        if not (math.isfinite(time) and all_finite(position)):
            return "not finite"
        elapsed = time - motion.time
        is_near = abs(elapsed) <= supervision.input_timeout
        discontinuity = None
        if is_near and elapsed <= 0.0:
            if elapsed > -supervision.input_timeout:
                discontinuity = "not newer than the last one"
        elif is_near:
            discontinuity = supervision.jump(position - motion.position, elapsed, joints)
        contradiction = self._senders.refusal(
            time,
            self._estimated_receipt(time, supervision) if received is None else received,
            position,
            sender,
            discontinuity is None and is_near,
            supervision,
            joints,
        )
        # Without identities the sender of a state is a guess, and so is a contradiction.
        if sender is None:
            return discontinuity or contradiction
        return contradiction or discontinuity

    def _estimated_receipt(self, time: float, supervision: Supervision) -> float:
        """Estimate the time of receipt, s: stamps of two senders may be far apart."""
        step = time - self._last_stamp
        self._last_stamp = time
        self._clock += step if 0.0 < step <= supervision.input_timeout else self._period
        return self._clock
