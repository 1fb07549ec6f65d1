# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Regressors of each joint's torque, computed once for all findings that need them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ilr_dynamics.arrays import FloatArray, IndexArray
from ilr_dynamics.inspection.evidence import ENOUGH_ROWS, Evidence
from ilr_dynamics.inspection.joint_torque import (
    FIRST_GUESS,
    LEAST_LEFT,
    JointTorque,
    body_columns,
    own_columns,
)
from ilr_dynamics.inspection.torque_ripple import ripple_columns

__all__ = ["JointFit", "joint_fits", "tried_delays"]

# Delays that are tried, s. They are whole periods: between states a torque is a mean of two, with
# less noise, which would look like a better fit.
FIRST, LAST = -0.02, 0.04
# Delays that are tried coarsely first, for slow buses and relays, s; the nats by which one of them
# must be better than the usual ones; and for how long errors of so simple a model last, s.
COARSE, FAR_BETTER, LASTING = 0.005 * np.arange(-20, 31), 20.0, 0.25


def tried_delays(evidence: Evidence) -> FloatArray:
    """Delays (m,) at which torques are compared with the motion, s."""
    period, shift = evidence.recording.period, 0.0
    cost = _coarse_costs(evidence)
    usual = (COARSE > FIRST) & (COARSE < LAST)
    if cost.min() < cost[usual].min() - FAR_BETTER:
        shift = float(COARSE[int(np.argmin(cost))]) - 0.5 * (FIRST + LAST)
    first, last = FIRST + shift, LAST + shift
    return period * np.arange(np.floor(first / period), np.ceil(last / period) + 1.0)


def _coarse_costs(evidence: Evidence) -> FloatArray:
    """Nats (m,) against coarse delays, by what described torque and friction leave unexplained."""
    at = [evidence.torque(delay) for delay in COARSE]
    known = np.all([rows for _, rows in at], axis=0)
    own = evidence.friction(evidence.samples.X[evidence.rows])
    independent = evidence.independent_share(LASTING)
    cost = np.zeros(len(COARSE))
    for joint in range(len(evidence.joints)):
        rows = known & evidence.slipping[:, joint]
        if np.count_nonzero(rows) < ENOUGH_ROWS:
            continue
        columns = np.column_stack([evidence.described[rows, joint], own[rows, joint]])
        basis, _ = np.linalg.qr(columns / np.maximum(np.linalg.norm(columns, axis=0), 1e-12))
        torque = np.array([values[rows, joint] for values, _ in at])
        whole = np.sum(torque**2, axis=1)
        left = np.maximum(whole - np.sum((torque @ basis) ** 2, axis=1), 1e-6 * whole + 1e-300)
        cost += 0.5 * float(independent[rows, joint].sum()) * np.log(left)
    return cost


@dataclass(frozen=True)
class JointFit:
    """
    One joint's torque, and the columns of what it may hold, at the states where it slips.

    Attributes
    ----------
    joint : int
    rows : ndarray of shape (n,), int
        Of the rows of the evidence, those where the torque is known at every delay that is tried.
    y : ndarray of shape (m, n)
        What the described bodies leave of the torque, at each of these delays, Nm.
    size : float
        Root mean square of the torque, Nm.
    bodies : ndarray of shape (n, 8)
        Of what may be wrong with the description, each in units of what is expected, Nm.
    own : ndarray of shape (n, C)
        Of friction, rotor, a constant and ripple of this joint alone, likewise.
    """

    joint: int
    rows: IndexArray
    y: FloatArray
    size: float
    bodies: FloatArray
    own: FloatArray

    @property
    def least(self) -> float:
        """What nobody explains of the torque, Nm."""
        return LEAST_LEFT * self.size

    @property
    def free(self) -> JointTorque:
        """Model in which anything is allowed."""
        return JointTorque(np.hstack([self.bodies, self.own]), FIRST_GUESS * self.size)

    @property
    def described(self) -> JointTorque:
        """Model in which the bodies are those of the description."""
        return JointTorque(self.own, FIRST_GUESS * self.size)

    def left(self, evidence: Evidence, delay: float) -> FloatArray:
        """What the described bodies leave of the torque (n,) that acts so much later, Nm."""
        torque, _ = evidence.torque(delay)
        return np.asarray((torque - evidence.described)[self.rows, self.joint])


def joint_fits(evidence: Evidence) -> tuple[JointFit, ...]:
    """
    Put together the fits of all joints that slip often enough to be judged.

    Parameters
    ----------
    evidence : Evidence
        With a described arm.
    """
    delays = tried_delays(evidence)
    known = np.all([evidence.torque(delay)[1] for delay in delays[[0, -1]]], axis=0)
    used = evidence.slipping & known[:, np.newaxis]
    joints = np.flatnonzero(np.count_nonzero(used, axis=0) >= ENOUGH_ROWS).tolist()
    torques = [evidence.torque(delay)[0] for delay in delays] if joints else []
    fits = []
    for joint in joints:
        rows = np.flatnonzero(used[:, joint])
        torque = np.array([at_delay[rows, joint] for at_delay in torques])
        y = torque - evidence.described[rows, joint]
        size = float(np.sqrt(np.mean(torque**2))) + 1e-9
        bodies, own = (of(evidence, joint)[rows] for of in (body_columns, own_columns))
        fit = JointFit(joint, rows, y, size, bodies, own)
        ripple = ripple_columns(evidence, joint, rows, fit.free, y)
        fits.append(JointFit(joint, rows, y, size, bodies, np.hstack([own, ripple])))
    return tuple(fits)
