# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Reference generator: the desired state over time, smooth across new trajectories and stops."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ilr_dynamics.arrays import FloatArray
from ilr_dynamics.control.joint_path import JointPath, Reference
from ilr_dynamics.control.limits import JointLimits, check_motion, check_path
from ilr_dynamics.exceptions import TrajectoryError

__all__ = ["Motion", "ReferenceSource"]

# Shortest duration of braking, s: from almost rest it would be almost zero, with any acceleration.
_SHORTEST_BRAKE = 0.1
# Jerk at which the acceleration fades before braking, rad/s^3, and bounds of the time that takes,
# s. An acceleration kept while braking would speed up a joint that is to stop.
_RELEASE_JERK = 300.0
_SHORTEST_RELEASE, _LONGEST_RELEASE = 0.005, 0.03
# Samples at which the limits are checked while a difference fades: the reference is off the path.
_SAMPLES_PER_FADE = 25


@dataclass(frozen=True, eq=False)
class Motion:
    """
    Present motion of the reference: a path and a fading difference from it.

    Attributes
    ----------
    path : JointPath or None
        Path to follow; None to stand still at the present reference.
    start : float
        Time at which the path's own time is zero, s.
    fade : JointPath or None
        Difference that is added to the path while it fades out.
    fade_start : float
        Time at which the fade's own time is zero, s.
    """

    path: JointPath | None = None
    start: float = 0.0
    fade: JointPath | None = None
    fade_start: float = 0.0

    def at(self, time: float) -> Reference | None:
        """Return the reference at ``time``; None to stand still."""
        if self.path is None:
            return None
        reference = self.path.sample(time - self.start)
        if self.fade is None:
            return reference
        return _sum(reference, self.fade.sample(time - self.fade_start))

    def finished(self, time: float) -> bool:
        """
        Whether the motion is over at ``time``.

        A path that does not end at rest is over at its end even while a difference still fades:
        beyond its end the path stands still, so only braking from the last reference continues
        the motion smoothly.
        """
        if self.path is None:
            return True
        if time - self.start < self.path.end:
            return False
        faded = self.fade is None or time - self.fade_start >= self.fade.end
        return faded or not self.path.ends_at_rest


_STILL = Motion()


