# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Tolerances of a trajectory goal: on the way, at the end, and how late the end may be."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ilr_dynamics.arrays import FloatArray, read_only
from ilr_dynamics.control._comparisons import within
from ilr_dynamics.exceptions import TrajectoryError

__all__ = ["AskedTolerance", "AskedTolerances", "GoalTolerances", "StateTolerance"]

# What a goal gives for no tolerance, where 0 means the default. As joint_trajectory_controller
# has it, any number that is as close as floats of 32 bits can be.
_NONE = -1.0
_NONE_SLACK = float(np.finfo(np.float32).eps)


class AskedTolerance(NamedTuple):
    """
    Tolerance that a goal asks for, as in control_msgs/JointTolerance.

    Attributes
    ----------
    joint : str
        Name of the joint.
    position, velocity, acceleration : float
        Largest error, rad, rad/s and rad/s^2; 0: the default; -1: none.
    """

    joint: str
    position: float
    velocity: float
    acceleration: float


class AskedTolerances(NamedTuple):
    """
    All that a goal asks for.

    Attributes
    ----------
    path, goal : tuple of AskedTolerance
        On the way and at the end.
    goal_time : float
        Longest time from the trajectory's end until the arm is there, s; 0: the default; -1: any.
    """

    path: tuple[AskedTolerance, ...] = ()
    goal: tuple[AskedTolerance, ...] = ()
    goal_time: float = 0.0


@dataclass(frozen=True, slots=True, eq=False)
class StateTolerance:
    """
    Largest errors of the measured state.

    Parameters
    ----------
    position, velocity : ndarray of shape (n_joints,)
        Largest error of each joint, rad and rad/s; infinite: any.
    """

    position: FloatArray
    velocity: FloatArray

    @classmethod
    def of_all(cls, n_joints: int, position: float, velocity: float = 0.0) -> StateTolerance:
        """Return the same tolerance for all joints, rad and rad/s; 0: none."""
        values = (read_only(np.full(n_joints, value or np.inf)) for value in (position, velocity))
        return cls(*values)

    def asked(
        self, tolerances: Iterable[AskedTolerance], joints: Sequence[str], name: str
    ) -> StateTolerance:
        """
        Return this tolerance with what a goal asks for instead.

        Parameters
        ----------
        tolerances : iterable of AskedTolerance
            What the goal asks for.
        joints : sequence of str
            All joints, in the order of the arrays.
        name : str
            Name of the tolerance, for the error.

        Raises
        ------
        TrajectoryError
            If a joint is unknown, a value is negative but not -1 or not a number, or an
            acceleration has a tolerance: accelerations are not measured.
        """
        position, velocity = self.position.copy(), self.velocity.copy()
        for one in tolerances:
            if one.joint not in joints:
                raise TrajectoryError(
                    f"{name} names the joint {one.joint!r}: expected one of {', '.join(joints)}"
                )
            at, where = joints.index(one.joint), f"{name} of joint {one.joint}"
            position[at] = _resolved(f"{where}, position,", one.position, position[at])
            velocity[at] = _resolved(f"{where}, velocity,", one.velocity, velocity[at])
            if math.isfinite(_resolved(f"{where}, acceleration,", one.acceleration, np.inf)):
                raise TrajectoryError(
                    f"{where}, acceleration, is {one.acceleration:g}: expected 0 or -1, as "
                    "accelerations are not measured"
                )
        return StateTolerance(read_only(position), read_only(velocity))

    def violation(
        self, position_error: FloatArray, velocity_error: FloatArray, joints: Sequence[str]
    ) -> str | None:
        """
        Return which joint is beyond its tolerance, or None.

        Parameters
        ----------
        position_error, velocity_error : ndarray of shape (n_joints,)
            Desired less measured state, rad and rad/s. NaN is beyond any tolerance.
        joints : sequence of str
            Names of the joints, for the text.
        """
        for name, unit, error, tolerance in (
            ("position", "rad", position_error, self.position),
            ("velocity", "rad/s", velocity_error, self.velocity),
        ):
            if not within(error, tolerance):
                joint = int(np.argmax(~(np.abs(error) <= tolerance)))
                return (
                    f"{name} error of joint {joints[joint]} is {error[joint]:.3f} {unit}, "
                    f"expected at most {tolerance[joint]:g} {unit}"
                )
        return None


@dataclass(frozen=True, slots=True, eq=False)
class GoalTolerances:
    """
    Tolerances of a trajectory goal.

    Parameters
    ----------
    path : StateTolerance
        Of the measured state against the desired one, until the trajectory ends.
    goal : StateTolerance
        Of the measured state against rest at the last point, from then on.
    goal_time : float
        Longest time from the trajectory's end until that is met, s; infinite: any.
    """

    path: StateTolerance
    goal: StateTolerance
    goal_time: float = math.inf

    @classmethod
    def of_all(
        cls, n_joints: int, path: float, goal: float, stopped_velocity: float, goal_time: float
    ) -> GoalTolerances:
        """
        Return the same tolerances for all joints; 0: none.

        Parameters
        ----------
        n_joints : int
            Number of joints.
        path, goal : float
            Largest position error on the way and at the end, rad.
        stopped_velocity : float
            Largest velocity of an arm that has stopped, rad/s.
        goal_time : float
            Longest time from the trajectory's end until the arm is there, s.
        """
        return cls(
            StateTolerance.of_all(n_joints, path),
            StateTolerance.of_all(n_joints, goal, stopped_velocity),
            goal_time or math.inf,
        )

    def asked(self, asked: AskedTolerances, joints: Sequence[str]) -> GoalTolerances:
        """Return these with what a goal asks for instead, see `StateTolerance.asked`."""
        return GoalTolerances(
            self.path.asked(asked.path, joints, "path_tolerance"),
            self.goal.asked(asked.goal, joints, "goal_tolerance"),
            _resolved("goal_time_tolerance", asked.goal_time, self.goal_time),
        )


def _resolved(name: str, asked: float, default: float) -> float:
    """Return the tolerance for what is asked for, infinite for none."""
    if asked > 0.0:
        return asked
    if asked == 0.0:
        return default
    if abs(asked - _NONE) < _NONE_SLACK:
        return math.inf
    raise TrajectoryError(
        f"{name} is {asked:g}: expected a positive number, 0 for the default or -1 for none"
    )
