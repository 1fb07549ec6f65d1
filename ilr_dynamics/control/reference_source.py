# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""The desired state over time, smooth across new trajectories and stops."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ilr_dynamics.control.joint_path import JointPath, Reference
from ilr_dynamics.control.limits import JointLimits, check_path
from ilr_dynamics.exceptions import TrajectoryError

__all__ = ["ReferenceSource"]

Array = NDArray[np.float64]

# A brake from next to standing still would ask for next to no time and any acceleration.
_SHORTEST_BRAKE = 0.1


class ReferenceSource:
    """Holds a point, follows a path or brakes, without a jump in between.

    The difference between the present reference and a new path fades out along a quintic, so
    that position, velocity and acceleration stay continuous.

    Parameters
    ----------
    position : ndarray of shape (n_joints,)
        Where to stand still at first, rad.
    time : float
        Of the first reference, s.
    fade_time : float
        For how long a difference fades, s.
    """

    def __init__(self, position: Array, time: float, fade_time: float) -> None:
        self._fade_time = fade_time
        self._time = time
        self._reference = Reference.at_rest(position)
        self._path: JointPath | None = None
        self._path_start = 0.0
        self._fade: JointPath | None = None
        self._fade_start = 0.0

    def advance(self, time: float) -> Reference:
        """Return the reference at ``time``, which never decreases."""
        if self._path is not None:
            reference = self._path.sample(time - self._path_start)
            if self._fade is not None:
                reference = _sum(reference, self._fade.sample(time - self._fade_start))
            self._reference = reference
        self._time = time
        return self._reference

    def finished(self, time: float) -> bool:
        """Whether the path, if there is one, has nothing more to say at ``time``."""
        return (
            self._path is None
            or time - self._path_start >= self._path.end
            and (self._fade is None or time - self._fade_start >= self._fade.end)
        )

    @property
    def reference(self) -> Reference:
        """The present reference."""
        return self._reference

    @property
    def ends_at_rest(self) -> bool:
        """Whether the path stands still at its end."""
        return self._path is None or self._path.ends_at_rest

    def rest(self, time: float) -> None:
        """Hold the position desired at ``time``, whatever the velocity there."""
        self.hold(self.advance(time).position)

    def hold(self, position: Array) -> None:
        """Hold ``position`` (n_joints,), rad, from now on."""
        self._path = self._fade = None
        self._reference = Reference.at_rest(position)

    def follow(
        self, path: JointPath, start: float | None, limits: JointLimits, tolerance: Array
    ) -> None:
        """Follow a path from the present reference on.

        A first point that lies further ahead than the fade time is approached as one more
        segment of the path. Otherwise the path must pass the present reference within
        ``tolerance``, and the difference fades out.

        Parameters
        ----------
        path : JointPath
        start : float or None
            Time at which the path's own time is zero, s; None for now. What lies in the past
            is passed over.
        limits : JointLimits
            That the path and its approach keep to.
        tolerance : ndarray of shape (n_joints,)
            In rad.

        Raises
        ------
        TrajectoryError
            If the path is over already, too far away or beyond a limit. The reference then
            stays as it was.
        """
        start = self._time if start is None else start
        now = self._time - start
        if now > path.end:
            raise TrajectoryError(f"the trajectory ended {now - path.end:.3f} s ago")
        ahead = path.start - now >= self._fade_time
        if ahead:
            path = path.preceded_by(now, self._reference)
        check_path(path, limits)
        difference = (
            None if ahead else self._difference(path.sample(now), limits.joints, tolerance)
        )
        self._path, self._path_start = path, start
        self._fade, self._fade_start = difference, self._time

    def brake(self, deceleration: float, limits: JointLimits) -> None:
        """Come to rest along the present motion.

        A quartic from the present state to zero velocity and acceleration: its end lies
        v T / 2 + a T^2 / 12 ahead, and without a it decelerates by at most 1.5 v / T.

        Parameters
        ----------
        deceleration : float
            Of the fastest joint, rad/s^2.
        limits : JointLimits
            Whose position range the end keeps to.
        """
        now = self._reference
        speed = float(np.abs(now.velocity).max())
        duration = max(1.5 * speed / deceleration, _SHORTEST_BRAKE)
        end = now.position + duration * (now.velocity / 2 + duration * now.acceleration / 12)
        end = np.clip(end, limits.position_lower, limits.position_upper)
        zero = np.zeros_like(end)
        self._path = JointPath(
            (0.0, duration),
            (now.position, end),
            (now.velocity, zero),
            (now.acceleration, zero),
        )
        self._path_start = self._time
        self._fade = None

    def _difference(
        self, target: Reference, joints: tuple[str, ...], tolerance: Array
    ) -> JointPath:
        now = self._reference
        distance = now.position - target.position
        far = np.abs(distance) > tolerance
        if far.any():
            joint = int(np.argmax(far))
            raise TrajectoryError(
                f"the trajectory starts with joint {joints[joint]} at "
                f"{target.position[joint]:.3f} rad, but it is held at "
                f"{now.position[joint]:.3f} rad: expected at most {tolerance[joint]:g} rad "
                f"between them, or a first point at least {self._fade_time:g} s ahead"
            )
        zero = np.zeros_like(distance)
        return JointPath(
            (0.0, self._fade_time),
            (distance, zero),
            (now.velocity - target.velocity, zero),
            (now.acceleration - target.acceleration, zero),
        )


def _sum(a: Reference, b: Reference) -> Reference:
    return Reference(
        a.position + b.position, a.velocity + b.velocity, a.acceleration + b.acceleration
    )
