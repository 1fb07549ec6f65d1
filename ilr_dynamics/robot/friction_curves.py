# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
r"""
Friction of identified joints over their speed, with its uncertainty.

The friction of joint j at a speed v is what its torque has beyond that at rest while it alone
moves, without acceleration:

.. math::
    f_j(v) = \frac{1}{M} \sum_m
        \big( \phi_j(q_m, v e_j, 0) - \phi_j(q_m, 0, 0) \big)^\top \chi_j

over the postures q_m that were learned, as friction depends on load and position too. (A joint
that moves alone has no Coriolis torque of its own.) It is linear in the parameters, so its
uncertainty follows from theirs.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ilr_dynamics.arrays import FloatArray
from ilr_dynamics.robot.identified_dynamics import IdentifiedDynamics

__all__ = ["FrictionCurves", "friction_curves", "learned_speeds"]

# Postures over which friction is averaged.
N_POSTURES = 50
# Speed up to which curves are drawn at least, rad/s.
LEAST_SPEED = 0.1


@dataclass(frozen=True, eq=False)
class FrictionCurves:
    """
    Friction of n joints at s speeds.

    Attributes
    ----------
    speed : ndarray of shape (s, n)
        Speeds of each joint, rad/s.
    torque, std : ndarray of shape (s, n)
        Expected friction, and its standard deviation, Nm.
    """

    speed: FloatArray
    torque: FloatArray
    std: FloatArray


def friction_curves(dynamics: IdentifiedDynamics, speed: FloatArray) -> FrictionCurves:
    """
    Return the friction of each joint while it alone moves.

    Parameters
    ----------
    dynamics : IdentifiedDynamics
        Dynamics of n joints.
    speed : ndarray of shape (s, n)
        Speeds of each joint, rad/s.

    Returns
    -------
    FrictionCurves
    """
    n, kept = dynamics.n_joints, dynamics.representatives.thinned(N_POSTURES)
    postures, weights = kept.X[:, :n], kept.mass
    if not len(postures):
        postures, weights = np.zeros((1, n)), np.ones(1)
    still = np.hstack([postures, np.zeros((len(postures), 2 * n))])
    at_rest = dynamics.regressor(still)
    torque, std = np.empty_like(speed), np.empty_like(speed)
    covariance, mean = dynamics.joint_covariances, dynamics.joint_parameters
    for joint in range(n):
        for row, value in enumerate(speed[:, joint]):
            moving = still.copy()
            moving[:, n + joint] = value
            columns = dynamics.regressor(moving)[:, joint] - at_rest[:, joint]
            phi = np.average(columns, axis=0, weights=weights)
            torque[row, joint] = phi @ mean[joint]
            std[row, joint] = np.sqrt(max(float(phi @ covariance[joint] @ phi), 0.0))
    return FrictionCurves(speed, torque, std)


def learned_speeds(dynamics: IdentifiedDynamics) -> FloatArray:
    """Return the largest speed (n,) of each joint that was learned, rad/s, at least 0.1."""
    n, X = dynamics.n_joints, dynamics.representatives.X
    return np.max(np.abs(X[:, n : 2 * n]), axis=0, initial=LEAST_SPEED)
