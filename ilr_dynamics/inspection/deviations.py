# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
r"""
Bayesian comparison of small deviations from the description: gravity, load, unit, masses.

What the described bodies leave of each joint's torque is :math:`y_j = C_j\theta + A_j\beta_j +
e_j`, with the weight's direction or a load :math:`\theta` that all joints share, and what acts in
each joint alone. How large e is, the recording says, with anything allowed in each joint: so that
a few per cent show where friction is modelled to some thousandths.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ilr_dynamics.arrays import FloatArray, IndexArray
from ilr_dynamics.inspection.evidence import Evidence
from ilr_dynamics.inspection.joint_fit import JointFit
from ilr_dynamics.inspection.joint_torque import SCALE, JointTorque

__all__ = ["Deviation", "deviations"]

# What is left when friction and ripple are explained lasts so long, and longer in slow motion.
CORRELATION_S = 0.15
# Of what is never explained: rounding of an inertia in the description, as a share of the torque.
ROUNDED = 2e-3
# Of the search for an offset: steps of differences and of the offset, rad, and their number.
DIFFERENCE, LARGEST_STEP, N_STEPS = 1e-4, 0.5, 4
# Standard deviation of a joint's share of the described torque from which on it is a guess:
# friction and ripple can be taken for the rest.
KNOWN_TO = 0.1


@dataclass(frozen=True)
class Deviation:
    """
    What differs from the description, and how clearly.

    Attributes
    ----------
    gain : float
        Nats by which it explains the torques better than none (Schwarz).
    values : ndarray
        Added gravity (3,), m/s^2; load (4,), kg and kg m; share of the described torque (1,) that
        all joints take; offsets of the positions (n_joints,), rad; or, of a description each of
        whose joints takes another share of its torque, as with wrong masses or motor constants,
        these shares (n_joints,), NaN where nothing is known.
    confirmed : float
        Nats of it by all joints but the one that gains most: where friction varies with the
        position, it looks like a weight to each joint alone.
    """

    gain: float
    values: FloatArray
    confirmed: float


@dataclass(frozen=True)
class _Joint:
    """What one joint's torque leaves (n,), at some rows, and how it is weighed."""

    joint: int
    rows: IndexArray
    y: FloatArray
    model: JointTorque
    weight: float
    """Of a squared Nm, in nats."""


def deviations(evidence: Evidence, fits: Sequence[JointFit], delay: float) -> dict[str, Deviation]:
    """
    Judge a turned weight, a load, another unit, a joint's offset, and a wrong description.

    Parameters
    ----------
    evidence : Evidence
        With a described arm.
    fits : sequence of JointFit
        Of its joints.
    delay : float
        From a state to the action of its torque, s.

    Returns
    -------
    dict
        Of "gravity", "payload", "unit", "offset" and "description".
    """
    assert evidence.terms is not None
    joints = [_judged(evidence, fit, delay) for fit in fits]
    return {
        "gravity": _shared(joints, evidence.terms.gravity),
        "payload": _shared(joints, evidence.terms.load),
        "unit": _in_another_unit(evidence, joints),
        "offset": _offset(evidence, joints),
        "description": _described_otherwise(evidence, joints),
    }


def _judged(evidence: Evidence, fit: JointFit, delay: float) -> _Joint:
    y = fit.left(evidence, delay)
    level = np.hypot(fit.free.settled(y[np.newaxis], fit.least).level, ROUNDED * fit.size)
    share = evidence.independent_share(CORRELATION_S)[fit.rows, fit.joint]
    weight = float(share.mean()) / float(level) ** 2
    return _Joint(fit.joint, fit.rows, y, JointTorque(fit.own, float(level)), weight)


def _shared(joints: list[_Joint], columns: FloatArray) -> Deviation:
    """Least squares of what all joints share, (n, n_joints, m) in `columns`."""
    m = columns.shape[2]
    matrices, vectors = np.zeros((len(joints), m, m)), np.zeros((len(joints), m))
    for k, of in enumerate(joints):
        C = columns[of.rows, of.joint].T
        apart = of.model.residual(C)
        matrices[k] = of.weight * C @ apart.T
        vectors[k] = of.weight * apart @ of.y
    values = np.linalg.lstsq(matrices.sum(axis=0), vectors.sum(axis=0), rcond=1e-10)[0]
    gains = vectors @ values - 0.5 * np.einsum("i,kij,j->k", values, matrices, values)
    gain, chance = float(gains.sum()), 0.5 * m * float(np.log(max(_count(joints), 1.0)))
    return Deviation(gain - chance, values, gain - float(gains.max(initial=0.0)))


