# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Tracking controller: the control cycle from a measured joint state to a limited torque."""

from __future__ import annotations

from collections.abc import Callable, Hashable

import numpy as np

from ilr_dynamics.arrays import FloatArray
from ilr_dynamics.control._comparisons import all_finite
from ilr_dynamics.control.command import Command
from ilr_dynamics.control.feedforward import FeedForward
from ilr_dynamics.control.guiding import Guidance
from ilr_dynamics.control.joint_path import JointPath, Reference
from ilr_dynamics.control.limits import JointLimits, limit_torque
from ilr_dynamics.control.mode_torque import ModeTorque
from ilr_dynamics.control.modes import Mode
from ilr_dynamics.control.pd import Gains
from ilr_dynamics.control.state_admission import StateAdmission
from ilr_dynamics.control.supervised_motion import SupervisedMotion
from ilr_dynamics.control.supervision import Supervision

__all__ = ["TrackingController"]


class TrackingController:
    """
    PD and feed-forward control at the desired state, supervised and limited.

    Call `step` for each joint state, and the other methods in between. Whatever they change, the
    torque changes within the rate limit from one cycle to the next.

    Parameters
    ----------
    limits : JointLimits
        Limits of paths and torques.
    gains : Gains
        Gains of the PD.
    supervision : Supervision
        Bounds whose violation is a fault.
    feedforward : FeedForward, optional
        Feed-forward torque; None for the PD alone.
    fault_feedforward : FeedForward, optional
        Feed-forward during a fault, such as a rigid-body model that carries the arm's weight. It
        replaces the other one, which may be what caused the fault. None for the PD alone.
    period : float
        Nominal time between joint states, s. The torque changes by at most
        ``limits.torque_rate * period`` per cycle, however late a joint state is.
    feedforward_fade : float
        Time over which one feed-forward is replaced by the next, s. At activation the torque
        starts from zero, so an arm whose weight it carries sinks a little at first.
    reference_fade : float
        Time over which the difference between the present reference and a new trajectory
        fades out, s.
    guidance : Guidance, optional
        What carries the arm while it is guided by hand; None: it is not.
    is_present : callable, optional
        Whether a sender of joint states still exists, see `SenderWatch`.

    Attributes
    ----------
    refusal : str
        Reason why the last unusable joint state was not answered.
    """

    def __init__(
        self,
        limits: JointLimits,
        gains: Gains,
        supervision: Supervision,
        feedforward: FeedForward | None = None,
        fault_feedforward: FeedForward | None = None,
        *,
        period: float = 0.002,
        feedforward_fade: float = 0.1,
        reference_fade: float = 0.5,
        guidance: Guidance | None = None,
        is_present: Callable[[Hashable], bool] | None = None,
    ) -> None:
        self.limits = limits
        self.gains = gains
        self.supervision = supervision
        self._period = period
        n_joints = len(limits.joints)
        self._admission = StateAdmission(period, is_present)
        self._source = ModeTorque(
            n_joints, period, feedforward_fade, feedforward, fault_feedforward, guidance
        )
        self._motion = SupervisedMotion(n_joints, period, reference_fade, self._source.transfer)
        self.reset()

    @property
    def mode(self) -> Mode:
        """Present mode of the controller."""
        return self._motion.mode

    @property
    def reference(self) -> Reference:
        """Desired state in the last cycle."""
        return self._motion.source.reference

    @property
    def fault(self) -> str:
        """Cause of the present fault; empty in every other mode."""
        return self._motion.fault

    @property
    def contradicted(self) -> bool:
        """
        Whether the present fault is a contradiction between senders, none of which is believed.

        No joint state is answered then; `step_release` returns the torque to send.
        """
        return self._motion.contradicted

    def reset(self, *, several_senders: bool = False) -> None:
        """
        Reset all state: the next joint state is the first, and the torque starts at zero.

        Parameters
        ----------
        several_senders : bool
            Whether more than one sender of joint states exists: none is answered until it has
            been alone for a while.
        """
        self._admission.reset(several_senders=several_senders)
        self._source.reset()
        self._motion.reset()
        self.refusal = ""
        self._torque: FloatArray = np.zeros(len(self.limits.joints))

    def set_feedforward(
        self, feedforward: FeedForward | None, guidance: Guidance | None = None
    ) -> None:
        """
        Exchange the feed-forward; the new one fades in.

        Parameters
        ----------
        feedforward : FeedForward or None
            None for the PD alone.
        guidance : Guidance, optional
            What carries the arm from now on while it is guided; None leaves what there is.
        """
        self._source.exchange(feedforward, guidance)

    def set_trajectory(self, path: JointPath, start: float | None = None) -> float:
        """
        Follow a path from the present reference on, see `ReferenceSource.follow`.

        Parameters
        ----------
        path : JointPath
            Path to follow.
        start : float, optional
            Time, by the stamps of joint states, at which the path's own time is zero, s; None for
            now.

        Returns
        -------
        float
            That time.

        Raises
        ------
        TrajectoryError
            If it cannot be followed, or not in the present mode. The present motion then goes on.
        """
        return self._motion.follow(path, start, self.limits, self.supervision)

    def guide(self) -> str:
        """
        Let a person move the arm by hand, until `stop` or `hold`.

        Returns
        -------
        str
            Why it is not, if it is not: the mode is then the same as before.
        """
        if self._source.guidance is None:
            return "nothing carries the arm: expected a model of it"
        return self._motion.guide()

    def stop(self) -> None:
        """Brake along the present motion, then hold. Does not end a fault."""
        self._motion.stop(self.limits, self.supervision.deceleration)

    def hold(self) -> None:
        """
        Stop as `stop` does, but end a fault: the arm is held where it was last measured.

        Without joint states no position can be held, so the fault stays.
        """
        self._motion.hold(self.limits, self.supervision.deceleration)

    def fail(self, reason: str) -> None:
        """Enter a fault for a reason found elsewhere; no effect before the first joint state."""
        if self.mode is not Mode.WAITING:
            self._motion.fail(reason)

    def step(
        self,
        time: float,
        position: FloatArray,
        velocity: FloatArray,
        *,
        sender: Hashable | None = None,
        received: float | None = None,
    ) -> Command | None:
        """Check a joint state and compute its command: `admit`, then `answer`."""
        if not self.admit(time, position, sender, received):
            return None
        return self.answer(time, position, velocity)

    def admit(
        self,
        time: float,
        position: FloatArray,
        sender: Hashable | None = None,
        received: float | None = None,
    ) -> bool:
        """
        Return whether a joint state is usable (`StateAdmission`); if not, `refusal` is the reason.

        No torque must be sent then. If that goes on, the driver's watchdog acts, and the next
        usable state is a fault. A contradiction between senders is a fault once it lasts longer
        than the input timeout.

        Parameters
        ----------
        time : float
            Stamp of the joint state, s.
        position : ndarray of shape (n_joints,)
            Measured position, rad.
        sender : hashable, optional
            Identity of the sender, where it is known.
        received : float, optional
            Time of receipt by a steady clock, s; by default estimated from the stamps.
        """
        admission, motion = self._admission, self._motion
        refusal = admission.refusal(
            time, position, motion, self.supervision, self.limits.joints, sender, received
        )
        if admission.contradiction and not motion.contradicted:
            motion.fail_by_contradiction(admission.contradiction, time, position)
        if refusal is None:
            return True
        self.refusal = refusal
        return False

    def answer(self, time: float, position: FloatArray, velocity: FloatArray) -> Command | None:
        """
        Compute the command for a joint state that was admitted.

        Parameters
        ----------
        time : float
            Stamp of the joint state, s.
        position, velocity : ndarray of shape (n_joints,)
            Measured position and velocity, rad and rad/s.

        Returns
        -------
        Command or None
            None if the velocity is not finite: the state is then refused like one not admitted.
        """
        if not all_finite(velocity):
            self.refusal = "not finite"
            return None
        motion = self._motion
        elapsed = motion.arrive(time, position, velocity, self.supervision.input_timeout)
        reference = motion.advance(self.limits, self.supervision)
        feedforward, prepared = self._source.feedforward(motion, reference)
        pd = self._source.feedback(motion, reference, self.gains, self.limits)
        wanted = self._source.total(motion, feedforward.torque, pd, self.gains, self.supervision)
        change_time = min(max(elapsed, 0.0), self._period)
        torque = self._move_torque_to(wanted, change_time)
        limited = torque.tolist() != wanted.tolist()
        return Command(
            time,
            motion.mode,
            torque,
            feedforward,
            pd,
            reference,
            position,
            velocity,
            limited,
            prepared,
        )

    def look_ahead(self) -> None:
        """
        Evaluate the feed-forward torque of the next cycle ahead of time.

        Call it after a command has been sent. The next `step` uses the torque if its joint state
        comes when it is due (`StatePeriod`) and neither motion nor feed-forward have changed;
        otherwise it evaluates the feed-forward itself. Without this call every `step` does.
        """
        self._source.look_ahead(self._motion)

    def step_blind(self, silence: float) -> FloatArray | None:
        """
        Enter a fault because joint states have stopped coming, and let the arm down.

        A driver that keeps applying the last torque it received would otherwise never stop.

        Parameters
        ----------
        silence : float
            Time since the last joint state, s, by the clock of the caller.

        Returns
        -------
        ndarray of shape (n_joints,) or None
            Torque to send, Nm; None once it is zero and has been sent.
        """
        motion = self._motion
        if motion.mode is Mode.WAITING:
            return None
        if motion.contradicted:
            # The arm's position is unknown, and so is the torque that would carry its weight.
            return self.step_release()
        if not motion.blind:
            motion.fail_by_silence(silence)
        elif not self._torque.any():
            return None
        share = motion.carried_share(silence, self.supervision)
        carried = self._source.of_fault(motion.source.reference).torque
        return self._move_torque_to(share * np.asarray(carried), self._period)

    def step_release(self) -> FloatArray | None:
        """
        Return the next torque on the way to zero, at the rate limit; call it once per period.

        Returns
        -------
        ndarray of shape (n_joints,) or None
            Torque to send, Nm; None once it is zero.
        """
        if not self._torque.any():
            return None
        return self._move_torque_to(np.zeros_like(self._torque), self._period)

    def _move_torque_to(self, wanted: FloatArray, elapsed: float) -> FloatArray:
        self._torque = limit_torque(wanted, self._torque, self.limits, elapsed)
        return self._torque
