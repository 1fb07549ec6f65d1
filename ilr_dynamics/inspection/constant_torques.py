# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Torques that do not change although their joints move: all the time, or for a while."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ilr_dynamics.arrays import BoolArray, FloatArray
from ilr_dynamics.inspection.evidence import Evidence
from ilr_dynamics.inspection.finding import Finding, Severity
from ilr_dynamics.learning.plausibility import constant_joints

__all__ = ["constant_torques"]

# Of what a joint's torque changes by on its way, by the description: less is none.
NO_SHARE = 0.02
# Correlation with the described torque, below which a small one is noise.
ALIKE = 0.5
# A torque that is zero for as long, s, while its joint goes as far, rad, was not recorded, as
# friction alone would show; or the joint was moved by hand, of which nothing can be learned.
ZERO_FOR, GOES = 0.3, 0.05
ADVICE = "record the topic of commanded torques, or let the driver fill its efforts"


def constant_torques(evidence: Evidence) -> Iterator[Finding]:
    """
    Say which joints' torques do not change, and which are zero for a while.

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
        yield from _zero_for_a_while(evidence, int(j))


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


def _zero_for_a_while(evidence: Evidence, j: int) -> Iterator[Finding]:
    recording = evidence.recording
    zero = recording.torque[:, j] == 0.0
    if not zero.any():
        return
    edges = np.flatnonzero(np.diff(zero, prepend=False, append=False))
    begins, ends = edges[::2], edges[1::2] - 1
    stamp = recording.stamp
    long = stamp[ends] - stamp[begins] >= 1e9 * ZERO_FOR
    lasts, found = 0.0, []
    for begin, end in zip(begins[long].tolist(), ends[long].tolist(), strict=True):
        if np.ptp(recording.position[begin : end + 1, j]) >= GOES:
            found.append((float(recording.time[begin]), float(recording.time[end])))
            lasts += found[-1][1] - found[-1][0]
    if found:
        joint = evidence.joints[j]
        yield Finding(
            "zero_effort",
            Severity.ERROR,
            f"the torque of {joint} is 0 Nm for {lasts:.3g} s in all, although it moves",
            ADVICE,
            joint=joint,
            from_s=found[0][0],
            to_s=found[-1][1],
            value=0.0,
            unit="Nm",
        )
