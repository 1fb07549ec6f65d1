# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""
Motions that cover a box of posture, speed and acceleration, all drawn from one law.

Each joint is driven by an acceleration that is drawn uniformly, held for a drawn time, and cut to
what keeps the joint in its box: it always can stop before a bound. The points so found are the
control points of a quintic B-spline. Its positions, velocities and accelerations are convex
combinations of the points, of their first and of their second differences, so that the motion
stays in the box as they do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.interpolate import BSpline
from scipy.spatial import cKDTree

from ilr_dynamics.arrays import FloatArray
from ilr_dynamics.control import JointPath

__all__ = ["Box", "box_around", "covering_path", "distance_ratios", "states_of"]

DEGREE = 5
# Between control points, s; an acceleration is held for one to so many of them: up to a second.
STEP, LONGEST_HOLD = 0.1, 10
# Of the states that a box is put around, s.
SAMPLING = 0.01
# States recorded within this time of each other are neighbours on one stretch of motion, s.
STRETCH = 1.0
# Training states whose median distance is the spacing: it is then known to a few percent.
SPACING_STATES = 400


@dataclass(frozen=True)
class Box:
    """
    Bounds of the states of the joints.

    Attributes
    ----------
    lower, upper : (n_joints,)
        Positions, rad.
    speed, acceleration : (n_joints,)
        Largest magnitudes, rad/s and rad/s^2.
    """

    lower: FloatArray
    upper: FloatArray
    speed: FloatArray
    acceleration: FloatArray

    @property
    def half_widths(self) -> FloatArray:
        """Units (3 n_joints,) in which states of this box are equally far apart."""
        return np.concatenate([0.5 * (self.upper - self.lower), self.speed, self.acceleration])


def states_of(path: JointPath) -> FloatArray:
    """States [q, qd, qdd] (n, 3 n_joints) along a path."""
    times = np.arange(path.start, path.end, SAMPLING)
    return np.array([np.concatenate(path.sample(time)) for time in times])


def box_around(paths: Sequence[JointPath]) -> Box:
    """Smallest box that holds all states of these paths."""
    position, velocity, acceleration = np.split(
        np.concatenate([states_of(path) for path in paths]), 3, axis=1
    )
    return Box(
        position.min(axis=0),
        position.max(axis=0),
        np.abs(velocity).max(axis=0),
        np.abs(acceleration).max(axis=0),
    )


def covering_path(
    box: Box, start: FloatArray, duration: float, random: np.random.Generator
) -> JointPath:
    """
    Draw a motion of this duration, s, from rest at a posture (n_joints,) in the box.

    Returns
    -------
    JointPath
        Its knots are those of the B-spline, so that between them it is the B-spline itself.
    """
    n_points = round(duration / STEP) + DEGREE
    steps = _steps(box, start, n_points - DEGREE - 1, random)
    # The motion is at rest where the first points are one.
    points = np.vstack([np.tile(start, (DEGREE + 1, 1)), start + np.cumsum(steps, axis=0)])
    knots = STEP * np.arange(-DEGREE, n_points + 1)
    spline = BSpline(knots, points, DEGREE)
    times = knots[DEGREE : n_points + 1]
    return JointPath(times, *(spline(times, order) for order in range(3)))


def _steps(box: Box, start: FloatArray, n_steps: int, random: np.random.Generator) -> FloatArray:
    """Differences (n_steps, n_joints) of one control point from the next, rad."""
    longest, change = STEP * box.speed, STEP**2 * box.acceleration
    position, step = start.copy(), np.zeros_like(start)
    drawn, left = np.zeros_like(start), np.zeros(len(start), dtype=int)
    steps = np.empty((n_steps, len(start)))
    for row in steps:
        over = left == 0
        left[over] = random.integers(1, LONGEST_HOLD + 1, over.sum())
        drawn[over] = random.uniform(-change, change)[over]
        up = np.minimum(longest, _longest_step(box.upper - position, change))
        down = np.minimum(longest, _longest_step(position - box.lower, change))
        free = step + drawn
        step = np.clip(free, -down, up)
        position = position + step
        # Back from a bound, lest it stay there: the box shall be filled evenly.
        drawn = np.where(step < free, -np.abs(drawn), np.where(step > free, np.abs(drawn), drawn))
        left -= 1
        row[:] = step
    return steps


def _longest_step(room: FloatArray, change: FloatArray) -> FloatArray:
    """
    Longest step after which ever shorter ones, each by `change`, still end within `room`.

    With n more steps that is d + (d - change) + ... + (d - n change) = room.
    """
    room = np.maximum(room, 0.0)
    n = np.floor(0.5 * (np.sqrt(1.0 + 8.0 * room / change) - 1.0))
    return np.asarray(room / (n + 1.0) + 0.5 * n * change)


def distance_ratios(states: FloatArray, X: FloatArray, times: FloatArray, box: Box) -> FloatArray:
    """
    How far states are from the nearest training state, in units of the training states' spacing.

    The spacing is the median distance of a training state from the nearest one of another stretch
    of motion: a state drawn from the same law has a ratio of about one, a copy one of zero.

    Parameters
    ----------
    states : (n, 3 n_joints)
    X, times : (m, 3 n_joints), (m,)
        Training states, and when they were recorded, s; recordings lie apart in time.
    box
        For the units of distance.

    Returns
    -------
    (n,)
    """
    units = box.half_widths
    tree = cKDTree(X / units)
    chosen = np.random.default_rng(0).choice(len(X), min(len(X), SPACING_STATES), replace=False)
    spacing = np.median([_to_other_stretch(tree, times, row) for row in chosen])
    return np.asarray(tree.query(states / units)[0] / spacing)


def _to_other_stretch(tree: cKDTree, times: FloatArray, row: int) -> float:
    """Distance of a training state from the nearest one of another stretch of motion."""
    k = 16
    while True:
        distances, rows = tree.query(tree.data[row], k=min(k, tree.n))
        elsewhere = np.abs(times[rows] - times[row]) > STRETCH
        if elsewhere.any() or k >= tree.n:
            return float(distances[np.argmax(elsewhere)])
        k *= 4
