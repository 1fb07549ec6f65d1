# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Tracking controller: the control cycle from a measured joint state to a limited torque."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable

import numpy as np

from ilr_dynamics.arrays import FloatArray
from ilr_dynamics.control._comparisons import all_finite
from ilr_dynamics.control.command import Command
from ilr_dynamics.control.crossfade import Crossfade
from ilr_dynamics.control.feedforward import FeedForward, FeedForwardTorque, NoFeedForward
from ilr_dynamics.control.guiding import Guidance
from ilr_dynamics.control.joint_path import JointPath, Reference
from ilr_dynamics.control.limits import JointLimits, limit_torque
from ilr_dynamics.control.lookahead import Lookahead
from ilr_dynamics.control.modes import TRANSITIONS, Event, Mode
from ilr_dynamics.control.pd import Gains, pd_torque
from ilr_dynamics.control.reference_source import ReferenceSource
from ilr_dynamics.control.sender_watch import SenderWatch
from ilr_dynamics.control.supervision import Supervision
from ilr_dynamics.exceptions import TrajectoryError

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
        self._no_feedforward = NoFeedForward(len(limits.joints))
        self._feedforward = feedforward or self._no_feedforward
        self._fault_feedforward = fault_feedforward or self._no_feedforward
        self._period = period
        self._feedforward_fade = feedforward_fade
        self._reference_fade = reference_fade
        self._guidance = guidance
        self._senders = SenderWatch(is_present)
        self.reset()

    @property
    def mode(self) -> Mode:
        """Present mode of the controller."""
        return self._mode

    @property
    def reference(self) -> Reference:
        """Desired state in the last cycle."""
        return self._source.reference

    @property
    def fault(self) -> str:
        """Cause of the present fault; empty in every other mode."""
        return self._fault

    @property
    def contradicted(self) -> bool:
        """
        Whether the present fault is a contradiction between senders, none of which is believed.

        No joint state is answered then; `step_release` returns the torque to send.
        """
        return self._contradicted

    def reset(self, *, several_senders: bool = False) -> None:
        """
        Reset all state: the next joint state is the first, and the torque starts at zero.

        Parameters
        ----------
        several_senders : bool
            Whether more than one sender of joint states exists: none is answered until it has
            been alone for a while.
        """
        n_joints = len(self.limits.joints)
        self._senders.reset(several=several_senders)
        self._contradicted = False
        self._clock = 0.0
        self._last_stamp = -math.inf
        self._mode = Mode.WAITING
        self.refusal = ""
        self._fault = ""
        self._fault_time = 0.0
        self._blind = False
        self._blind_since = 0.0
        self._time = -math.inf
        self._position: FloatArray = np.zeros(n_joints)
        self._torque: FloatArray = np.zeros(n_joints)
        self._velocity: FloatArray = np.zeros(n_joints)
        self._crossfade = Crossfade(n_joints, self._feedforward_fade)
        self._pd_crossfade = Crossfade(n_joints, self._feedforward_fade)
        self._source = ReferenceSource(self._position, self._time, self._reference_fade)
        self._lookahead = Lookahead(self._period)

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
        self._feedforward = feedforward or self._no_feedforward
        self._guidance = guidance or self._guidance
        if self._guidance is not None:
            # What was evaluated ahead is of what was before.
            self._guidance.forget()
        self._crossfade.begin()

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
            If the path cannot be followed, or not in the present mode. The present motion then
            goes on.
        """
        if (self._mode, Event.TRAJECTORY) not in TRANSITIONS:
            reason = f" ({self._fault})" if self._fault else ""
            raise TrajectoryError(
                f"no trajectory is accepted while {self._mode.name.lower()}{reason}: "
                "expected the controller to be holding or tracking"
            )
        self._source.follow(path, start, self.limits, self.supervision.start_tolerance)
        self._enter(Event.TRAJECTORY)
        return self._source.motion.start

    def guide(self) -> str:
        """
        Let a person move the arm by hand, until `stop` or `hold`.

        Returns
        -------
        str
            Why it is not, if it is not: the mode is then the same as before.
        """
        if self._guidance is None:
            return "nothing carries the arm: expected a model of it"
        if (self._mode, Event.GUIDE) not in TRANSITIONS:
            reason = f" ({self._fault})" if self._fault else ""
            return (
                f"the arm is not guided while {self._mode.name.lower()}{reason}: "
                "expected the controller to be holding"
            )
        if self._mode is not Mode.GUIDING:
            self._guidance.forget()
            self._crossfade.begin()
            self._pd_crossfade.begin()
        self._enter(Event.GUIDE)
        return ""

    def stop(self) -> None:
        """Brake along the present motion, then hold. Does not end a fault."""
        before = self._mode
        self._enter(Event.STOP)
        limits = self.limits
        if before is Mode.GUIDING:
            self._crossfade.begin()
            self._pd_crossfade.begin()
            # A person may have moved the arm into the margin of its range.
            limits = limits.widened_to(self._position)
        if before in (Mode.TRACKING, Mode.GUIDING):
            self._source.brake(self.supervision.deceleration, limits)

    def hold(self) -> None:
        """
        Stop as `stop` does, but end a fault: the arm is held where it was last measured.

        Without joint states no position can be held, so the fault stays.
        """
        if self._mode is not Mode.FAULT:
            self.stop()
            return
        if self._blind:
            return
        self._enter(Event.HOLD)
        self._fault = ""
        self._blind = False
        self._source.hold(self._position)
        self._crossfade.begin()

    def fail(self, reason: str) -> None:
        """Enter a fault for a reason found elsewhere; no effect before the first joint state."""
        if self._mode is not Mode.WAITING:
            self._fail(reason)

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
        Return whether a joint state is usable; if not, `refusal` is the reason.

        It is unusable if it is not finite, no newer than the last one, farther from it than the
        arm can have moved, or contradicted by another sender. No torque must be sent then. If that
        goes on, the driver's watchdog acts, and the next usable state is a fault. A contradiction
        between senders is a fault once it lasts longer than the input timeout.

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
        if not (math.isfinite(time) and all_finite(position)):
            self.refusal = "not finite"
            return False
        elapsed = time - self._time
        discontinuity = self._discontinuity(elapsed, position)
        contradiction = self._senders.refusal(
            time,
            self._estimated_receipt(time) if received is None else received,
            position,
            sender,
            discontinuity is None and abs(elapsed) <= self.supervision.input_timeout,
            self.supervision,
            self.limits.joints,
        )
        if self._senders.contradiction and not self._contradicted:
            self._fail_by_contradiction(time, position)
        # Without identities the sender of a state is a guess, and so is a contradiction.
        if sender is None:
            refusal = discontinuity or contradiction
        else:
            refusal = contradiction or discontinuity
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
        if self._mode is Mode.WAITING:
            self._begin(time, position)
        elapsed = time - self._time
        timeout = self.supervision.input_timeout
        self._time, self._position, self._velocity = time, position, velocity
        self._blind = False
        if self._contradicted:
            # One sender is left: the arm is held at its positions, whatever they were before.
            self._contradicted = False
            self._fault_time = time
            self._source = ReferenceSource(position, time, self._reference_fade)
            self._crossfade.begin()
        elif abs(elapsed) > timeout:
            self._fail(f"joint states are {elapsed:.3f} s apart: expected at most {timeout:g} s")
        reference = self._supervised_reference(velocity)
        feedforward, prepared = self._feedforward_torque(reference)
        pd = self._pd_crossfade(self._feedback(reference, position, velocity), time)
        wanted = self._unlimited_torque(feedforward.torque, pd, velocity)
        change_time = min(max(elapsed, 0.0), self._period)
        torque = limit_torque(wanted, self._torque, self.limits, change_time)
        self._torque = torque
        limited = torque.tolist() != wanted.tolist()
        return Command(
            time,
            self._mode,
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
        if self._mode in (Mode.WAITING, Mode.FAULT):
            self._lookahead.forget()
        elif self._mode is Mode.GUIDING and self._guidance is not None:
            self._guidance.prepare(self._time, self._position, self._velocity, self._period)
        else:
            self._lookahead.prepare(self._time, self._feedforward, self._source)

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
        if self._mode is Mode.WAITING:
            return None
        if self._contradicted:
            # The arm's position is unknown, and so is the torque that would carry its weight.
            return self.step_release()
        if not self._blind:
            self._fail(f"no joint state for {silence:.3f} s")
            self._blind, self._blind_since = True, silence
        elif not self._torque.any():
            return None
        share = 1.0 - (silence - self._blind_since) / self.supervision.blind_time
        wanted = np.zeros_like(self._torque)
        if share > 0.0:
            carried = self._fault_feedforward(self._source.reference).torque
            if all_finite(carried):
                wanted = share * carried
        return self._move_torque_to(wanted)

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
        return self._move_torque_to(np.zeros_like(self._torque))

    def _discontinuity(self, elapsed: float, position: FloatArray) -> str | None:
        """Return why a state cannot follow the last one, or None."""
        timeout = self.supervision.input_timeout
        if self._mode is Mode.WAITING or abs(elapsed) > timeout:
            return None
        if elapsed <= 0.0:
            return "not newer than the last one" if elapsed > -timeout else None
        return self.supervision.jump(position - self._position, elapsed, self.limits.joints)

    def _estimated_receipt(self, time: float) -> float:
        """Estimate the time of receipt, s: stamps of two senders may be far apart."""
        step = time - self._last_stamp
        self._last_stamp = time
        self._clock += step if 0.0 < step <= self.supervision.input_timeout else self._period
        return self._clock

    def _fail_by_contradiction(self, time: float, position: FloatArray) -> None:
        if self._mode is Mode.WAITING:
            self._begin(time, position)
        self._fail(self._senders.contradiction)
        self._contradicted = self._blind = True

    def _move_torque_to(self, wanted: FloatArray) -> FloatArray:
        self._torque = limit_torque(wanted, self._torque, self.limits, self._period)
        return self._torque

    def _enter(self, event: Event) -> None:
        self._mode = TRANSITIONS[self._mode, event]

    def _begin(self, time: float, position: FloatArray) -> None:
        self._enter(Event.STATE)
        self._time, self._position = time - self._period, position
        self._source = ReferenceSource(position, time, self._reference_fade)
        self._crossfade.begin()

    def _fail(self, reason: str) -> None:
        if self._mode is Mode.GUIDING:
            self._pd_crossfade.begin()
        self._enter(Event.FAULT)
        self._fault = reason
        self._fault_time = self._time
        # A new source: the clock itself may have jumped.
        self._source = ReferenceSource(self._position, self._time, self._reference_fade)
        self._crossfade.begin()

    def _supervised_reference(self, velocity: FloatArray) -> Reference:
        if self._mode is Mode.FAULT:
            self._hold_where_moved(velocity)
            return self._source.advance(self._time)
        if self._mode is Mode.GUIDING:
            self._source.lead(self._time, self._position, velocity)
        elif self._mode is not Mode.HOLDING and self._source.finished(self._time):
            self._end_motion()
        reference = self._source.advance(self._time)
        violation = self.supervision.violation(
            reference, self._position, velocity, self.limits.joints
        )
        if violation is None:
            return reference
        self._fail(violation)
        return self._source.advance(self._time)

    def _hold_where_moved(self, velocity: FloatArray) -> None:
        """Hold an arm that is pushed away, or too fast, where it is: the PD must not pull back."""
        violation = self.supervision.violation(
            self._source.reference, self._position, velocity, self.limits.joints
        )
        if violation is not None:
            self._source.hold(self._position)

    def _end_motion(self) -> None:
        if self._mode is Mode.TRACKING:
            self._enter(Event.END)
            if not self._source.ends_at_rest:
                self._source.brake(self.supervision.deceleration, self.limits)
                return
        self._source.rest(self._time)
        self._enter(Event.HALTED)

    def _feedforward_torque(self, reference: Reference) -> tuple[FeedForwardTorque, bool]:
        """Return the feed-forward torque to use, and whether it was evaluated ahead."""
        if self._mode is not Mode.FAULT:
            raw, prepared = self._model_torque(reference)
            if not all_finite(raw.torque):
                self._fail(f"the feed-forward torque is {raw.torque.tolist()}: expected finite")
        if self._mode is Mode.FAULT:
            raw, prepared = self._fault_feedforward(reference), False
            if not all_finite(raw.torque):
                raw = self._no_feedforward(reference)
        faded = self._crossfade(raw.torque, self._time)
        return raw if faded is raw.torque else raw._replace(torque=faded), prepared

    def _model_torque(self, reference: Reference) -> tuple[FeedForwardTorque, bool]:
        """Return the torque of the model at work, and whether it was evaluated ahead."""
        if self._mode is Mode.GUIDING and self._guidance is not None:
            return self._guidance.carry(self._time, self._position, self._velocity)
        ahead = self._lookahead.torque(self._time, self._feedforward, self._source.motion)
        return ahead or self._feedforward(reference), ahead is not None

    def _feedback(
        self, reference: Reference, position: FloatArray, velocity: FloatArray
    ) -> FloatArray:
        if self._mode is Mode.GUIDING and self._guidance is not None:
            return self._guidance.guide.resist(self.limits, position, velocity)
        return pd_torque(self.gains, reference, position, velocity)

    def _unlimited_torque(
        self, feedforward: FloatArray, pd: FloatArray, velocity: FloatArray
    ) -> FloatArray:
        if self._mode is not Mode.FAULT:
            return feedforward + pd
        share = self.supervision.held_share(self._time - self._fault_time)
        return share * (feedforward + pd) - (1.0 - share) * self.gains.kd * velocity
