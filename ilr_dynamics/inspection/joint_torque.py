# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
r"""
Linear model of what a joint's torque holds besides that of the described bodies.

The torque that the bodies leave is taken as :math:`y = A\beta + e`, with :math:`\beta` normal with
the standard deviations that physics allows, and e of one size, which the data say. Without bounds,
the many columns would explain a torque at any time.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ilr_dynamics.arrays import FloatArray
from ilr_dynamics.inspection.evidence import SIGN_SPEEDS, Evidence

__all__ = ["JointTorque", "body_columns", "own_columns"]

# Speeds below which friction rises (Stribeck), rad/s: what is known of harmonic drives and cables.
STRIBECK_SPEEDS = (0.03, 0.06, 0.12)
# Waves of friction to the turn of a joint, at most: bearings, cables and gears that are not round.
N_WAVES = 12
# Parts of the torque limit, by which drives are chosen: dry friction at two speeds, viscous
# friction (a rad/s) and a rotor (a rad/s^2), a constant; and a wave, or a rise at low speed.
OWN, UNEVEN = (0.05, 0.05, 0.05, 0.01, 0.05), 0.02
# Of the load: dry friction of bearings and gears.
OF_LOAD = 0.05
# Of a description, as it comes: an inertia that is wrong by a fifth; weight in any direction, and
# a load that was not described, kg and kg m.
SCALE, WEIGHT, LOAD = 0.2, 10.0, (2.0, 0.4, 0.4, 0.4)
# What of a torque nobody explains, as a share of its rms: the resolution of a current sensor.
LEAST_LEFT = 1e-3
# Before it is known what is left of a torque: as a share of its rms.
FIRST_GUESS = 0.03
# What noise that the filter passes is alike for, s.
NOISE_ALIKE = 0.03
# What is left says how large it is; guesses of it settle at once.
N_GUESSES = 3


@dataclass(frozen=True)
class JointTorque:
    """
    Linear model of what is left of one joint's torque.

    Attributes
    ----------
    columns : ndarray of shape (n, C)
        A, each in units of what is expected of it, Nm.
    level : float
        Standard deviation of e, Nm.
    """

    columns: FloatArray
    level: float

    def residual(self, y: FloatArray) -> FloatArray:
        """What the model leaves of torques (..., n), Nm."""
        A = self.columns
        gram = A.T @ A
        # The small part keeps rounding from making it singular.
        gram.flat[:: len(gram) + 1] += self.level**2 + 1e-12 * np.trace(gram)
        product = np.reshape(y @ A, (-1, A.shape[1]))
        return np.asarray(y - np.reshape(np.linalg.solve(gram, product.T).T @ A.T, y.shape))

    def coefficients(self, y: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Coefficients (C,) of one torque (n,), and their standard deviations if e is white."""
        A = self.columns
        inverse = np.linalg.inv(A.T @ A + self.level**2 * np.eye(A.shape[1]))
        return inverse @ (A.T @ y), self.level * np.sqrt(np.diag(inverse))

    def settled(self, y: FloatArray, least: float) -> JointTorque:
        """Return the model with the level that fits the best of some torques (m, n)."""
        model = self
        for _ in range(N_GUESSES):
            left = np.sqrt(np.mean(model.residual(y) ** 2, axis=1)).min()
            model = replace(model, level=max(float(left), least))
        return model

    def widened(self, columns: FloatArray) -> JointTorque:
        """Return the model with more columns (n, m)."""
        return replace(self, columns=np.hstack([self.columns, columns]))


def body_columns(evidence: Evidence, joint: int) -> FloatArray:
    """Columns (n, 8), Nm, of what may be wrong with the description, at the rows."""
    terms = evidence.terms
    assert terms is not None
    return np.hstack(
        [
            SCALE * terms.torque[:, joint, np.newaxis],
            WEIGHT * terms.gravity[:, joint],
            terms.load[:, joint] * LOAD,
        ]
    )


def own_columns(evidence: Evidence, joint: int) -> FloatArray:
    """
    Columns of friction, rotor and a constant of one joint.

    Friction that is left out looks like a torque that comes late or early.

    Parameters
    ----------
    evidence : Evidence
        With a described arm.
    joint : int

    Returns
    -------
    ndarray of shape (n, 36)
        At the rows, each in units of what is expected of it, Nm.
    """
    assert evidence.description is not None
    X = evidence.samples.X[evidence.rows]
    limit = float(evidence.description.torque_limit[joint])
    position, velocity = X[:, joint], X[:, len(evidence.joints) + joint]
    sign, load = np.tanh(velocity / SIGN_SPEEDS[0]), np.abs(evidence.described[:, joint])
    bumps = [sign * np.exp(-((velocity / speed) ** 2)) for speed in STRIBECK_SPEEDS]
    waves = [sign * f(k * position) for k in range(1, N_WAVES + 1) for f in (np.sin, np.cos)]
    parts = [
        *(limit * evidence.friction(X)[:, joint] * OWN).T,
        OF_LOAD * sign * load,
        *(UNEVEN * limit * bump for bump in bumps),
        *(OF_LOAD * load * bump for bump in bumps),
        *(UNEVEN * limit / np.sqrt(2.0 * N_WAVES) * wave for wave in waves),
    ]
    return np.column_stack(parts)
