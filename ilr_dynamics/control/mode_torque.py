# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Torques of each mode: whose feed-forward and feedback they are, faded from one to the next."""

from __future__ import annotations

from ilr_dynamics.arrays import FloatArray
from ilr_dynamics.control._comparisons import all_finite
from ilr_dynamics.control.crossfade import Crossfade
from ilr_dynamics.control.feedforward import FeedForward, FeedForwardTorque, NoFeedForward
from ilr_dynamics.control.guiding import Guidance
from ilr_dynamics.control.joint_path import Reference
from ilr_dynamics.control.limits import JointLimits
from ilr_dynamics.control.lookahead import Lookahead
from ilr_dynamics.control.modes import Mode
from ilr_dynamics.control.pd import Gains, pd_torque
from ilr_dynamics.control.supervised_motion import SupervisedMotion
from ilr_dynamics.control.supervision import Supervision

__all__ = ["ModeTorque"]


class ModeTorque:
    """
    Feed-forward and feedback of the present mode.

    ======== ============================== ===========================================
    mode     feed-forward                   feedback
    ======== ============================== ===========================================
    fault    that for faults                PD
    guiding  the guidance, as measured      damping, braking and the ends of the range
    others   at the desired state           PD
    ======== ============================== ===========================================

    Parameters
    ----------
    n_joints : int
        Number of joints.
    period : float
        Nominal time between joint states, s.
    fade_time : float
        Time over which one source is replaced by the next, s.
    feedforward, fault_feedforward : FeedForward or None
        Feed-forward torques; None for the PD alone.
    guidance : Guidance or None
        What carries the arm while it is guided by hand.
    """

    def __init__(
        self,
        n_joints: int,
        period: float,
        fade_time: float,
        feedforward: FeedForward | None,
        fault_feedforward: FeedForward | None,
        guidance: Guidance | None,
    ) -> None:
        self._n_joints, self._period, self._fade_time = n_joints, period, fade_time
        self._nothing = NoFeedForward(n_joints)
        self._feedforward = feedforward or self._nothing
        self._fault_feedforward = fault_feedforward or self._nothing
        self.guidance = guidance
        self.reset()

    def reset(self) -> None:
        """Fade in from zero torque."""
        self._fade = Crossfade(self._n_joints, self._fade_time)
        self._feedback_fade = Crossfade(self._n_joints, self._fade_time)
        self._lookahead = Lookahead(self._period)

    def exchange(self, feedforward: FeedForward | None, guidance: Guidance | None) -> None:
        """Use another feed-forward, and another guidance if there is one, from now on."""
        self._feedforward = feedforward or self._nothing
        self.guidance = guidance or self.guidance
        self.transfer(False)

    def transfer(self, of_feedback: bool) -> None:
        """Fade to another source of the feed-forward, or of the feedback too."""
        if self.guidance is not None:
            # What was evaluated ahead is of what was before.
            self.guidance.forget()
        self._fade.begin()
        if of_feedback:
            self._feedback_fade.begin()

    def feedforward(
        self, motion: SupervisedMotion, reference: Reference
    ) -> tuple[FeedForwardTorque, bool]:
        """
        Return the feed-forward torque to use, and whether it was evaluated ahead.

        Parameters
        ----------
        motion : SupervisedMotion
            Present motion; a torque that is not finite is a fault of it.
        reference : Reference
            Desired state.
        """
        raw, prepared = self._of_mode(motion, reference)
        if not all_finite(raw.torque):
            motion.fail(f"the feed-forward torque is {raw.torque.tolist()}: expected finite")
            raw, prepared = self._of_mode(motion, reference)
        faded = self._fade(raw.torque, motion.time)
        return raw if faded is raw.torque else raw._replace(torque=faded), prepared

    def of_fault(self, reference: Reference) -> FeedForwardTorque:
        """Return the feed-forward torque in a fault, which is finite."""
        torque = self._fault_feedforward(reference)
        return torque if all_finite(torque.torque) else self._nothing(reference)

    def feedback(
        self, motion: SupervisedMotion, reference: Reference, gains: Gains, limits: JointLimits
    ) -> FloatArray:
        """Return the feedback torque (n_joints,), Nm, as it is used."""
        if (guidance := self._guiding(motion)) is not None:
            torque = guidance.guide.resist(limits, motion.position, motion.velocity)
        else:
            torque = pd_torque(gains, reference, motion.position, motion.velocity)
        return self._feedback_fade(torque, motion.time)

    @staticmethod
    def total(
        motion: SupervisedMotion,
        feedforward: FloatArray,
        feedback: FloatArray,
        gains: Gains,
        supervision: Supervision,
    ) -> FloatArray:
        """Return what both make together, Nm; in a fault that lets the arm down ever less."""
        if motion.mode is not Mode.FAULT:
            return feedforward + feedback
        share = supervision.held_share(motion.time - motion.fault_time)
        return share * (feedforward + feedback) - (1.0 - share) * gains.kd * motion.velocity

    def look_ahead(self, motion: SupervisedMotion) -> None:
        """Evaluate the feed-forward torque of the next cycle."""
        if motion.mode in (Mode.WAITING, Mode.FAULT):
            self._lookahead.forget()
        elif (guidance := self._guiding(motion)) is not None:
            guidance.prepare(motion.time, motion.position, motion.velocity, self._period)
        else:
            self._lookahead.prepare(motion.time, self._feedforward, motion.source)

    def _of_mode(
        self, motion: SupervisedMotion, reference: Reference
    ) -> tuple[FeedForwardTorque, bool]:
        if motion.mode is Mode.FAULT:
            return self.of_fault(reference), False
        if (guidance := self._guiding(motion)) is not None:
            return guidance.carry(motion.time, motion.position, motion.velocity)
        ahead = self._lookahead.torque(motion.time, self._feedforward, motion.source.motion)
        return ahead or self._feedforward(reference), ahead is not None

    def _guiding(self, motion: SupervisedMotion) -> Guidance | None:
        return self.guidance if motion.mode is Mode.GUIDING else None
