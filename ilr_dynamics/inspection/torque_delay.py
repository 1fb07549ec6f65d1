# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Estimate of the delay between the stamp of a torque and its action."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ilr_dynamics.arrays import FloatArray, IndexArray
from ilr_dynamics.inspection.evidence import Evidence
from ilr_dynamics.inspection.joint_fit import JointFit, tried_delays
from ilr_dynamics.inspection.joint_torque import NOISE_ALIKE, JointTorque

__all__ = ["find_delay"]

# A joint that is slower all the time says nothing about when its torque acts, rad/s: its friction,
# which nobody knows as well, changes by more than its motion. One joint cannot contradict itself.
FAST_ENOUGH, LEAST_WITNESSES = 0.3, 2
# Errors that are farther apart are not alike, s: friction varies over some hundredths of a turn.
ALIKE = 0.3
# Times that all joints are asked about the delay that they agree on.
N_ROUNDS = 3


@dataclass(frozen=True)
class _Witness:
    """One joint: what its torque leaves at each delay (m, n), at some rows, and its model."""

    rows: IndexArray
    y: FloatArray
    model: JointTorque
    cost: FloatArray

    @classmethod
    def of(cls, fit: JointFit) -> _Witness:
        """Hear a joint; anything is allowed in it."""
        model = fit.free.settled(fit.y, fit.least)
        # What the prior of the coefficients leaves, of the smallest sum of squares.
        cost = np.sum(fit.y * model.residual(fit.y), axis=1)
        return cls(fit.rows, fit.y, model, cost)

    def often(self, delays: FloatArray, about: float, spacing: float) -> float:
        """How many times too often `cost` counts what it knows, with the level squared, Nm^2.

        An error of the model lasts, so that its products with the change of the torque by the
        delay are summed over lags (Newey and West, 1987); and the columns take their part of it,
        the more the fewer states there are.
        """
        step = float(delays[1] - delays[0])
        at = int(np.clip(round((about - delays[0]) / step), 1, len(delays) - 2))
        change = (self.y[at + 1] - self.y[at - 1]) / (2.0 * step)
        left, change = self.model.residual(np.stack([self.y[at], change]))
        known = float(change @ change) + 1e-300
        late = np.clip(float(left @ change) / known, -step, step)
        product = np.zeros(self.rows[-1] + 1)
        product[self.rows] = (left - late * change) * change
        n_own = len(self.rows) * min(spacing / NOISE_ALIKE, 1.0)
        taken = n_own / max(n_own - self.model.columns.shape[1], 1.0)
        return max(taken * _of_sum(product, max(round(ALIKE / spacing), 1)) / known, 1e-300)


def find_delay(evidence: Evidence, fits: Sequence[JointFit]) -> tuple[float, float]:
    """
    Find the delay at which the torques fit the motion best.

    Each joint's torque is fitted by all that it may be linear in, whatever the coefficients: its
    rotor and the bodies of the description, weight in any direction, any load, friction, ripple.
    What is left is least at the right delay.

    Parameters
    ----------
    evidence : Evidence
        With a described arm.
    fits : sequence of JointFit
        Of its joints.

    Returns
    -------
    delay : float
        From the stamp of a state to the middle of the action of its torque, s.
    spread : float
        Standard deviation of it, s; infinite if nothing can be said.
    """
    delays = tried_delays(evidence)
    witnesses = [_Witness.of(fit) for fit in fits if _is_fast(evidence, fit)]
    if len(witnesses) < LEAST_WITNESSES:
        return evidence.expected_delay, float("inf")
    spacing = evidence.spacing
    about = [float(delays[np.argmin(witness.cost)]) for witness in witnesses]
    for _ in range(N_ROUNDS):
        times = [
            witness.often(delays, near, spacing)
            for witness, near in zip(witnesses, about, strict=True)
        ]
        costs = np.array([0.5 * w.cost / often for w, often in zip(witnesses, times, strict=True)])
        best = int(np.argmin(costs.sum(axis=0)))
        about = [float(delays[best])] * len(witnesses)
    if best in (0, len(delays) - 1):
        return float(delays[best]), float("inf")
    return _agreed(delays[best - 1 : best + 2], costs[:, best - 1 : best + 2])


def _agreed(delays: FloatArray, costs: FloatArray) -> tuple[float, float]:
    """Delay that joints agree on, and its standard deviation, s.

    Each joint errs by its noise, and by what the model of its friction lacks. How much that is,
    their contradictions say: with it, one that seems certain does not outvote the others
    (DerSimonian and Laird, 1986).

    Parameters
    ----------
    delays : ndarray of shape (3,)
        About the best, s.
    costs : ndarray of shape (n_joints, 3)
        Nats, which near the best are parabolas. What noise adds is the same at all three.
    """
    step = float(delays[1] - delays[0])
    slopes = (costs[:, 2] - costs[:, 0]) / (2.0 * step)
    curvatures = (costs[:, 0] - 2.0 * costs[:, 1] + costs[:, 2]) / step**2
    certain = curvatures > 0.0
    if np.count_nonzero(certain) < LEAST_WITNESSES:
        return float(delays[1]), float("inf")
    weights = curvatures[certain]
    shifts = -slopes[certain] / weights
    apart = shifts - float(weights @ shifts) / weights.sum()
    excess = float(weights @ apart**2) - (len(weights) - 1)
    model_variance = max(excess / (weights.sum() - weights @ weights / weights.sum()), 0.0)
    weights = 1.0 / (1.0 / weights + model_variance)
    # What few contradictions say of their own size is uncertain, and larger as often as not.
    k = len(weights)
    spread = float(weights.sum() ** -0.5) * np.sqrt((k + 1.0) / (k - 1.0))
    return float(delays[1] + weights @ shifts / weights.sum()), float(spread)


def _is_fast(evidence: Evidence, fit: JointFit) -> bool:
    velocity = evidence.samples.X[evidence.rows[fit.rows], len(evidence.joints) + fit.joint]
    return bool(np.abs(velocity).max() > FAST_ENOUGH)


def _of_sum(product: FloatArray, lags: int) -> float:
    """Variance of the sum of a series whose values are alike over some lags."""
    alone = float(product @ product)
    pairs = [
        (1.0 - lag / (lags + 1.0)) * float(product[lag:] @ product[:-lag])
        for lag in range(1, min(lags + 1, len(product)))
    ]
    return max(alone + 2.0 * sum(pairs), alone)
