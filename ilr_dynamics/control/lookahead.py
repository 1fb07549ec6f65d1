# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""
The feed-forward torque of the next cycle, evaluated while nobody waits for it.

The desired state does not depend on the measured one: where the arm shall be a period from now is
known as soon as a torque is sent. A learned model takes most of a cycle, with caches gone cold
between two of them; asked ahead, it no longer stands between a joint state and its torque.
"""

from __future__ import annotations

from typing import NamedTuple

from ilr_dynamics.control.feedforward import FeedForward, FeedForwardTorque
from ilr_dynamics.control.reference_source import Motion, ReferenceSource
from ilr_dynamics.control.state_period import StatePeriod

__all__ = ["Lookahead"]


class _Prepared(NamedTuple):
    """A torque, and what it is good for: who was asked, for what motion and what time, s."""

    feedforward: FeedForward
    motion: Motion
    time: float
    torque: FeedForwardTorque

    def is_of(self, feedforward: FeedForward, motion: Motion) -> bool:
        """Whether neither the model nor the motion has been exchanged since."""
        return self.feedforward is feedforward and self.motion is motion


class Lookahead:
    """
    Asks for the feed-forward torque when the next joint state is due, and keeps the answer.

    Where joint states come too irregularly for that, as `StatePeriod` tells, nothing is asked
    ahead but where a point is held: each cycle would cost two queries.

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
        Ask for the torque of the next cycle.

        Parameters
        ----------
        time : float
            Stamp of the joint state that was answered, s.
        feedforward : FeedForward
            Who is asked.
        source : ReferenceSource
            Where the desired state comes from.
        """
        self._states.add(time)
        motion, prepared = source.motion, self._prepared
        if motion.path is None:
            if prepared is None or not prepared.is_of(feedforward, motion):
                self._ask(feedforward, source, time)
            return
        due = self._states.next
        # At its end a motion that does not rest there is followed by a brake, of which only the
        # next cycle will know.
        if due is None or motion.finished(due):
            self._prepared = None
        else:
            self._ask(feedforward, source, due)

    def forget(self) -> None:
        """Throw away what was prepared."""
        self._prepared = None

    def torque(
        self, time: float, feedforward: FeedForward, motion: Motion
    ) -> FeedForwardTorque | None:
        """
        Return what was prepared, if it is good now: at any time while a point is held.

        Parameters
        ----------
        time : float
            Stamp of the joint state to be answered, s.
        feedforward : FeedForward
            Who would be asked.
        motion : Motion
            Where the desired state comes from.
        """
        prepared = self._prepared
        if prepared is None or not prepared.is_of(feedforward, motion):
            return None
        if motion.path is None or abs(time - prepared.time) <= self._states.tolerance:
            return prepared.torque
        return None

    def _ask(self, feedforward: FeedForward, source: ReferenceSource, time: float) -> None:
        torque = feedforward(source.preview(time))
        self._prepared = _Prepared(feedforward, source.motion, time, torque)
