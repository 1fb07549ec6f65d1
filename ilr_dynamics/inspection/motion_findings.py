# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Findings on motion: how much there is, and whether velocities belong to it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import scipy
from numpy.typing import NDArray

from ilr_dynamics.arrays import BoolArray, FloatArray, IndexArray
from ilr_dynamics.inspection.evidence import Evidence
from ilr_dynamics.inspection.finding import Finding, Severity, join_names
from ilr_dynamics.recording.position_tracks import encoder_steps
from ilr_dynamics.robot.description import RobotDescription

__all__ = ["degrees_finding", "motion_findings"]

# What velocities may be of the change of positions: a filter damps fast motion by less than a
# third, and units differ by far more.
LEAST_SLOPE, LARGEST_SLOPE = 0.6, 1.5
# Share of velocities that belong to their positions, at least: lag and filters leave nine tenths.
# Of a slow joint, whose positions are noisy, the factor is as wrong as this share is below one.
ALIKE, CLEARLY_ALIKE = 0.6, 0.9
# Noise of differences of encoder steps lasts shorter, s.
NOISE_S = 0.1
# A joint that is slower shows no velocity, rms, rad/s.
SHOWS_VELOCITY = 0.02
# A lag that is worth a word, s: more than a control cycle or two.
LAG = 0.005
# No filter of a driver lags by as much, s: it would be slower than the arm.
LARGEST_LAG = 0.05
# Encoder steps that are worth a word, rad: a thousandth of a turn and a half.
COARSE = 1e-3
# Slower everywhere, friction and weight are all that is seen, rad/s.
SLOW = 0.05
# Beyond its limits by this factor a position is in another unit.
FAR_OUT = 2.0
# No joint that moves has the same velocity to the last bit for as long, s.
FROZEN_S = 0.2
# States of which percentiles are taken, at least.
MANY = 100_000


def motion_findings(evidence: Evidence) -> Iterator[Finding]:
    """
    Say what moved, how far and how fast, and what is wrong with measured velocities.

    Parameters
    ----------
    evidence : Evidence
    """
    yield from _ranges(evidence)
    yield from _velocities(evidence)
    yield from _encoders(evidence)


def _ranges(evidence: Evidence) -> Iterator[Finding]:
    n = len(evidence.joints)
    position, velocity, _ = np.split(evidence.samples.X, 3, axis=1)
    span, speed = np.ptp(position, axis=0), np.abs(velocity).max(axis=0)
    limits = evidence.description
    for j in range(n):
        share = ""
        if limits is not None:
            whole = limits.position_upper[j] - limits.position_lower[j]
            share = f", {span[j] / whole:.0%} of its range" if np.isfinite(whole) else ""
        yield Finding(
            "range",
            Severity.INFO,
            f"{evidence.joints[j]} moves from {position[:, j].min():.2f} to "
            f"{position[:, j].max():.2f} rad{share}, at {speed[j]:.2f} rad/s at most",
            joint=evidence.joints[j],
            value=float(span[j]),
            unit="rad",
        )
    still = [evidence.joints[j] for j in np.flatnonzero(~evidence.moving)]
    if still or speed.max() < SLOW:
        what = f"{', '.join(still)} hardly moved" if still else "no joint was faster than "
        what = what if still else f"{what}{speed.max():.2g} rad/s"
        none = len(still) == n or speed.max() < SLOW
        yield Finding(
            "no_excitation",
            Severity.WARNING if none else Severity.INFO,
            f"{what}: inertia and friction of these cannot be learned",
            "move all joints at the speeds that the arm is to track",
            value=float(speed.max()),
            unit="rad/s",
        )


def _velocities(evidence: Evidence) -> Iterator[Finding]:
    recorded = evidence.recording
    place = np.searchsorted(recorded.time, evidence.samples.time)
    measured = recorded.velocity[place]
    if np.isnan(measured).all():
        yield Finding(
            "zero_velocity", Severity.INFO, "the states hold no velocities; none are needed"
        )
        return
    _, velocity, acceleration = np.split(evidence.samples.X, 3, axis=1)
    for j, joint in enumerate(evidence.joints):
        true, given, change = velocity[:, j], measured[:, j], acceleration[:, j]
        used = np.isfinite(given)
        frozen = used & _frozen(evidence, j, place)
        rest = used & ~frozen
        # Where the rest is not of its positions either, they are another joint's, say, that rests.
        if frozen.any() and _belong(true[rest], given[rest], change[rest], recorded.period):
            yield _stuck(evidence, joint, frozen, given)
            used = rest
        true, given, change = true[used], given[used], change[used]
        if not len(true):
            continue
        slope, lag, alike = _of_change(true, given, change, recorded.period)
        fits = LEAST_SLOPE <= slope <= LARGEST_SLOPE
        slow = not _shows_velocity(true)
        if slow and (fits or alike < CLEARLY_ALIKE or not _shows_velocity(given)):
            continue
        if not given.any():
            yield _velocity(
                "zero_velocity", joint, 0.0, f"the velocities of {joint} are zero while it moves"
            )
        elif not fits:
            yield _velocity(
                "velocity_scale",
                joint,
                float(slope),
                f"the velocities of {joint} are {slope:.3g} times the change of its positions; "
                "expected 1, rad/s",
            )
        elif alike < ALIKE or not -LAG <= lag <= LARGEST_LAG:
            yield _velocity(
                "velocity_scale",
                joint,
                float(slope),
                f"the velocities of {joint} do not belong to its positions: {alike:.0%} of them "
                f"are their change, {1e3 * lag:.0f} ms late; those of another joint?",
            )
        elif abs(lag) > LAG:
            yield Finding(
                "filtered_velocity",
                Severity.INFO,
                f"the velocities of {joint} lag by {1e3 * lag:.1f} ms; positions are learned from",
                joint=joint,
                value=1e3 * float(lag),
                unit="ms",
            )


