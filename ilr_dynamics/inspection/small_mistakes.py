# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
r"""
Whether weight or load differ a little from the description.

What the described bodies leave of each joint's torque is :math:`y_j = C_j\theta + A_j\beta_j +
e_j`, with the weight's direction or a load :math:`\theta` that all joints share, and what acts in
each joint alone. How large e is, the recording says, with anything allowed in each joint: so that
a few per cent show where friction is modelled to some thousandths.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ilr_dynamics.arrays import FloatArray, IndexArray
from ilr_dynamics.inspection.evidence import Evidence
from ilr_dynamics.inspection.joint_fit import JointFit
from ilr_dynamics.inspection.joint_torque import SCALE, JointTorque

__all__ = ["SmallMistake", "small_mistakes"]

# What is left when friction and ripple are explained lasts so long, and longer in slow motion.
CORRELATION_S = 0.15
# Of what is never explained: rounding of an inertia in the description, as a share of the torque.
ROUNDED = 2e-3
# Standard deviation of a joint's share of the described torque from which on it is a guess:
# friction and ripple can be taken for the rest.
KNOWN_TO = 0.1


@dataclass(frozen=True)
class SmallMistake:
    """
    What differs from the description, and how clearly.

    Attributes
    ----------
    gain : float
        Nats by which it explains the torques better than none (Schwarz).
    values : ndarray
        Added gravity (3,), m/s^2; load (4,), kg and kg m; of a description each of whose joints
        takes another share of its torque, as with wrong masses or motor constants, these shares
        (n_joints,), NaN where nothing is known.
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


def small_mistakes(
    evidence: Evidence, fits: Sequence[JointFit], delay: float
) -> tuple[SmallMistake, SmallMistake, SmallMistake]:
    """
    Judge a turned weight, a load and a wrong description.

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
    gravity, payload, description : SmallMistake
    """
    assert evidence.terms is not None
    joints = [_judged(evidence, fit, delay) for fit in fits]
    return (
        _shared(joints, evidence.terms.gravity),
        _shared(joints, evidence.terms.load),
        _described_otherwise(evidence, joints),
    )


def _judged(evidence: Evidence, fit: JointFit, delay: float) -> _Joint:
    y = fit.left(evidence, delay)
    level = np.hypot(fit.free.settled(y[np.newaxis], fit.least).level, ROUNDED * fit.size)
    share = evidence.independent_share(CORRELATION_S)[fit.rows, fit.joint]
    weight = float(share.mean()) / float(level) ** 2
    return _Joint(fit.joint, fit.rows, y, JointTorque(fit.own, float(level)), weight)


def _shared(joints: list[_Joint], columns: FloatArray) -> SmallMistake:
    """Least squares of what all joints share, (n, n_joints, m) in `columns`."""
    m = columns.shape[2]
    matrices, vectors = np.zeros((len(joints), m, m)), np.zeros((len(joints), m))
    n = 0.0
    for k, of in enumerate(joints):
        C = columns[of.rows, of.joint].T
        apart = of.model.residual(C)
        matrices[k] = of.weight * C @ apart.T
        vectors[k] = of.weight * apart @ of.y
        n += of.weight * of.model.level**2 * len(of.rows)
    values = np.linalg.lstsq(matrices.sum(axis=0), vectors.sum(axis=0), rcond=1e-10)[0]
    gains = vectors @ values - 0.5 * np.einsum("i,kij,j->k", values, matrices, values)
    gain, chance = float(gains.sum()), 0.5 * m * float(np.log(max(n, 1.0)))
    return SmallMistake(gain - chance, values, gain - float(gains.max(initial=0.0)))


def _described_otherwise(evidence: Evidence, joints: list[_Joint]) -> SmallMistake:
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
    return SmallMistake(gain, shares, gain - float(gains.max(initial=0.0)))
