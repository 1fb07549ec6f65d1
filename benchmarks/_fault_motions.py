# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Joint motions of all sorts, with their exact derivatives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.random import Generator
from scipy.interpolate import BPoly

from ilr_dynamics.arrays import BoolArray, FloatArray

__all__ = ["STYLES", "Motion", "Room", "draw_motion", "periodic_motion", "standstill"]

Derivatives = tuple[FloatArray, FloatArray, FloatArray]

STYLES = ("multisine", "eight", "points", "pairs", "slow")
"""Kinds of motion; in "pairs" two joints move at a time, and all others rest."""

# Beyond the recorded time, for torques that belong to states at its ends, s.
MARGIN = 1.0
# Of a motion that begins, pauses and goes on, s.
RAMP = 0.6
# What controllers of such arms are asked for at most, rad/s^2.
LARGEST_ACCELERATION = 12.0
# Of the fastest joint: of its velocity limit, and rad/s in slow motions.
FAST, SLOW = (0.3, 0.8), (0.06, 0.2)
# How far joints go to either side, rad, and of the joint's range at most.
AMPLITUDE, OF_RANGE = (0.15, 0.7), 0.42


class Path(Protocol):
    """A curve in the space of the joints."""

    def at(self, along: FloatArray) -> Derivatives:
        """Return point and derivatives, (n, n_joints), at places along it (n,)."""
        ...


@dataclass(frozen=True)
class Room:
    """
    Where joints may go.

    Attributes
    ----------
    lower, upper, velocity : ndarray of shape (n_joints,)
        Limits, rad and rad/s.
    centre : mapping of int to float
        Joints that are to move about a given angle, rad.
    """

    lower: FloatArray
    upper: FloatArray
    velocity: FloatArray
    centre: Mapping[int, float]


@dataclass(frozen=True)
class Sines:
    """Sums of sines about a posture; amplitude, rate and phase have shape (n_joints, n_sines)."""

    centre: FloatArray
    amplitude: FloatArray
    rate: FloatArray
    phase: FloatArray

    def at(self, along: FloatArray) -> Derivatives:
        angle = self.rate * along[:, np.newaxis, np.newaxis] + self.phase
        sine, cosine = np.sin(angle), np.cos(angle)
        return (
            self.centre + np.einsum("jk,njk->nj", self.amplitude, sine),
            np.einsum("jk,njk->nj", self.amplitude * self.rate, cosine),
            np.einsum("jk,njk->nj", -self.amplitude * self.rate**2, sine),
        )


@dataclass(frozen=True)
class Turns:
    """Sines of which each joint has its own in some of several windows, and rests in others."""

    sines: Sines
    window: float
    active: BoolArray

    def at(self, along: FloatArray) -> Derivatives:
        # A fourth power of a sine begins and ends with three derivatives of 0.
        place = along / self.window
        number = np.clip(np.floor(place).astype(int), 0, len(self.active) - 1)
        inside = (place >= 0.0) & (place < len(self.active))
        rate = np.pi / self.window
        sine, cosine = np.sin(rate * along), np.cos(rate * along)
        mask = self.active[number] & inside[:, np.newaxis]
        e0, e1, e2 = (
            mask * part[:, np.newaxis]
            for part in (
                sine**4,
                4.0 * rate * sine**3 * cosine,
                4.0 * rate**2 * (3.0 * sine**2 * cosine**2 - sine**4),
            )
        )
        q, first, second = self.sines.at(along)
        q = q - self.sines.centre
        return (
            self.sines.centre + e0 * q,
            e1 * q + e0 * first,
            e2 * q + 2.0 * e1 * first + e0 * second,
        )


@dataclass(frozen=True)
class Points:
    """Quintics from posture to posture."""

    curve: BPoly

    def at(self, along: FloatArray) -> Derivatives:
        along = np.clip(along, self.curve.x[0], self.curve.x[-1])
        return tuple(self.curve.derivative(k)(along) if k else self.curve(along) for k in range(3))


