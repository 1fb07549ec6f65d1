# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""How much later a torque acts than its stamp says, found in the data."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .evidence import ENOUGH_ROWS, Evidence
from .joint_torque import FIRST_GUESS, LEAST_LEFT, JointTorque, body_columns, own_columns
from .torque_ripple import with_ripple

__all__ = ["find_delay"]

Array = NDArray[np.float64]

# Delays that are tried, s. They are whole periods: between states a torque is a mean of two, with
# less noise, which would look like a better fit.
FIRST, LAST = -0.02, 0.04
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

    rows: NDArray[np.intp]
    y: Array
    model: JointTorque
    cost: Array

    def often(self, delays: Array, about: float, spacing: float) -> float:
        """How many times too often `cost` counts what it knows, with the level squared, Nm^2.

        An error of the model lasts, so that its products with the change of the torque by the
        delay are summed over lags (Newey and West, 1987).
        """
        step = float(delays[1] - delays[0])
        at = int(np.clip(round((about - delays[0]) / step), 1, len(delays) - 2))
        change = (self.y[at + 1] - self.y[at - 1]) / (2.0 * step)
        left, change = self.model.residual(np.stack([self.y[at], change]))
        known = float(change @ change) + 1e-300
        late = np.clip(float(left @ change) / known, -step, step)
        product = np.zeros(self.rows[-1] + 1)
        product[self.rows] = (left - late * change) * change
        return max(_of_sum(product, max(round(ALIKE / spacing), 1)) / known, 1e-300)


def find_delay(evidence: Evidence) -> tuple[float, float]:
    """
    Find the delay at which the torques fit the motion best.

    Each joint's torque is fitted by all that it may be linear in, whatever the coefficients: its
    rotor and the bodies of the description, weight in any direction, any load, friction, ripple.
    What is left is least at the right delay.

    Parameters
    ----------
    evidence : Evidence
        With a described arm.

    Returns
    -------
    delay : float
        From the stamp of a state to the middle of the action of its torque, s.
    spread : float
        Standard deviation of it, s; infinite if nothing can be said.
    """
    period = evidence.recording.period
    delays = period * np.arange(np.floor(FIRST / period), np.ceil(LAST / period) + 1.0)
    witnesses = list(_witnesses(evidence, delays))
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


def _agreed(delays: Array, costs: Array) -> tuple[float, float]:
    """Delay that joints agree on, and its standard deviation, s.

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
    if curvatures.sum() <= 0.0:
        return float(delays[1]), float("inf")
    shift = -float(slopes.sum() / curvatures.sum())
    # Joints that contradict each other are less certain than each of them seems (Birge, 1932).
    certain = curvatures > 0.0
    apart = (slopes + curvatures * shift)[certain] ** 2 / curvatures[certain]
    factor = max(1.0, float(apart.sum()) / max(len(apart) - 1, 1))
    return float(delays[1]) + shift, float(np.sqrt(factor / curvatures.sum()))


def _witnesses(evidence: Evidence, delays: Array) -> Iterator[_Witness]:
    known = np.all([evidence.torque(delay)[1] for delay in delays[[0, -1]]], axis=0)
    n = len(evidence.joints)
    speed = np.abs(evidence.samples.X[evidence.rows, n : 2 * n])
    used = evidence.slipping & known[:, np.newaxis]
    fast = (speed * used).max(axis=0) > FAST_ENOUGH
    joints = np.flatnonzero(fast & (np.count_nonzero(used, axis=0) >= ENOUGH_ROWS))
    if not joints.size:
        return
    torques = np.array([evidence.torque(delay)[0] for delay in delays])
    for joint in joints.tolist():
        rows = np.flatnonzero(used[:, joint])
        torque = torques[:, rows, joint]
        y = torque - evidence.described[rows, joint]
        size = float(np.sqrt(np.mean(torque**2))) + 1e-9
        columns = np.hstack([body_columns(evidence, joint), own_columns(evidence, joint)])
        model = JointTorque(columns[rows], FIRST_GUESS * size)
        model = with_ripple(evidence, joint, rows, model, y).settled(y, LEAST_LEFT * size)
        # What the prior of the coefficients leaves, of the smallest sum of squares.
        yield _Witness(rows, y, model, np.sum(y * model.residual(y), axis=1))


def _of_sum(product: Array, lags: int) -> float:
    """Variance of the sum of a series whose values are alike over some lags."""
    alone = float(product @ product)
    pairs = [
        (1.0 - lag / (lags + 1.0)) * float(product[lag:] @ product[:-lag])
        for lag in range(1, min(lags + 1, len(product)))
    ]
    return max(alone + 2.0 * sum(pairs), alone)