class ReferenceSource:
    """
    Reference generator that holds a point, follows a path or brakes, with smooth transitions.

    The difference between the present reference and a new path fades out along a quintic, so
    that position, velocity and acceleration stay continuous.

    Parameters
    ----------
    position : ndarray of shape (n_joints,)
        Position to hold at first, rad.
    time : float
        Time of the first reference, s.
    fade_time : float
        Time over which a difference fades out, s.
    """

    def __init__(self, position: FloatArray, time: float, fade_time: float) -> None:
        self._fade_time = fade_time
        self._time = time
        self._reference = Reference.at_rest(position)
        self._motion = Motion()

    def advance(self, time: float) -> Reference:
        """Move on to ``time``, which must not decrease, and return the reference there."""
        self._reference = self.preview(time)
        self._time = time
        return self._reference

    def preview(self, time: float) -> Reference:
        """Return the reference at ``time`` if nothing is changed until then; change nothing."""
        reference = self._motion.at(time)
        return self._reference if reference is None else reference

    def finished(self, time: float) -> bool:
        """Whether the present motion is over at ``time``."""
        return self._motion.finished(time)

    @property
    def motion(self) -> Motion:
        """The present motion; a new object whenever it changes."""
        return self._motion

    @property
    def reference(self) -> Reference:
        """The present reference."""
        return self._reference

    @property
    def ends_at_rest(self) -> bool:
        """Whether the path stands still at its end."""
        return self._motion.path is None or self._motion.path.ends_at_rest

    def rest(self, time: float) -> None:
        """Hold the reference position at ``time``, whatever the velocity there."""
        self.hold(self.advance(time).position)

    def hold(self, position: FloatArray) -> None:
        """Hold ``position`` (n_joints,), rad, from now on."""
        self._motion = Motion()
        self._reference = Reference.at_rest(position)

    def lead(self, time: float, position: FloatArray, velocity: FloatArray) -> None:
        """Take a measured state (n_joints,), rad and rad/s, for the reference at ``time``."""
        self._motion = _STILL
        self._time = time
        self._reference = Reference(position, velocity, np.zeros_like(position))

    def follow(
        self, path: JointPath, start: float | None, limits: JointLimits, tolerance: FloatArray
    ) -> None:
        """
        Follow a path from the present reference on.

        If the first point is due later than the fade time, a segment from the present reference
        to it is added. Otherwise the path must be within ``tolerance`` of the present reference,
        and the difference fades out. A path whose first point is due sooner and has a velocity is
        extrapolated backward to now for that; if it is then too far away, a segment is added
        after all.

        Parameters
        ----------
        path : JointPath
            Path to follow.
        start : float or None
            Time at which the path's own time is zero, s; None for now. Points in the past are
            skipped.
        limits : JointLimits
            Limits for the path and for the way to it. If the present reference is beyond a
            position limit, the way back from there is allowed.
        tolerance : ndarray of shape (n_joints,)
            Largest distance between the path and the present reference, rad.

        Raises
        ------
        TrajectoryError
            If the path is over already, too far away or beyond a limit. The motion then stays
            as it was.
        """
        start = self._time if start is None else start
        now = self._time - start
        if now > path.end:
            raise TrajectoryError(f"the trajectory ended {now - path.end:.3f} s ago")
        check_path(path, limits)
        limits = limits.widened_to(self._reference.position)
        difference = None
        if 0.0 < path.start - now < self._fade_time and not path.starts_at_rest:
            extended = path.extended_back(now)
            if (np.abs(extended.positions[0] - self._reference.position) <= tolerance).all():
                path = extended
        ahead = path.start - now
        if ahead >= self._fade_time or ahead > 0.0 and not path.starts_at_rest:
            path = path.preceded_by(now, self._reference)
            check_path(path, limits)
        else:
            difference = self._difference(path.sample(now), limits.joints, tolerance)
            self._check_fade(path, difference, now, limits)
        self._motion = Motion(path, start, difference, self._time)

    def brake(self, deceleration: float, limits: JointLimits) -> None:
        """
        Come to rest along the present motion.

        First the acceleration fades linearly, within 5 ms where a joint would otherwise exceed its
        velocity limit. Then a quartic of duration T leads from velocity v to zero velocity and
        acceleration: it ends v T / 2 ahead and decelerates by at most 1.5 v / T.

        Parameters
        ----------
        deceleration : float
            Deceleration of the fastest joint, rad/s^2; more where the joint's range ends sooner.
        limits : JointLimits
            Limits whose position range contains the end.
        """
        now = self._reference
        release = _release_time(now, limits.velocity)
        velocity = now.velocity + release * now.acceleration / 2.0
        position = now.position + release * (now.velocity + release * now.acceleration / 3.0)
        speed = np.abs(velocity)
        ahead = np.where(velocity > 0.0, limits.position_upper, limits.position_lower)
        room = np.maximum(np.where(velocity > 0.0, 1.0, -1.0) * (ahead - position), 0.0)
        # A joint comes to rest after half the distance that it would cover at its present speed.
        longest = np.divide(
            2.0 * room, speed, out=np.full_like(speed, np.inf), where=speed > 1e-12
        )
        duration = max(
            min(1.5 * float(speed.max()) / deceleration, float(longest.min())), _SHORTEST_BRAKE
        )
        end = position + duration * velocity / 2.0
        end = np.clip(end, limits.position_lower, limits.position_upper)
        zero = np.zeros_like(end)
        path = JointPath(
            (0.0, release, release + duration),
            (now.position, position, end),
            (now.velocity, velocity, zero),
            (now.acceleration, zero, zero),
        )
        self._motion = Motion(path, self._time)

    def _check_fade(
        self, path: JointPath, difference: JointPath, now: float, limits: JointLimits
    ) -> None:
        times = np.linspace(0.0, min(self._fade_time, path.end - now), _SAMPLES_PER_FADE)
        # Before its end: from there on the path stands still, whatever its velocity was.
        of_path = np.minimum(now + times, np.nextafter(path.end, -np.inf))
        # As many samples again after a short path, if it ends at rest: else it is over there.
        if path.ends_at_rest and times[-1] < self._fade_time:
            after = np.linspace(times[-1], self._fade_time, _SAMPLES_PER_FADE)[1:]
            times, of_path = np.append(times, after), np.append(of_path, now + after)
        states = [
            _sum(path.sample(along), difference.sample(time))
            for along, time in zip(of_path, times, strict=True)
        ]
        check_motion(
            times,
            np.array([state.position for state in states]),
            np.array([state.velocity for state in states]),
            limits,
        )

    def _difference(
        self, target: Reference, joints: tuple[str, ...], tolerance: FloatArray
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


def _release_time(now: Reference, velocity_limits: FloatArray) -> float:
    """Time over which the acceleration fades so that no joint exceeds its velocity limit, s."""
    size = np.abs(now.acceleration)
    room = np.maximum(velocity_limits - np.sign(now.acceleration) * now.velocity, 0.0)
    until_limit = np.divide(2.0 * room, size, out=np.full_like(size, np.inf), where=size > 0.0)
    wanted = min(float(size.max()) / _RELEASE_JERK, float(until_limit.min()))
    return min(max(wanted, _SHORTEST_RELEASE), _LONGEST_RELEASE)
