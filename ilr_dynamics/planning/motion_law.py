# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
r"""
Law from which motions to record are drawn: swings about drawn postures, and the ways there.

A piece of motion leads from one posture at rest to another one, c, by a quintic. Half of the
pieces then swing there:

.. math::
    q(t) = c + w(t/T) \sum_{k=1}^{K} a_k \sin(2 \pi k\, t/T + \varphi_k)

with random amplitudes and phases, and a window w that begins and ends at rest. Sums of sines are
what an arm is usually excited with (Swevers et al., 1997). The pace is drawn on a logarithmic
scale: friction shows at low speed, rotors at high. A motion is its waypoints, `STEP` apart, and
the cubic spline through them, which is what is checked, counted and played.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.interpolate import CubicSpline

from ilr_dynamics.arrays import FloatArray, read_only
from ilr_dynamics.exceptions import InvalidParameterError

__all__ = ["STEP", "MotionBounds", "draw_piece", "motion_states", "quintic_way"]

STEP = 0.1
"""Time between waypoints, s."""
# Share of the pieces that are a way alone: the fastest to new places.
WAYS_ALONE = 0.5
# Length of a swing, s, and its fastest sine, Hz: ten waypoints a period leave the spline within a
# few percent of it.
SWING_S, FASTEST_SINE = (3.0, 7.0), 1.0
# Share of the swing in which the window opens, and as much in which it closes.
RAMP = 0.25
# Slowest pace of swings and of ways, as a share of the bounds of velocity.
SLOWEST_SWING, SLOWEST_WAY = 0.03, 0.2
# Smallest amplitude of a joint, as a share of what the bounds allow.
LEAST_SWING = 0.2
# Shortest way between postures, s.
SHORTEST_WAY = 0.5
# Peaks of a quintic from rest to rest: of its velocity, in units of distance / duration, and of
# its acceleration, in those of distance / duration^2.
PEAK_SPEED, PEAK_ACCELERATION = 15.0 / 8.0, 10.0 / np.sqrt(3.0)
# A motion may begin at a bound, and what follows a piece moves it by a little less, rad, rad/s and
# rad/s^2.
SLACK = 1e-6
# Share of the bounds that the law uses: the spline overshoots a little.
FILL = 0.95


@dataclass(frozen=True, eq=False)
class MotionBounds:
    """
    Bounds of a motion, each of shape (n_joints,).

    Parameters
    ----------
    lower, upper : ndarray
        Positions, rad.
    velocity, acceleration : ndarray
        Largest magnitudes, rad/s and rad/s^2.

    Raises
    ------
    InvalidParameterError
        If a bound is not finite, a lower one is not below the upper, or another is not positive.
    """

    lower: FloatArray
    upper: FloatArray
    velocity: FloatArray
    acceleration: FloatArray

    def __post_init__(self) -> None:
        """Check and freeze the arrays."""
        for name in ("lower", "upper", "velocity", "acceleration"):
            values = read_only(getattr(self, name))
            if not np.isfinite(values).all():
                raise InvalidParameterError(
                    f"the bound {name} of the motion is {values.tolist()}, expected finite numbers"
                )
            object.__setattr__(self, name, values)
        if not (self.lower < self.upper).all():
            raise InvalidParameterError(
                f"the positions of the motion would be between {self.lower.tolist()} and "
                f"{self.upper.tolist()} rad, expected every lower bound below the upper one"
            )
        for name in ("velocity", "acceleration"):
            if not (getattr(self, name) > 0.0).all():
                raise InvalidParameterError(
                    f"the bound {name} of the motion is {getattr(self, name).tolist()}, expected "
                    "positive numbers"
                )

    def hold(self, states: FloatArray) -> bool:
        """Whether all states [q, qd, qdd] (m, 3 n_joints) are within the bounds."""
        position, velocity, acceleration = np.split(states, 3, axis=1)
        return bool(
            np.all(position >= self.lower - SLACK)
            and np.all(position <= self.upper + SLACK)
            and np.all(np.abs(velocity) <= self.velocity + SLACK)
            and np.all(np.abs(acceleration) <= self.acceleration + SLACK)
        )


def motion_states(waypoints: FloatArray, per_step: int = 1) -> FloatArray:
    """
    States of the cubic spline through waypoints, from rest to rest.

    Parameters
    ----------
    waypoints : ndarray of shape (m, n_joints)
        Positions `STEP` apart, rad.
    per_step : int
        Number of states for each waypoint but the first.

    Returns
    -------
    ndarray of shape ((m - 1) per_step, 3 n_joints)
        [q, qd, qdd] in rad, rad/s and rad/s^2; that at the first waypoint is left out.
    """
    times = STEP * np.arange(len(waypoints))
    spline = CubicSpline(times, waypoints, bc_type="clamped")
    sampled = STEP / per_step * np.arange(1, per_step * (len(waypoints) - 1) + 1)
    return np.hstack([spline(sampled, order) for order in range(3)])


def draw_piece(bounds: MotionBounds, start: FloatArray, random: np.random.Generator) -> FloatArray:
    """
    Draw a piece of motion: the way from a posture at rest to a drawn one, with or without a swing.

    Parameters
    ----------
    bounds : MotionBounds
        Bounds that the motion keeps, but for what the spline overshoots.
    start : ndarray of shape (n_joints,)
        Where it begins, rad.
    random : numpy.random.Generator

    Returns
    -------
    ndarray of shape (m, n_joints)
        Waypoints after the start, rad.
    """
    centre = random.uniform(bounds.lower, bounds.upper)
    way = quintic_way(bounds, start, centre, _logarithmic(random, SLOWEST_WAY))
    if random.uniform() < WAYS_ALONE:
        return way
    return np.concatenate([way, _swing(bounds, centre, random)])


def quintic_way(
    bounds: MotionBounds, start: FloatArray, end: FloatArray, pace: float = 1.0
) -> FloatArray:
    """
    Waypoints (m, n_joints) of the quintic between postures at rest; the start is left out.

    Parameters
    ----------
    bounds : MotionBounds
    start, end : ndarray of shape (n_joints,)
        Postures, rad.
    pace : float
        Share of the bounds of velocity that the fastest joint reaches.
    """
    distance = np.abs(end - start)
    by_speed = PEAK_SPEED * distance / (FILL * pace * bounds.velocity)
    by_acceleration = np.sqrt(PEAK_ACCELERATION * distance / (FILL * bounds.acceleration))
    duration = max(SHORTEST_WAY, float(np.max(by_speed)), float(np.max(by_acceleration)))
    n_steps = int(np.ceil(duration / STEP - 1e-9))
    return start + _smoothstep(np.arange(1, n_steps + 1) / n_steps)[:, None] * (end - start)


def _swing(bounds: MotionBounds, centre: FloatArray, random: np.random.Generator) -> FloatArray:
    """Waypoints (m, n_joints) of a swing about a posture, after that posture."""
    n_steps = round(random.uniform(*SWING_S) / STEP)
    u = np.arange(n_steps + 1) / n_steps
    orders = np.arange(1, int(FASTEST_SINE * STEP * n_steps) + 1)
    # The fastest are drawn as often as the slowest, and have as much of the velocity.
    orders = orders[: random.integers(1, len(orders) + 1)]
    sizes = random.normal(size=(len(orders), len(centre))) / orders[:, None]
    phases = random.uniform(0.0, 2.0 * np.pi, (len(orders), len(centre)))
    angles = 2.0 * np.pi * orders * u[:, None]
    waves = np.einsum("kj,tkj->tj", sizes, np.sin(angles[:, :, None] + phases))
    shape = (_smoothstep(u / RAMP) * _smoothstep((1.0 - u) / RAMP))[:, None] * waves
    position, velocity, acceleration = np.split(motion_states(shape), 3, axis=1)
    room = np.minimum(bounds.upper - centre, centre - bounds.lower)
    speed = _logarithmic(random, SLOWEST_SWING) * bounds.velocity
    peaks = [np.max(np.abs(values), axis=0) for values in (position, velocity, acceleration)]
    of_bounds = FILL * np.min(
        [
            bound / peak
            for bound, peak in zip((room, speed, bounds.acceleration), peaks, strict=True)
        ],
        axis=0,
    )
    return centre + random.uniform(LEAST_SWING, 1.0, len(centre)) * of_bounds * shape[1:]


def _logarithmic(random: np.random.Generator, lowest: float) -> float:
    """Draw from lowest to 1, evenly in the logarithm."""
    return float(np.exp(random.uniform(np.log(lowest), 0.0)))


def _smoothstep(u: FloatArray) -> FloatArray:
    """Quintic from 0 at u <= 0 to 1 at u >= 1, at rest at both ends."""
    u = np.clip(u, 0.0, 1.0)
    return np.asarray(u**3 * (10.0 - 15.0 * u + 6.0 * u**2))
