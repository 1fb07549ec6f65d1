# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Supervised motion: mode and desired state of the arm, as requests and faults change them."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from ilr_dynamics.arrays import FloatArray
from ilr_dynamics.control.joint_path import JointPath, Reference
from ilr_dynamics.control.limits import JointLimits
from ilr_dynamics.control.modes import TRANSITIONS, Event, Mode
from ilr_dynamics.control.reference_source import ReferenceSource
from ilr_dynamics.control.supervision import Supervision
from ilr_dynamics.exceptions import TrajectoryError

__all__ = ["SupervisedMotion"]


class SupervisedMotion:
    """
    Mode of the controller and the desired state in it, from one measured state to the next.

    Parameters
    ----------
    n_joints : int
        Number of joints.
    period : float
        Nominal time between joint states, s.
    fade_time : float
        Time over which the difference between the present reference and a new trajectory
        fades out, s.
    transfer : callable
        Called where the feed-forward comes from another source from now on; with True where the
        feedback does too.

    Attributes
    ----------
    mode : Mode
        Present mode.
    fault : str
        Cause of the present fault; empty in every other mode.
    fault_time : float
        Time at which it began, s.
    blind : bool
        Whether the present fault is one in which nobody knows where the arm is.
    contradicted : bool
        Whether that is because senders of joint states contradict each other.
    source : ReferenceSource
        Source of the desired state.
    time : float
        Stamp of the last joint state, s; minus infinity before the first.
    position, velocity : ndarray of shape (n_joints,)
        Its position and velocity, rad and rad/s.
    """

    def __init__(
        self, n_joints: int, period: float, fade_time: float, transfer: Callable[[bool], None]
    ) -> None:
        self._n_joints = n_joints
        self._period = period
        self._fade_time = fade_time
        self._transfer = transfer
        self.reset()

    def reset(self) -> None:
        """Wait for the first joint state."""
        self.mode = Mode.WAITING
        self.fault = ""
        self.fault_time = 0.0
        self.blind = self.contradicted = False
        self._blind_since = 0.0
        self.time = -math.inf
        self.position: FloatArray = np.zeros(self._n_joints)
        self.velocity: FloatArray = np.zeros(self._n_joints)
        self._restart_source()

    def follow(
        self, path: JointPath, start: float | None, limits: JointLimits, supervision: Supervision
    ) -> float:
        """
        Follow a path from the present reference on, see `ReferenceSource.follow`.

        Returns
        -------
        float
            Time, by the stamps of joint states, at which the path's own time is zero, s.

        Raises
        ------
        TrajectoryError
            If the path cannot be followed, or not in the present mode. The present motion then
            goes on.
        """
        if (self.mode, Event.TRAJECTORY) not in TRANSITIONS:
            raise TrajectoryError(
                f"no trajectory is accepted while {self._mode_text()}: "
                "expected the controller to be holding or tracking"
            )
        self.source.follow(path, start, limits, supervision.start_tolerance)
        self._enter(Event.TRAJECTORY)
        return self.source.motion.start

    def guide(self) -> str:
        """
        Follow a person's hand from now on.

        Returns
        -------
        str
            Why it is not, if it is not: the mode is then the same as before.
        """
        if (self.mode, Event.GUIDE) not in TRANSITIONS:
            return (
                f"the arm is not guided while {self._mode_text()}: "
                "expected the controller to be holding"
            )
        if self.mode is not Mode.GUIDING:
            self._transfer(True)
        self._enter(Event.GUIDE)
        return ""

    def stop(self, limits: JointLimits, deceleration: float) -> None:
        """Brake along the present motion (`ReferenceSource.brake`), then hold."""
        before = self.mode
        self._enter(Event.STOP)
        if before is Mode.GUIDING:
            self._transfer(True)
            # A person may have moved the arm into the margin of its range.
            limits = limits.widened_to(self.position)
        if before in (Mode.TRACKING, Mode.GUIDING):
            self.source.brake(deceleration, limits)

    def hold(self, limits: JointLimits, deceleration: float) -> None:
        """Stop, or in a fault that is not blind hold the arm where it was measured."""
        if self.mode is not Mode.FAULT:
            self.stop(limits, deceleration)
            return
        if self.blind:
            return
        self._enter(Event.HOLD)
        self.fault = ""
        self.source.hold(self.position)
        self._transfer(False)

    def fail(self, reason: str) -> None:
        """Enter a fault; the arm is held where it was last measured."""
        was_guided = self.mode is Mode.GUIDING
        self._enter(Event.FAULT)
        self.fault = reason
        self.fault_time = self.time
        # A new source: the clock itself may have jumped.
        self._restart_source()
        self._transfer(was_guided)

    def fail_by_contradiction(self, reason: str, time: float, position: FloatArray) -> None:
        """Enter a fault in which no sender of joint states is believed."""
        if self.mode is Mode.WAITING:
            self._begin(time, position)
        self.fail(reason)
        self.contradicted = self.blind = True

    def fail_by_silence(self, silence: float) -> None:
        """Enter a fault as there has been no joint state for so long, s."""
        self.fail(f"no joint state for {silence:.3f} s")
        self.blind, self._blind_since = True, silence

    def carried_share(self, silence: float, supervision: Supervision) -> float:
        """Share of the arm's weight that is still carried without joint states, in [0, 1]."""
        return max(0.0, 1.0 - (silence - self._blind_since) / supervision.blind_time)

    def arrive(
        self, time: float, position: FloatArray, velocity: FloatArray, timeout: float
    ) -> float:
        """
        Take a measured state; one that is too far from the last is a fault.

        Parameters
        ----------
        time : float
            Its stamp, s.
        position, velocity : ndarray of shape (n_joints,)
            rad and rad/s.
        timeout : float
            Longest time between two states, s.

        Returns
        -------
        float
            Time since the last one, s.
        """
        if self.mode is Mode.WAITING:
            self._begin(time, position)
        elapsed = time - self.time
        self.time, self.position, self.velocity = time, position, velocity
        self.blind = False
        if self.contradicted:
            # One sender is left: the arm is held at its positions, whatever they were before.
            self.contradicted = False
            self.fault_time = time
            self._restart_source()
            self._transfer(False)
        elif abs(elapsed) > timeout:
            self.fail(f"joint states are {elapsed:.3f} s apart: expected at most {timeout:g} s")
        return elapsed

    def advance(self, limits: JointLimits, supervision: Supervision) -> Reference:
        """Return the desired state at the measured one; a bound that is violated is a fault."""
        source = self.source
        if self.mode is Mode.FAULT:
            if self._violation(source.reference, limits, supervision) is not None:
                # An arm that is pushed away, or too fast: the PD must not pull it back.
                source.hold(self.position)
            return source.advance(self.time)
        if self.mode is Mode.GUIDING:
            source.lead(self.time, self.position, self.velocity)
        elif self.mode is not Mode.HOLDING and source.finished(self.time):
            self._end_motion(limits, supervision.deceleration)
        reference = source.advance(self.time)
        violation = self._violation(reference, limits, supervision)
        if violation is None:
            return reference
        self.fail(violation)
        return self.source.advance(self.time)

    def _violation(
        self, reference: Reference, limits: JointLimits, supervision: Supervision
    ) -> str | None:
        return supervision.violation(reference, self.position, self.velocity, limits.joints)

    def _end_motion(self, limits: JointLimits, deceleration: float) -> None:
        if self.mode is Mode.TRACKING:
            self._enter(Event.END)
            if not self.source.ends_at_rest:
                self.source.brake(deceleration, limits)
                return
        self.source.rest(self.time)
        self._enter(Event.HALTED)

    def _begin(self, time: float, position: FloatArray) -> None:
        self._enter(Event.STATE)
        self.time, self.position = time - self._period, position
        self.source = ReferenceSource(position, time, self._fade_time)
        self._transfer(False)

    def _restart_source(self) -> None:
        self.source = ReferenceSource(self.position, self.time, self._fade_time)

    def _enter(self, event: Event) -> None:
        self.mode = TRANSITIONS[self.mode, event]

    def _mode_text(self) -> str:
        return self.mode.name.lower() + (f" ({self.fault})" if self.fault else "")