def _shows_velocity(true: FloatArray) -> bool:
    return len(true) > 0 and bool(np.sqrt(np.mean(true**2)) >= SHOWS_VELOCITY)


def _belong(true: FloatArray, given: FloatArray, change: FloatArray, period: float) -> bool:
    """Whether velocities are those of the positions, filtered at most."""
    if not _shows_velocity(true):
        return False
    slope, lag, alike = _of_change(true, given, change, period)
    lags = -LAG <= lag <= LARGEST_LAG
    return bool(LEAST_SLOPE <= slope <= LARGEST_SLOPE and alike >= ALIKE and lags)


def _frozen(evidence: Evidence, joint: int, place: IndexArray) -> BoolArray:
    """Whether the joint moves in samples (n,), states `place`, while its velocity never changes.

    A velocity that is in steps may stay at one that is the nearest.
    """
    recorded = evidence.recording
    given = recorded.velocity[:, joint]
    same = np.diff(given[1:] == given[:-1], prepend=False, append=False)
    # Of runs of equal velocities, which are few where these are finer than the motion.
    first, last = np.flatnonzero(same).reshape(-1, 2).T
    long = recorded.time[last] - recorded.time[first] >= FROZEN_S
    frozen = np.zeros(len(place), dtype=bool)
    if not long.any():
        return frozen
    step = float(encoder_steps(given[:, np.newaxis].astype(np.float64))[0])
    true = evidence.samples.X[:, len(evidence.joints) + joint]
    true = scipy.ndimage.uniform_filter1d(true, max(round(NOISE_S / recorded.period), 1))
    moves = np.abs(true - given[place]) > SLOW + step
    for begin, end in zip(first[long].tolist(), last[long].tolist(), strict=True):
        rows = slice(*np.searchsorted(place, [begin, end + 1]))
        if np.count_nonzero(moves[rows]) * recorded.period >= FROZEN_S:
            frozen[rows] = moves[rows]
    return frozen


def _stuck(
    evidence: Evidence, joint: str, frozen: BoolArray, given: NDArray[np.floating]
) -> Finding:
    times = evidence.samples.time[frozen]
    share = float(frozen.mean())
    what = "zero" if not given[frozen].any() else "frozen"
    return replace(
        _velocity(
            "zero_velocity",
            joint,
            share,
            f"the velocities of {joint} are {what} in {share:.0%} of the states while it moves",
        ),
        from_s=float(times[0]),
        to_s=float(times[-1]),
    )


def _of_change(
    true: FloatArray, given: FloatArray, change: FloatArray, period: float
) -> tuple[float, float, float]:
    """What velocities are of the change of positions: factor, lag in s, and share explained.

    Encoder steps make noise of short periods, which is no part of the share.
    """
    columns = np.column_stack([true, -change])
    slope, lag = np.linalg.lstsq(columns, given, rcond=None)[0]
    width = max(round(NOISE_S / period), 1)
    smooth = scipy.ndimage.uniform_filter1d(np.column_stack([columns, given]), width, axis=0)
    left = smooth[:, 2] - smooth[:, :2] @ [slope, lag]
    alike = 1.0 - float(left @ left) / (float(smooth[:, 2] @ smooth[:, 2]) + 1e-300)
    return float(slope), float(lag / slope) if slope else 0.0, alike


def _velocity(kind: str, joint: str, value: float, text: str) -> Finding:
    return Finding(
        kind,
        Severity.WARNING,
        f"{text}; learning differentiates positions, the controller's damping would not",
        "mend the driver, or let it send no velocities",
        joint=joint,
        value=value,
    )


def _encoders(evidence: Evidence) -> Iterator[Finding]:
    steps = encoder_steps(evidence.recording.position)
    for step, joint in zip(steps.tolist(), evidence.joints, strict=True):
        if step > COARSE:
            yield Finding(
                "coarse_encoder",
                Severity.INFO,
                f"the position of {joint} is in steps of {step:.2g} rad",
                "accelerations are coarse: let the driver publish its finest encoder, unrounded",
                joint=joint,
                value=step,
                unit="rad",
            )


def degrees_finding(
    position: FloatArray, description: RobotDescription, joints: tuple[str, ...]
) -> Finding | None:
    """
    Say whether positions are in degrees.

    Parameters
    ----------
    position : ndarray of shape (n, n_joints)
        As recorded.
    description : RobotDescription
        With the limits of the joints.
    joints : tuple of str
    """
    # Enough for percentiles.
    position = position[:: max(1, len(position) // MANY)]
    lower, upper = description.position_lower, description.position_upper
    width = upper - lower
    low, high = np.percentile(position, [1.0, 99.0], axis=0)
    out = np.maximum(lower - low, high - upper) > (FAR_OUT - 1.0) * width
    radians = np.radians(position)
    inside = (np.percentile(radians, 1.0, axis=0) >= lower - 0.1 * width) & (
        np.percentile(radians, 99.0, axis=0) <= upper + 0.1 * width
    )
    if not out.any() or not inside.all():
        return None
    worst = int(np.argmax(np.maximum(lower - low, high - upper)))
    names = join_names([joints[j] for j in np.flatnonzero(out)])
    return Finding(
        "degrees",
        Severity.ERROR,
        f"positions are in degrees ({names}): {joints[worst]} goes from {low[worst]:.4g} to "
        f"{high[worst]:.4g}, and its limits are {lower[worst]:.3g} and {upper[worst]:.3g} rad",
        "publish radians, as REP 103 asks",
        joint=names,
        value=float(high[worst] - low[worst]),
        unit="deg",
    )
