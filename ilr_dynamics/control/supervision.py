# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Supervision: bounds whose violation is a fault, and the reaction to a fault."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ilr_dynamics.arrays import BoolArray, FloatArray
from ilr_dynamics.control._comparisons import within
from ilr_dynamics.control._validation import freeze, non_negative
from ilr_dynamics.control.joint_path import Reference
from ilr_dynamics.exceptions import InvalidParameterError

__all__ = ["Supervision"]

# Change of position that is always allowed from one state to the next, rad, whatever the time
# between them: encoders are coarse and stamps inexact.
_JUMP = 0.05


@dataclass(frozen=True, slots=True, eq=False)
class Supervision:
    """
    Bounds whose violation is a fault, and the reaction to a fault.

    Parameters
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
        Deceleration of the fastest joint when braking to a halt, rad/s^2.
    let_down_time : float or None
        Time, s, over which the holding torque fades out after a fault, until only damping is left
        and the arm sinks. None: the arm is held where it was measured, by the PD and the fault's
        feed-forward, until a person acts.
    blind_time : float
        Time, s, over which the fault's feed-forward at the last position fades out when no joint
        states come, as no position can be held without them.
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
        Return which bound the measured state violates, or None.

        Parameters
        ----------
        reference : Reference
            Desired state at the same time.
        position, velocity : ndarray of shape (n_joints,)
            Measured position and velocity, rad and rad/s.
        joints : tuple of str
            Names of the joints, for the text.
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
        Return which joint's measured position has jumped, or None.

        An arm does not move at much more than twice the bound on velocities. A larger change is a
        bit error, a counter that has wrapped, or a second sender of joint states. An arm that
        really moves too fast is found by its velocity (`violation`).

        Parameters
        ----------
        change : ndarray of shape (n_joints,)
            Change of position since the last usable state, rad.
        elapsed : float
            Time since then, s.
        joints : tuple of str
            Names of the joints, for the text.
        """
        # True in nearly every cycle: each joint's own bound need not be computed.
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
        Whether each joint's position (n_joints,) has changed by more than an arm can move.

        Parameters are those of `jump`.
        """
        # With this form of the comparison a NaN counts as a jump.
        return ~(np.abs(change) <= self._largest_change(elapsed))

    def _largest_change(self, elapsed: float) -> FloatArray:
        return _JUMP + 2.0 * elapsed * self.velocity

    def held_share(self, since_fault: float) -> float:
        """Return the share in [0, 1] of the holding torque at a time (s) after a fault."""
        if self.let_down_time is None:
            return 1.0
        return max(0.0, 1.0 - since_fault / self.let_down_time)
