# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
r"""
What torques say about a payload when friction may have changed as well.

Each joint's residual torque, what was commanded less what the model of the arm without a payload
expects, is taken as

.. math::
    r_j = \phi_j^\top \pi + \dot q_j v_j + \tanh(\dot q_j / \dot q_0)\, d_j + \varepsilon_j,
    \qquad \varepsilon_j \sim N(0, \sigma_j^2 / (\xi_j w))

with the ten inertial parameters pi of the payload, the changes v and d of the joint's viscous and
dry friction, the standard deviation sigma that the model expects of itself, the number w of
independent samples that a sample counts as, and a factor xi, as the model may err in that too.
All that is known are sums of squares and products.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from ilr_dynamics.arrays import FloatArray
from ilr_dynamics.robot.dynamics_terms import N_INERTIAL

__all__ = ["FRICTION", "PAYLOAD", "PayloadSums", "Reduced", "reduced", "rows"]

# Speed at which dry friction saturates, rad/s.
SIGN_SPEED = 0.03
N_UNKNOWN = N_INERTIAL + 2
PAYLOAD, FRICTION = slice(0, N_INERTIAL), slice(N_INERTIAL, N_UNKNOWN)
# The residual torque follows the columns.
OTHERS = np.append(np.arange(N_INERTIAL), N_UNKNOWN)


def rows(columns: FloatArray, velocity: FloatArray, residual: FloatArray) -> FloatArray:
    """
    Return columns and residual torque of one sample.

    Parameters
    ----------
    columns : ndarray of shape (n, 10)
        Torque per unit of each inertial parameter.
    velocity, residual : ndarray of shape (n,)
        Joint velocities, rad/s, and residual torques, Nm.

    Returns
    -------
    ndarray of shape (n, 13)
    """
    row = np.empty((len(residual), N_UNKNOWN + 1))
    row[:, PAYLOAD] = columns
    row[:, N_INERTIAL] = velocity
    row[:, N_INERTIAL + 1] = np.tanh(velocity / SIGN_SPEED)
    row[:, N_UNKNOWN] = residual
    return row


@dataclass(frozen=True, eq=False)
class PayloadSums:
    """
    Weighted sums over samples, one set a joint.

    Attributes
    ----------
    products : ndarray of shape (n, 13, 13)
        Sums of the products of `rows`, over the expected variance of the torque.
    count : ndarray of shape (n,)
        Number of independent samples.
    """

    products: FloatArray
    count: FloatArray

    @classmethod
    def none(cls, n_joints: int) -> Self:
        """Sums of no samples."""
        return cls(np.zeros((n_joints, N_UNKNOWN + 1, N_UNKNOWN + 1)), np.zeros(n_joints))

    def __add__(self, other: Self) -> Self:
        """Return the sums of both."""
        return type(self)(self.products + other.products, self.count + other.count)

    def with_sample(self, row: FloatArray, std: FloatArray, weight: FloatArray) -> Self:
        """
        Return the sums with one more sample.

        Parameters
        ----------
        row : ndarray of shape (n, 13)
            As of `rows`.
        std : ndarray of shape (n,)
            Expected standard deviation of the torque, Nm.
        weight : ndarray of shape (n,)
            Number of independent samples that it counts as.
        """
        scaled = row * (np.sqrt(weight) / std)[:, None]
        return type(self)(
            self.products + scaled[:, :, None] * scaled[:, None, :], self.count + weight
        )


@dataclass(frozen=True, eq=False)
class Reduced:
    """
    What is left of the sums when friction is integrated out.

    The likelihood of the payload is exp(b' pi - pi' A pi / 2) times exp(log_constant).

    Attributes
    ----------
    A : ndarray of shape (10, 10)
    b : ndarray of shape (10,)
    log_constant : float
    to_friction : ndarray of shape (n, 2, 11)
        Expected changes of friction are this times [-pi, 1].
    friction_covariance : ndarray of shape (n, 2, 2)
        Covariance of these changes if the payload is known.
    """

    A: FloatArray
    b: FloatArray
    log_constant: float
    to_friction: FloatArray
    friction_covariance: FloatArray


def reduced(sums: PayloadSums, precision: FloatArray, friction: FloatArray) -> Reduced:
    """
    Integrate friction out.

    Parameters
    ----------
    sums : PayloadSums
    precision : ndarray of shape (n,)
        Factor xi of each joint.
    friction : ndarray of shape (n, 2)
        Standard deviation of changes of viscous and dry friction before anything is known,
        Nms/rad and Nm.
    """
    products = precision[:, None, None] * sums.products
    known = products[:, FRICTION, FRICTION] + _diagonal(1.0 / friction**2)
    (viscous, both), (_, dry) = known.transpose(1, 2, 0)
    determinant = viscous * dry - both**2
    covariance = np.array([[dry, -both], [-both, viscous]]).transpose(2, 0, 1)
    covariance /= determinant[:, None, None]
    across = products[:, FRICTION]
    to_friction = covariance @ across
    total = products.sum(axis=0)
    # As one product of matrices, over both friction terms of all joints.
    total -= across.reshape(-1, N_UNKNOWN + 1).T @ to_friction.reshape(-1, N_UNKNOWN + 1)
    log_constant = -0.5 * (total[-1, -1] + np.sum(np.log(determinant * np.prod(friction**2, 1))))
    return Reduced(
        total[PAYLOAD, PAYLOAD],
        total[PAYLOAD, N_UNKNOWN],
        float(log_constant),
        to_friction[:, :, OTHERS],
        covariance,
    )


def _diagonal(values: FloatArray) -> FloatArray:
    """Matrices (n, 2, 2) with these values (n, 2) on their diagonals."""
    return values[:, :, None] * np.eye(2)
