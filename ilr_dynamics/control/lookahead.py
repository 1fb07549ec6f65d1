# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""The feed-forward torque of the next cycle, evaluated while nobody waits for it.

The desired state does not depend on the measured one: where the arm shall be a period from now is
known as soon as a torque is sent. A learned model takes most of a cycle, with caches gone cold
between two of them; asked ahead, it no longer stands between a joint state and its torque.
"""

from __future__ import annotations

from dataclasses import dataclass

from ilr_dynamics.control.feedforward import FeedForward, FeedForwardTorque
from ilr_dynamics.control.reference_source import Motion, ReferenceSource

__all__ = ["Lookahead"]


@dataclass(frozen=True, eq=False)
class Lookahead:
    """A torque, and what it is good for.

    Parameters
    ----------
    feedforward : FeedForward
        Who was asked.
    motion : Motion
        Where the desired state was to come from.
    time : float
        Time for which it was asked, s.
    torque : FeedForwardTorque
        The answer.
    """

    feedforward: FeedForward
    motion: Motion
    time: float
    torque: FeedForwardTorque

    @classmethod
    def at(
        cls,
        time: float,
        feedforward: FeedForward,
        source: ReferenceSource,
        last: Lookahead | None = None,
    ) -> Lookahead:
        """Ask for the torque at ``time``; ``last`` spares that while a point is held."""
        motion = source.motion
        if motion.path is None and last is not None and last.is_of(feedforward, motion):
            return cls(feedforward, motion, time, last.torque)
        return cls(feedforward, motion, time, feedforward(source.preview(time)))

    def is_of(self, feedforward: FeedForward, motion: Motion) -> bool:
        """Whether neither the model nor the motion has been exchanged since."""
        return self.feedforward is feedforward and self.motion is motion

    def is_for(self, time: float, tolerance: float) -> bool:
        """Whether it is for ``time``, within ``tolerance``; always while a point is held."""
        return self.motion.path is None or abs(time - self.time) <= tolerance
