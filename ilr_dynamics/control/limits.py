# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Joint limits: position and velocity of a path, magnitude and rate of a torque command."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ilr_dynamics.arrays import BoolArray, FloatArray
from ilr_dynamics.control._validation import freeze, non_negative, per_joint
from ilr_dynamics.control.joint_path import JointPath
from ilr_dynamics.exceptions import InvalidParameterError, TrajectoryError

__all__ = ["JointLimits", "check_motion", "check_path", "limit_torque"]

# A cubic or quintic may overshoot the points at its ends; this many samples find that.
_SAMPLES_PER_SEGMENT = 25
# Longest time that the largest torque may take to fall to zero at the rate limit, s.
_LONGEST_RELEASE = 10.0


@dataclass(frozen=True, slots=True, eq=False)
class JointLimits:
    """
    Limits per joint, each of shape (n_joints,).

    Parameters
    ----------
    joints : tuple of str
        Names of the joints, in the controller's order.
    position_lower, position_upper : ndarray
        Range of desired positions, rad.
    velocity : ndarray
        Largest magnitude of a desired velocity, rad/s.
    torque : ndarray
        Largest magnitude of a command, Nm.
    torque_rate : ndarray
        Largest rate of change of the command, Nm/s. It must bring the largest torque to zero
        within 10 s, because every reaction to a fault relies on that.

    Raises
    ------
    InvalidParameterError
        If the number of values is wrong, a limit other than one of position is negative or not
        finite, a lower limit is not below the upper, or a torque rate is too low.
    """

    joints: tuple[str, ...]
    position_lower: FloatArray
    position_upper: FloatArray
    velocity: FloatArray
    torque: FloatArray
    torque_rate: FloatArray

    def __post_init__(self) -> None:
        for name in ("position_lower", "position_upper"):
            freeze(self, name, per_joint(name, getattr(self, name), len(self.joints)))
        for name in ("velocity", "torque", "torque_rate"):
            freeze(self, name, non_negative(name, getattr(self, name), len(self.joints)))
        if not (self.position_lower < self.position_upper).all():
            raise InvalidParameterError(
                "every lower position limit must be below the upper one, got "
                f"{self.position_lower.tolist()} and {self.position_upper.tolist()} rad"
            )

        if (
            not (self.torque_rate > 0.0).all()
            or (self.torque > _LONGEST_RELEASE * self.torque_rate).any()
        ):
            raise InvalidParameterError(
                f"torque_rate is {self.torque_rate.tolist()} Nm/s: expected positive values that "
                f"take torques of {self.torque.tolist()} Nm back within {_LONGEST_RELEASE:g} s"
            )

    def widened_to(self, position: FloatArray) -> JointLimits:
        """
        Return these limits, widened to include ``position`` (n_joints,), rad.

        An arm that rests next to a mechanical stop, within the margin, can then be moved back.
        """
        inside = (self.position_lower <= position) & (position <= self.position_upper)
        if inside.all():
            return self
        return replace(
            self,
            position_lower=np.minimum(self.position_lower, position),
            position_upper=np.maximum(self.position_upper, position),
        )


def check_path(path: JointPath, limits: JointLimits) -> None:
    """
    Check that a path keeps to the position and velocity limits, between its points too.

    Parameters
    ----------
    path : JointPath
        Path to check.
    limits : JointLimits
        Limits to keep.

    Raises
    ------
    TrajectoryError
        Names the first joint and time beyond a limit.
    """
    if path.n_joints != len(limits.joints):
        raise TrajectoryError(
            f"the path moves {path.n_joints} joints: expected {len(limits.joints)}"
        )
    segments = np.flatnonzero(~_stay_inside(*path.bounding_points(), limits))
    if segments.size:
        check_motion(*path.sample_inside(_SAMPLES_PER_SEGMENT, segments), limits)


def _stay_inside(positions: FloatArray, velocities: FloatArray, limits: JointLimits) -> BoolArray:
    """Whether each segment (n,) is inside for certain, by its `JointPath.bounding_points`."""
    inside = positions.min(axis=0) >= limits.position_lower
    inside &= positions.max(axis=0) <= limits.position_upper
    inside &= np.abs(velocities).max(axis=0) <= limits.velocity
    return inside.all(axis=1)


def check_motion(
    times: FloatArray, positions: FloatArray, velocities: FloatArray, limits: JointLimits
) -> None:
    """
    Check that a sampled motion keeps to the position and velocity limits.

    Parameters
    ----------
    times : ndarray of shape (n,)
        Times of the samples, s.
    positions, velocities : ndarray of shape (n, n_joints)
        Sampled positions and velocities, rad and rad/s.
    limits : JointLimits
        Limits to keep.

    Raises
    ------
    TrajectoryError
        Names the first joint and time beyond a limit.
    """
    # Points may lie exactly on a limit.
    slack = 1e-9
    outside = (positions < limits.position_lower - slack) | (
        positions > limits.position_upper + slack
    )
    if outside.any():
        sample, joint = np.argwhere(outside)[0]
        raise TrajectoryError(
            f"joint {limits.joints[joint]} would be at {positions[sample, joint]:.3f} rad at "
            f"{times[sample]:.3f} s: expected {limits.position_lower[joint]:g} to "
            f"{limits.position_upper[joint]:g} rad"
        )
    fast = np.abs(velocities) > limits.velocity + slack
    if fast.any():
        sample, joint = np.argwhere(fast)[0]
        raise TrajectoryError(
            f"joint {limits.joints[joint]} would move at {velocities[sample, joint]:.3f} rad/s at "
            f"{times[sample]:.3f} s: expected at most {limits.velocity[joint]:g} rad/s"
        )


def limit_torque(
    wanted: FloatArray, previous: FloatArray, limits: JointLimits, elapsed: float
) -> FloatArray:
    """
    Limit a torque and its rate of change since the previous command.

    The rate limit is applied last: when a torque limit is lowered below the present command, the
    command moves there at the rate limit rather than in one jump.

    Parameters
    ----------
    wanted, previous : ndarray of shape (n_joints,)
        Torque before the limits, and previous command, Nm.
    limits : JointLimits
        Limits of torque and torque rate.
    elapsed : float
        Time since the previous command, s.

    Returns
    -------
    ndarray of shape (n_joints,)
        Limited torque, Nm.
    """
    change = limits.torque_rate * elapsed
    bounded = np.minimum(np.maximum(wanted, -limits.torque), limits.torque)
    return np.minimum(np.maximum(bounded, previous - change), previous + change)
