# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Torques that do not change although their joints move: all the time, or for a while."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ilr_dynamics.arrays import BoolArray, FloatArray, IndexArray
from ilr_dynamics.inspection.evidence import Evidence
from ilr_dynamics.inspection.finding import Finding, Severity
from ilr_dynamics.inspection.torque_runs import TorqueRuns, torque_runs, torque_steps
from ilr_dynamics.learning.plausibility import constant_joints

__all__ = ["constant_torques"]

# Of what a joint's torque changes by on its way, by the description: less is none.
NO_SHARE = 0.02
# Correlation with the described torque, below which a small one is noise.
ALIKE = 0.5
# A value of an unrounded torque that stays for as long, s, and for longer than values usually stay
# by this factor, is no longer that of the moment: drivers repeat one for some cycles, 0.02 s.
LONG, LONGER = 0.1, 3.0
# In all as long, s, while the joint goes as far, rad: friction alone would show. Or the joint was
# moved by hand, of which nothing can be learned. In each run so far that it is no noise, rad.
HELD_FOR, GOES, GOES_IN_RUN = 0.3, 0.05, 0.01
# Share of the moving states, from which on a recording is refused: each of their torques may be
# wrong by twice the torque's rms, and a learned one by 2 % of that.
MUCH = 0.01
# Of a torque limit, where a torque is at it.
AT_LIMIT = 0.999
# Postures in which the weight is asked for, and steps of a rounded torque by which it must change.
POSTURES, STEPS = 20, 2.0
ADVICE = "record the topic of commanded torques, or let the driver fill its efforts"


def constant_torques(evidence: Evidence) -> Iterator[Finding]:
    """
    Say which joints' torques do not change, and which hold a value for a while.

    Parameters
    ----------
    evidence : Evidence
    """
    constant = _constant(evidence)
    for j in np.flatnonzero(constant):
        value = float(np.median(evidence.samples.Y[:, j]))
        yield Finding(
            "zero_effort",
            Severity.ERROR,
            f"the torque of {evidence.joints[j]} is {value:.4g} Nm throughout, although it moves",
            ADVICE,
            joint=evidence.joints[j],
            value=value,
            unit="Nm",
        )
    for j in np.flatnonzero(~constant):
        yield from _held(evidence, int(j))


def _constant(evidence: Evidence) -> BoolArray:
    """Whether each joint's torque says nothing, (n_joints,)."""
    Y = evidence.samples.Y
    constant = np.zeros(Y.shape[1], dtype=bool)
    constant[constant_joints(evidence.samples)] = True
    if evidence.terms is not None:
        # Noise of a sensor that measures something else. In another unit all torques are small.
        torque, described = Y[evidence.rows], evidence.described
        share = np.std(torque, axis=0) / (np.std(described, axis=0) + 1e-12)
        usual = np.median(share[evidence.moving]) if evidence.moving.any() else 0.0
        small = share < NO_SHARE * min(usual, 1.0)
        constant |= evidence.moving & small & (_correlation(torque, described) < ALIKE)
    return constant


def _correlation(one: FloatArray, other: FloatArray) -> FloatArray:
    """Size of the correlation (n_joints,) of torques (n, n_joints)."""
    one, other = one - one.mean(axis=0), other - other.mean(axis=0)
    size = np.linalg.norm(one, axis=0) * np.linalg.norm(other, axis=0)
    return np.asarray(np.abs(np.sum(one * other, axis=0)) / (size + 1e-300))


def _held(evidence: Evidence, j: int) -> Iterator[Finding]:
    """Say that a joint's torque holds values while it moves."""
    recording, joint = evidence.recording, evidence.joints[j]
    runs = torque_runs(recording, j)
    rows = _long_runs(evidence, j, runs)
    lasts = float(runs.n_moving[rows].sum()) * recording.period
    gone = [np.ptp(recording.position[_states(runs, row), j]) for row in rows.tolist()]
    if lasts < HELD_FOR or sum(gone) < GOES:
        return
    values = np.unique(recording.torque[runs.first[rows], j])
    value = float(values[0]) if len(values) == 1 else None
    what = f"stays at one of {len(values)} values" if value is None else f"is {value:.4g} Nm"
    share = float(runs.n_moving[rows].sum()) / runs.all_moving
    yield Finding(
        "zero_effort",
        Severity.ERROR if share >= MUCH else Severity.WARNING,
        f"the torque of {joint} {what} for {lasts:.3g} s in all, although it moves",
        ADVICE,
        joint=joint,
        from_s=float(recording.time[runs.first[rows[0]]]),
        to_s=float(recording.time[runs.last[rows[-1]]]),
        value=value,
        unit="" if value is None else "Nm",
    )


def _long_runs(evidence: Evidence, j: int, runs: TorqueRuns) -> IndexArray:
    """Runs in which the torque stays for longer than a driver repeats a value, and must change."""
    states = max(LONG / evidence.recording.period, LONGER * runs.usual)
    long = np.flatnonzero((runs.n_moving >= states) & ~_at_a_limit(evidence, j, runs))
    if not long.size:
        return long
    step, size = torque_steps(evidence.recording, j)
    step = 0.0 if step <= NO_SHARE * size else step
    must_change = [_must_change(evidence, j, _states(runs, row), step) for row in long.tolist()]
    return long[np.array(must_change)]


def _must_change(evidence: Evidence, j: int, states: slice, step: float) -> bool:
    """Whether the joint goes far enough for its torque to change by more than its steps.

    What is rounded coarsely stays at a step while friction alone is felt: the weight must change.
    """
    position = evidence.recording.position[states]
    if np.ptp(position[:, j]) < GOES_IN_RUN:
        return False
    if step == 0.0:
        return True
    if evidence.model is None or not evidence.nominal_gravity.any():
        return False
    some = position[np.linspace(0, len(position) - 1, POSTURES).round().astype(np.intp)]
    weight = [float(evidence.model.gravity(q)[j]) for q in some]
    return bool(np.ptp(weight) > STEPS * step)


def _at_a_limit(evidence: Evidence, j: int, runs: TorqueRuns) -> BoolArray:
    """Whether something limits the torque in each run: the drive, or what is largest of it."""
    torque = evidence.recording.torque
    size = np.abs(torque[runs.first, j])
    largest = max(float(torque[:, j].max()), -float(torque[:, j].min()))
    limited = (size == largest) & (size > 0.0)
    if torque.shape[1] > 1:
        # Not all joints are at their limits at once: they are not updated.
        middle = (runs.first + runs.last) // 2
        limited &= (torque[middle] != torque[middle - 1]).any(axis=1)
    limit = evidence.settings.torque_limit
    if limit is None and evidence.description is not None:
        limit = evidence.description.torque_limit.tolist()
    return np.asarray(limited | (size >= AT_LIMIT * limit[j]) if limit is not None else limited)


def _states(runs: TorqueRuns, row: int) -> slice:
    return slice(int(runs.first[row]), int(runs.last[row]) + 1)
