# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""
Look-ahead: the feed-forward torque of the next cycle, evaluated after the present command.

The desired state does not depend on the measured one, so that of the next cycle is known as soon
as a torque is sent. A learned model takes most of a cycle, as its data leave the caches between
two cycles. Evaluated ahead, it adds nothing to the time from a joint state to its torque.
"""

from __future__ import annotations

from typing import NamedTuple

from ilr_dynamics.control.feedforward import FeedForward, FeedForwardTorque
from ilr_dynamics.control.reference_source import Motion, ReferenceSource
from ilr_dynamics.control.state_period import StatePeriod

__all__ = ["Lookahead"]


class _Prepared(NamedTuple):
    """Torque evaluated ahead, with the feed-forward, the motion and the time (s) it is for."""

    feedforward: FeedForward
    motion: Motion
    time: float
    torque: FeedForwardTorque

    def is_for(self, feedforward: FeedForward, motion: Motion) -> bool:
        """Whether neither the feed-forward nor the motion has been exchanged since."""
        return self.feedforward is feedforward and self.motion is motion


class Lookahead:
    """
    Feed-forward torque evaluated for the time at which the next joint state is due.

    Where joint states come too irregularly for that (`StatePeriod`), a cycle would cost two
    evaluations: torques are then evaluated ahead only while a point is held.

    Parameters
    ----------
    period : float
        Nominal time between joint states, s.
    """

    def __init__(self, period: float) -> None:
        self._states = StatePeriod(period)
        self._prepared: _Prepared | None = None

    def prepare(self, time: float, feedforward: FeedForward, source: ReferenceSource) -> None:
        """
        Evaluate the torque of the next cycle.

        Parameters
        ----------
        time : float
            Stamp of the joint state that was answered, s.
        feedforward : FeedForward
            Feed-forward to evaluate.
        source : ReferenceSource
            Source of the desired state.
        """
        self._states.add(time)
        motion, prepared = source.motion, self._prepared
        if motion.path is None:
            if prepared is None or not prepared.is_for(feedforward, motion):
                self._evaluate(feedforward, source, time)
            return
        due = self._states.next
        # A motion that does not end at rest is followed by braking, which only the next cycle
        # begins.
        if due is None or motion.finished(due):
            self._prepared = None
        else:
            self._evaluate(feedforward, source, due)

    def forget(self) -> None:
        """Discard the prepared torque."""
        self._prepared = None

    def torque(
        self, time: float, feedforward: FeedForward, motion: Motion
    ) -> FeedForwardTorque | None:
        """
        Return the prepared torque if it is valid for this cycle, else None.

        While a point is held it is valid at any time.

        Parameters
        ----------
        time : float
            Stamp of the joint state to be answered, s.
        feedforward : FeedForward
            Feed-forward of this cycle.
        motion : Motion
            Motion of this cycle.
        """
        prepared = self._prepared
        if prepared is None or not prepared.is_for(feedforward, motion):
            return None
        if motion.path is None or abs(time - prepared.time) <= self._states.tolerance:
            return prepared.torque
        return None

    def _evaluate(self, feedforward: FeedForward, source: ReferenceSource, time: float) -> None:
        torque = feedforward(source.preview(time))
        self._prepared = _Prepared(feedforward, source.motion, time, torque)