@dataclass(frozen=True)
class Motion:
    """
    A path that is run through faster and slower.

    Attributes
    ----------
    style : str
        One of `STYLES`, or "standstill".
    path : Path
    pace : BPoly
        Places along the path a second, over time.
    scale : float
        Of `pace`.
    """

    style: str
    path: Path
    pace: BPoly
    scale: float = 1.0

    def at(self, time: FloatArray) -> Derivatives:
        """Position, velocity, acceleration (n, n_joints), rad and s, at times (n,)."""
        pace = self.scale * self.pace(time)
        change = self.scale * self.pace.derivative()(time)
        along = self.scale * self.pace.antiderivative()(time)
        q, first, second = self.path.at(along)
        velocity = first * pace[:, np.newaxis]
        acceleration = second * pace[:, np.newaxis] ** 2 + first * change[:, np.newaxis]
        return q, velocity, acceleration

    def slower(self, factor: float) -> Motion:
        """Return the same motion, by a factor slower."""
        return replace(self, scale=self.scale / factor)

    def smaller(self, widest: float) -> Motion:
        """Return a motion of sines of which the joint that goes farthest has this range, rad."""
        if not isinstance(self.path, Sines):
            raise ValueError(f"a motion of style {self.style} cannot be made smaller")
        q, _, _ = self.path.at(np.linspace(0.0, 100.0, 5000))
        amplitude = self.path.amplitude * widest / np.ptp(q, axis=0).max()
        return replace(self, path=replace(self.path, amplitude=amplitude))


def draw_motion(
    random: Generator, room: Room, duration: float, style: str, pauses: int, at_rest: bool
) -> Motion:
    """
    Draw a motion.

    Parameters
    ----------
    random : Generator
    room : Room
    duration : float
        s.
    style : str
        One of `STYLES`.
    pauses : int
        Times that it stands still for 0.5 to 2 s.
    at_rest : bool
        Whether it begins with 0.5 to 2 s of standstill.

    Returns
    -------
    Motion
    """
    pace = _pace(random, duration, pauses, at_rest)
    n = len(room.lower)
    slow = style == "slow"
    share = random.uniform(*FAST)
    top = np.full(n, random.uniform(*SLOW)) if slow else share * room.velocity
    if style == "points":
        return Motion(style, _draw_points(random, room, duration, top), pace)
    sines = _draw_sines(random, room, "eight" if style == "eight" else "multisine")
    _, first, second = sines.at(np.linspace(0.0, 60.0, 6000))
    scale = min(
        float((top / np.abs(first).max(axis=0)).min()),
        float(np.sqrt(LARGEST_ACCELERATION / np.abs(second).max())),
    )
    if style != "pairs":
        return Motion(style, sines, pace, scale)
    # The path's unit is the second, so that windows last.
    sines = replace(sines, rate=sines.rate * scale)
    number = max(2, round(duration / random.uniform(3.0, 5.0)))
    active = np.zeros((number, n), dtype=bool)
    order = np.concatenate([random.permutation(n) for _ in range(2 * number)])
    for row in active:
        first_joint = order[0]
        second_joint = next(joint for joint in order[1:] if joint != first_joint)
        row[[first_joint, second_joint]] = True
        order = np.delete(order, [0, 1 + int(np.argmax(order[1:] == second_joint))])
    return Motion(style, Turns(sines, duration / number, active), pace)


def periodic_motion(random: Generator, room: Room, period: float) -> Motion:
    """Return a motion that repeats itself without end."""
    sines = _draw_sines(random, room, "multisine")
    turn = 2.0 * np.pi / period
    rate = turn * np.maximum(np.round(1.5 * sines.rate / turn), 1.0)
    pace = BPoly.from_derivatives([-MARGIN, period + MARGIN], [[1.0, 0.0, 0.0]] * 2)
    return Motion("multisine", replace(sines, rate=rate), pace)


def standstill(motion: Motion) -> Motion:
    """Return a motion that stays where another one begins."""
    pace = BPoly.from_derivatives(motion.pace.x[[0, -1]], [[0.0, 0.0, 0.0]] * 2)
    return Motion("standstill", motion.path, pace)


