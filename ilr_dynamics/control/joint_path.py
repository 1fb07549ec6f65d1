# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Joint-space trajectories: piecewise polynomials through given points."""

from __future__ import annotations

from bisect import bisect_right
from math import factorial
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ilr_dynamics.arrays import FloatArray, IndexArray
from ilr_dynamics.control.quintics import BEZIER, HERMITE, basis
from ilr_dynamics.exceptions import TrajectoryError

__all__ = ["JointPath", "Reference"]

# Velocity below which a joint counts as at rest, rad/s: one count of a 4096-count encoder behind a
# gear of 42 is 4e-5 rad.
_REST_VELOCITY = 1e-3


# A named tuple, because one is made in every cycle: a frozen dataclass takes three times as long.
class Reference(NamedTuple):
    """
    Desired state of the joints at one instant.

    Attributes
    ----------
    position, velocity, acceleration : ndarray of shape (n_joints,)
        Desired position, velocity and acceleration, rad, rad/s and rad/s^2.
    """

    position: FloatArray
    velocity: FloatArray
    acceleration: FloatArray

    @classmethod
    def at_rest(cls, position: ArrayLike) -> Reference:
        """Return the reference that stands still at ``position`` (n_joints,), rad."""
        position = _read_only(position)
        zero = _read_only(np.zeros_like(position))
        return cls(position, zero, zero)