def _in_another_unit(evidence: Evidence, joints: list[_Joint]) -> Deviation:
    """All joints with the same factor before the described torque."""
    unit = _shared(joints, evidence.described[:, :, np.newaxis])
    return replace(unit, values=1.0 + unit.values)


def _offset(evidence: Evidence, joints: list[_Joint]) -> Deviation:
    """Positions of the one joint whose offset explains most, by Gauss and Newton's method."""
    n = len(evidence.joints)
    found = [_shared(joints, _slope(evidence, np.zeros(n), joint)) for joint in range(n)]
    best = int(np.argmax([deviation.gain for deviation in found]))
    offset, deviation = np.zeros(n), found[best]
    for _ in range(N_STEPS):
        if not (deviation.gain > 0.0 and np.abs(offset[best]) < np.pi):
            break
        offset[best] += float(np.clip(deviation.values[0], -LARGEST_STEP, LARGEST_STEP))
        change = _displaced(evidence, offset) - evidence.described
        moved = [replace(of, y=of.y - change[of.rows, of.joint]) for of in joints]
        deviation = _shared(moved, _slope(evidence, offset, best))
    change = _displaced(evidence, offset) - evidence.described
    explained = [_explained(of, change) for of in joints]
    gain = float(np.sum(explained)) - np.log(n)
    return Deviation(
        gain - 0.5 * float(np.log(max(_count(joints), 1.0))),
        np.where(np.arange(n) == best, offset, 0.0),
        gain - float(max(explained, default=0.0)),
    )


def _explained(of: _Joint, change: FloatArray) -> float:
    """Nats by which a change of the described torques (n, n_joints), Nm, explains a joint's."""
    left = of.y - change[of.rows, of.joint]
    before, after = of.y @ of.model.residual(of.y), left @ of.model.residual(left)
    return 0.5 * of.weight * float(before - after)


def _displaced(evidence: Evidence, offset: FloatArray) -> FloatArray:
    """Torque (n, n_joints) of the described bodies at positions more by (n_joints,) rad, Nm."""
    X = evidence.samples.X[evidence.rows]
    return evidence.rigid_torque(X + np.pad(offset, (0, 2 * len(offset))))


def _slope(evidence: Evidence, offset: FloatArray, joint: int) -> FloatArray:
    """Change of the described torque (n, n_joints, 1) with an offset of one joint, Nm/rad."""
    step = np.where(np.arange(len(offset)) == joint, DIFFERENCE, 0.0)
    ahead, behind = (_displaced(evidence, offset + side * step) for side in (1.0, -1.0))
    return ((ahead - behind) / (2.0 * DIFFERENCE))[:, :, np.newaxis]


def _count(joints: list[_Joint]) -> float:
    """Independent states of all joints."""
    return float(sum(of.weight * of.model.level**2 * len(of.rows) for of in joints))


def _described_otherwise(evidence: Evidence, joints: list[_Joint]) -> Deviation:
    """Each joint with a factor of its own before the described torque."""
    gains, shares = np.zeros(len(joints)), np.full(len(evidence.joints), np.nan)
    for k, of in enumerate(joints):
        described = evidence.described[of.rows, of.joint]
        left = of.model.residual(of.y)
        scaled = of.model.widened(SCALE * described[:, np.newaxis])
        explained = float(of.y @ (left - scaled.residual(of.y)))
        n = of.weight * of.model.level**2 * len(of.rows)
        gains[k] = 0.5 * of.weight * explained - 0.5 * np.log(max(n, 1.0))
        apart = float(described @ of.model.residual(described))
        if of.weight * apart > KNOWN_TO**-2:
            shares[of.joint] = 1.0 + float(described @ left) / apart
    gain = float(gains.sum())
    return Deviation(gain, shares, gain - float(gains.max(initial=0.0)))
