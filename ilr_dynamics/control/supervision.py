# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""What the controller watches, and what it does when something is wrong."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ilr_dynamics.arrays import BoolArray, FloatArray
from ilr_dynamics.control._comparisons import within
from ilr_dynamics.control._validation import freeze, non_negative
from ilr_dynamics.control.joint_path import Reference
from ilr_dynamics.exceptions import InvalidParameterError

__all__ = ["Supervision"]

# Of a position from one state to the next, whatever the time between them, rad: encoders are
# coarse, and stamps not exact.
_JUMP = 0.05


@dataclass(frozen=True, slots=True, eq=False)
class Supervision:
    """
    Bounds whose violation is a fault, and the reaction to one.

    Attributes
    ----------
    start_tolerance : ndarray of shape (n_joints,)
        Largest distance of a trajectory's start from the present reference, rad.
    tracking_error : ndarray of shape (n_joints,)
        Largest distance between desired and measured position, rad.
    velocity : ndarray of shape (n_joints,)
        Largest measured velocity, rad/s; wider than the limit on desired velocities.
    input_timeout : float
        Longest time between two joint states, s.
    deceleration : float
        Of the fastest joint when braking to a halt, rad/s^2.
    let_down_time : float or None
        After a fault the arm is held where it was measured, by the PD and the fault's
        feed-forward. With a time given, this torque fades out over it, s, and damping alone
        stays: the arm sinks. None holds until somebody acts.
    blind_time : float
        Without joint states nothing can be held: the fault's feed-forward at the last position
        fades out over this time, s.
    """

    start_tolerance: FloatArray
    tracking_error: FloatArray
    velocity: FloatArray
    input_timeout: float = 0.1
    deceleration: float = 5.0
    let_down_time: float | None = None
    blind_time: float = 3.0

    def __post_init__(self) -> None:
        n_joints = np.size(self.start_tolerance)
        for name in ("start_tolerance", "tracking_error", "velocity"):
            freeze(self, name, non_negative(name, getattr(self, name), n_joints))
        for name in ("input_timeout", "deceleration", "let_down_time", "blind_time"):
            value = getattr(self, name)
            if value is not None and not 0.0 < value < np.inf:
                raise InvalidParameterError(f"{name} must be positive and finite, got {value:g}")

    def violation(
        self,
        reference: Reference,
        position: FloatArray,
        velocity: FloatArray,
        joints: tuple[str, ...],
    ) -> str | None:
        """
        Return what is wrong with the measured state, or None.

        Parameters
        ----------
        reference : Reference
            Desired at the same time.
        position, velocity : ndarray of shape (n_joints,)
            Measured, rad and rad/s.
        joints : tuple of str
            Names for the text.
        """
        error = reference.position - position
        if not within(error, self.tracking_error):
            error = np.abs(error)
            joint = int(np.argmax(error - self.tracking_error))
            return (
                f"tracking error of joint {joints[joint]} is {error[joint]:.3f} rad: "
                f"expected at most {self.tracking_error[joint]:g} rad"
            )
        if not within(velocity, self.velocity):
            joint = int(np.argmax(np.abs(velocity) - self.velocity))
            return (
                f"velocity of joint {joints[joint]} is {velocity[joint]:.3f} rad/s: "
                f"expected at most {self.velocity[joint]:g} rad/s"
            )
        return None

    def jump(self, change: FloatArray, elapsed: float, joints: tuple[str, ...]) -> str | None:
        """
        Return what is wrong with a change of the measured position, or None.

        Twice as fast as the bound on velocities, and then some, an arm does not move: a bit is
        wrong, a counter has wrapped, or somebody else sends joint states too. An arm that must not
        move so fast in reality is found by its velocity.

        Parameters
        ----------
        change : ndarray of shape (n_joints,)
            Since the last usable state, rad.
        elapsed : float
            Time since then, s.
        joints : tuple of str
            Names for the text.
        """
        # In nearly every cycle: no look at each joint's own bound is needed.
        if max(map(abs, change.tolist())) <= _JUMP or not self.has_jumped(change, elapsed).any():
            return None
        largest = self._largest_change(elapsed)
        joint = int(np.argmax(np.abs(change) - largest))
        return (
            f"joint {joints[joint]} has moved by {change[joint]:.3f} rad within {elapsed:.3f} s: "
            f"expected at most {largest[joint]:.3f} rad"
        )

    def has_jumped(self, change: FloatArray, elapsed: float) -> BoolArray:
        """
        Tell which joints' positions (n_joints,) have changed by more than an arm can move.

        As `jump`.
        """
        # Written so that a change that is not a number is one.
        return ~(np.abs(change) <= self._largest_change(elapsed))

    def _largest_change(self, elapsed: float) -> FloatArray:
        return _JUMP + 2.0 * elapsed * self.velocity

    def held_share(self, since_fault: float) -> float:
        """Return the share of the holding torque, in [0, 1], at a time (s) after a fault."""
        if self.let_down_time is None:
            return 1.0
        return max(0.0, 1.0 - since_fault / self.let_down_time)