class JointPath:
    """
    Piecewise polynomial path of all joints over time.

    As in ROS's joint_trajectory_controller the degree follows from the fields that are given:
    positions alone give straight lines, positions and velocities cubics, positions, velocities
    and accelerations quintics. Each segment is the Hermite polynomial that has the given values
    at both its ends.

    Parameters
    ----------
    times : array_like of shape (n_points,)
        Times of the points, strictly increasing, s.
    positions : array_like of shape (n_points, n_joints)
        Positions at the points, rad.
    velocities, accelerations : array_like of shape (n_points, n_joints), optional
        Velocities and accelerations at the points, rad/s and rad/s^2. Accelerations without
        velocities are refused.

    Raises
    ------
    TrajectoryError
        If shapes disagree, a value is not finite, or times do not strictly increase.
    """

    def __init__(
        self,
        times: ArrayLike,
        positions: ArrayLike,
        velocities: ArrayLike | None = None,
        accelerations: ArrayLike | None = None,
    ) -> None:
        self.times = _checked_times(times)
        if accelerations is not None and velocities is None:
            raise TrajectoryError("accelerations were given without velocities: expected both")
        given = {
            "positions": positions,
            "velocities": velocities,
            "accelerations": accelerations,
        }
        self.fields: tuple[FloatArray, ...] = tuple(
            _checked_field(name, values, len(self.times))
            for name, values in given.items()
            if values is not None
        )
        n_joints = {field.shape[1] for field in self.fields}
        if len(n_joints) != 1:
            raise TrajectoryError(
                "positions, velocities and accelerations hold different numbers of joints: "
                f"{[field.shape[1] for field in self.fields]}"
            )
        # Python floats: bisect and scalar arithmetic on them are several times faster.
        self._knots: list[float] = self.times.tolist()
        self._rates: list[float] = (1.0 / np.diff(self.times)).tolist()
        # One segment after the other, so that what a cycle reads is contiguous in memory.
        self._coefficients = np.ascontiguousarray(np.moveaxis(self._segments(), 0, 1))
        self._first = Reference.at_rest(self.positions[0])
        self._last = Reference.at_rest(self.positions[-1])

    @property
    def positions(self) -> FloatArray:
        """Positions at the points, (n_points, n_joints), rad."""
        return self.fields[0]

    @property
    def degree(self) -> int:
        """Degree of the polynomials: 1, 3 or 5."""
        return 2 * len(self.fields) - 1

    @property
    def n_joints(self) -> int:
        """Number of joints."""
        return int(self.positions.shape[1])

    @property
    def start(self) -> float:
        """Time of the first point, s."""
        return self._knots[0]

    @property
    def end(self) -> float:
        """Time of the last point, s."""
        return self._knots[-1]

    @property
    def starts_at_rest(self) -> bool:
        """Whether the velocity at the first point is not given or too low to be measured."""
        return len(self.fields) == 1 or bool(np.abs(self.fields[1][0]).max() < _REST_VELOCITY)

    @property
    def ends_at_rest(self) -> bool:
        """Whether the velocity at the last point is not given or too low to be measured."""
        return len(self.fields) == 1 or bool(np.abs(self.fields[1][-1]).max() < _REST_VELOCITY)

    @property
    def stops_at_every_point(self) -> bool:
        """
        Whether the velocity is zero at each point and there are points between the ends.

        Senders that do not know the velocities often fill in zeros.
        """
        if len(self.fields) == 1 or len(self.times) < 3 or self.fields[1].any():
            return False
        return bool((self.positions != self.positions[0]).any())

    def sample(self, time: float) -> Reference:
        """
        Evaluate the path, which is at rest before its first point and from its last point on.

        Parameters
        ----------
        time : float
            Time on the axis of ``times``, s.
        """
        if time < self._knots[0]:
            return self._first
        if time >= self._knots[-1]:
            return self._last
        segment = bisect_right(self._knots, time) - 1
        rate = self._rates[segment]
        powers = basis((time - self._knots[segment]) * rate, rate)
        position, velocity, acceleration = powers.dot(self._coefficients[segment])
        return Reference(position, velocity, acceleration)

    def sample_inside(
        self, n_per_segment: int, segments: IndexArray | slice = slice(None)
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """
        Evaluate segments at evenly spaced times, both ends included.

        Parameters
        ----------
        n_per_segment : int
            Number of times per segment.
        segments : ndarray of int or slice
            Segments to evaluate; all by default.

        Returns
        -------
        times : ndarray of shape (n,)
            Times, s, with n = n_segments * n_per_segment. A path of one point gives that point.
        positions, velocities : ndarray of shape (n, n_joints)
            Positions and velocities at these times, rad and rad/s.
        """
        if len(self.times) == 1:
            return self.times, self.positions, np.zeros_like(self.positions)
        fractions = np.linspace(0.0, 1.0, n_per_segment)
        bases = np.stack([basis(fraction, 1.0)[:2] for fraction in fractions], axis=1)
        values = bases[:, None] @ self._coefficients[segments]
        durations = np.diff(self.times)[segments, None]
        times = self.times[:-1][segments, None] + durations * fractions
        positions, velocities = values[0], values[1] / durations[:, :, None]
        shape = (-1, self.n_joints)
        return times.ravel(), positions.reshape(shape), velocities.reshape(shape)

    def bounding_points(self) -> tuple[FloatArray, FloatArray]:
        """
        Return the Bezier control points of every segment, whose extremes bound it.

        Returns
        -------
        positions : ndarray of shape (6, n_segments, n_joints)
            Control points of the positions, rad. A path of one point gives that point, of shape
            (1, 1, n_joints).
        velocities : ndarray of shape (5, n_segments, n_joints)
            Control points of the velocities, rad/s.
        """
        if len(self.times) == 1:
            return self.positions[None], np.zeros_like(self.positions[None])
        positions = _map_segments(BEZIER, np.moveaxis(self._coefficients, 1, 0))
        # The derivative of a Bezier curve is a Bezier curve of the differences of its points.
        velocities = np.diff(positions, axis=0)
        velocities *= 5.0 / np.diff(self.times)[:, None]
        return positions, velocities

    def preceded_by(self, time: float, reference: Reference) -> JointPath:
        """
        Return this path with one more segment before it, which starts at ``reference``.

        Parameters
        ----------
        time : float
            Start of the new segment, before the first point, s.
        reference : Reference
            State at the start of the new segment.
        """
        state = (reference.position, reference.velocity, reference.acceleration)
        fields = [np.vstack((row, field)) for row, field in zip(state, self.fields, strict=False)]
        return JointPath(np.append(time, self.times), *fields)

    def extended_back(self, time: float) -> JointPath:
        """
        Return this path extrapolated backward from its first point to ``time``.

        The acceleration is constant where accelerations are given; else the velocity is, or
        without velocities the position.

        Parameters
        ----------
        time : float
            New start of the path, before the first point, s.
        """
        elapsed = time - self.start
        state = [field[0] for field in self.fields]
        earlier = [
            sum(
                derivative * elapsed**order / factorial(order)
                for order, derivative in enumerate(state[lowest:])
            )
            for lowest in range(len(state))
        ]
        fields = [np.vstack((row, field)) for row, field in zip(earlier, self.fields, strict=True)]
        return JointPath(np.append(time, self.times), *fields)

    def _segments(self) -> FloatArray:
        """Coefficients of all segments in normalised time, (6, n_segments, n_joints)."""
        durations = np.diff(self.times)[:, None]
        scaled = [field[:-1] * durations**order for order, field in enumerate(self.fields)]
        scaled += [field[1:] * durations**order for order, field in enumerate(self.fields)]
        return _map_segments(HERMITE[self.degree], np.stack(scaled))


def _map_segments(matrix: FloatArray, values: FloatArray) -> FloatArray:
    """Product of a matrix (m, n) with the values of every segment (n, n_segments, n_joints)."""
    return (matrix @ values.reshape(len(values), -1)).reshape(len(matrix), *values.shape[1:])


def _checked_times(times: ArrayLike) -> FloatArray:
    values = np.array(times, dtype=float)
    if values.ndim != 1 or len(values) == 0:
        raise TrajectoryError(f"expected at least one point, got times of shape {values.shape}")
    if not np.isfinite(values).all():
        raise TrajectoryError(f"time of point {_first_bad(values)[0]} is not finite")
    late = np.flatnonzero(np.diff(values) <= 0.0)
    if len(late):
        point = int(late[0]) + 1
        raise TrajectoryError(
            f"times must strictly increase, but point {point} is at {values[point]:g} s "
            f"after point {point - 1} at {values[point - 1]:g} s"
        )
    return _read_only(values)


def _checked_field(name: str, values: ArrayLike, n_points: int) -> FloatArray:
    array = np.array(values, dtype=float)
    if array.ndim != 2 or len(array) != n_points or array.shape[1] == 0:
        raise TrajectoryError(
            f"{name} have shape {array.shape}: expected ({n_points} points, joints)"
        )
    if not np.isfinite(array).all():
        point, joint = _first_bad(array)
        raise TrajectoryError(f"{name} of point {point}, joint {joint}, are not finite")
    return _read_only(array)


def _first_bad(values: FloatArray) -> tuple[int, ...]:
    return tuple(int(i) for i in np.argwhere(~np.isfinite(values))[0])


def _read_only(values: ArrayLike) -> FloatArray:
    array = np.array(values, dtype=float)
    array.setflags(write=False)
    return array