def _pace(random: Generator, duration: float, pauses: int, at_rest: bool) -> BPoly:
    """Speed along a path: 1 but for pauses."""
    knots, speeds = [-MARGIN], [0.0 if at_rest else 1.0]
    if at_rest:
        begin = random.uniform(0.5, 2.0)
        knots += [begin, begin + RAMP]
        speeds += [0.0, 1.0]
    if pauses:
        room = (duration - max(knots[-1], 0.0)) / pauses
        for number in range(pauses):
            begin = max(knots[-1], 0.0) + random.uniform(0.1, 0.4) * room
            end = min(
                begin + RAMP + random.uniform(0.5, 2.0), duration - room * (pauses - 1 - number)
            )
            end = max(end, begin + RAMP + 0.3)
            knots += [begin, begin + RAMP, end, end + RAMP]
            speeds += [1.0, 0.0, 0.0, 1.0]
    knots.append(max(duration, knots[-1]) + MARGIN)
    speeds.append(1.0)
    return BPoly.from_derivatives(knots, [[speed, 0.0, 0.0] for speed in speeds])


def _draw_posture(random: Generator, room: Room, amplitude: FloatArray) -> FloatArray:
    """Angles about which joints have the room for an amplitude."""
    lower, upper = (
        np.maximum(room.lower, -2.2) + 0.1 + amplitude,
        np.minimum(room.upper, 2.2) - 0.1 - amplitude,
    )
    middle = 0.5 * (lower + upper)
    posture = middle + random.uniform(-0.7, 0.7, len(middle)) * np.maximum(
        0.5 * (upper - lower), 0
    )
    for joint, angle in room.centre.items():
        posture[joint] = angle
    return posture


def _draw_sines(random: Generator, room: Room, style: str) -> Sines:
    n = len(room.lower)
    amplitude = np.minimum(
        random.uniform(*AMPLITUDE, n),
        OF_RANGE * (np.minimum(room.upper, 2.2) - np.maximum(room.lower, -2.2)),
    )
    posture = _draw_posture(random, room, amplitude)
    if style == "eight":
        rate = random.choice([1.0, 2.0], (n, 1))
        rate[random.permutation(n)[:2]] = [[1.0], [2.0]]
        share = np.ones((n, 1))
    else:
        rate = np.array([0.5, 1.1, 1.9]) * random.uniform(0.8, 1.25, (n, 3))
        share = random.dirichlet([3.0, 3.0, 2.0], n)
    phase = random.uniform(0.0, 2.0 * np.pi, rate.shape)
    return Sines(posture, amplitude[:, np.newaxis] * share, rate, phase)


def _draw_points(
    random: Generator, room: Room, duration: float, top: Sequence[float] | FloatArray
) -> Points:
    """Go to posture after posture, some time resting there."""
    n = len(room.lower)
    centre = _draw_posture(random, room, np.full(n, AMPLITUDE[1]))
    reach = np.full(n, AMPLITUDE[1])

    def posture() -> FloatArray:
        # Both sides of the middle: a motion that goes nowhere is no motion.
        side = random.choice([-1.0, 1.0], n)
        return np.clip(
            centre + side * random.uniform(0.3, 1.0, n) * reach,
            room.lower + 0.05,
            room.upper - 0.05,
        )

    time, postures = [-MARGIN], [posture()]
    if random.uniform() < 0.3:
        time.append(random.uniform(0.0, 1.0))
        postures.append(postures[-1])
    while time[-1] < duration + MARGIN:
        goal = posture()
        way = np.abs(goal - postures[-1])
        # Peak velocity and acceleration of a quintic between rests.
        takes = max(
            float((1.875 * way / top).max()),
            float(np.sqrt(5.774 * way.max() / LARGEST_ACCELERATION)),
            0.3,
        )
        time.append(time[-1] + takes)
        postures.append(goal)
        if random.uniform() < 0.5:
            time.append(time[-1] + random.uniform(0.1, 1.0))
            postures.append(goal)
    rest = np.zeros(n)
    return Points(BPoly.from_derivatives(time, [[point, rest, rest] for point in postures]))
