# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
r"""
How much likelier torques are with a change of the arm than without.

Each joint's residual torque, in predicted deviations, is under "nothing has changed" as
`state_cells` has it; a change adds, with unknown coefficients,

.. math::
    \delta r_j = o_j + v_j \dot q_j + d_j \tanh(\dot q_j / \dot q_0) + T_j \dot \tau_j
    + \phi_j^\top \pi

an offset o, changes v and d of viscous and dry friction, a delay T of the torque, whose rate
is :math:`\dot\tau`, and a payload, or what is more or less of it, with the inertial parameters pi.
A payload is a change of all joints; so may a delay be. All coefficients have Gaussian priors about
zero. A model may be surer than it says, so the precision of the residuals is kappa times what it
predicts, kappa >= 1, in each joint. With the scaled sums A and b of products, the squared residual
R and the number n of independent samples (`StateCells`)

.. math::
    \log p_h(\kappa) = \tfrac{n}{2} \log\kappa - \tfrac{\kappa}{2} R
    + \tfrac12 \kappa^2 b^\top (1 + \kappa A)^{-1} b - \tfrac12 \log\det(1 + \kappa A)

and what counts is :math:`B_h = \mathrm{mean}_\kappa\, p_h(\kappa) / \max_\kappa p_0(\kappa)`: the
expectation of that is at most one if nothing has changed, whatever kappa is (Wasserman, Ramdas and
Balakrishnan, 2020).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from ilr_dynamics.arrays import FloatArray
from ilr_dynamics.robot.dynamics_terms import N_INERTIAL
from ilr_dynamics.robot.payload_sums import SIGN_SPEED
from ilr_dynamics.robot.pseudo_inertia_prior import PseudoInertiaPrior

__all__ = [
    "KINDS",
    "N_COLUMNS",
    "OF_ARM",
    "ChangePrior",
    "change_rows",
    "log_odds",
    "log_ratio",
]

# Of the joints' columns. What a payload and what the residual torque are follows them.
KINDS = ("offset", "viscous", "dry", "delay")
PAYLOAD = slice(0, N_INERTIAL)
OF_JOINT = slice(N_INERTIAL, N_INERTIAL + len(KINDS))
DELAY = slice(OF_JOINT.stop - 1, OF_JOINT.stop)
RESIDUAL = N_INERTIAL + len(KINDS)
# Changes of the whole arm.
OF_ARM = ("payload", "delay")
N_COLUMNS = RESIDUAL + 1
# Offset, change of dry friction, and of viscous friction at one rad/s, that is usual as a share of
# the largest torque of a joint.
USUAL_CHANGE = 0.02
# Standard deviation of delays before anything is known, s: of a bus, a filter or a driver.
USUAL_DELAY = 0.02
# How much more precise residuals may be than the model predicts.
SHARPER = np.array([1.0, 2.0, 4.0])
TINY = 1e-12


@dataclass(frozen=True, eq=False)
class ChangePrior:
    """
    What changes are usual.

    Parameters
    ----------
    payload : ndarray of shape (10,)
        Standard deviations of what is more or less of the inertial parameters.
    of_joint : ndarray of shape (n, 4)
        Of each joint's offset, viscous and dry friction and delay, Nm, Nms/rad, Nm and s.
    """

    payload: FloatArray
    of_joint: FloatArray

    @property
    def of_arm(self) -> dict[str, tuple[slice, FloatArray]]:
        """Columns and standard deviations of the changes of the whole arm, by `OF_ARM`."""
        return {"payload": (PAYLOAD, self.payload), "delay": (DELAY, np.array([USUAL_DELAY]))}

    @classmethod
    def with_limits(cls, body: PseudoInertiaPrior, torque_limit: FloatArray) -> Self:
        """Return the prior of an arm whose joints have these largest torques (n,), Nm."""
        usual = USUAL_CHANGE * torque_limit
        delay = np.full(len(usual), USUAL_DELAY)
        return cls(body.scale, np.column_stack([usual, usual, usual, delay]))


def change_rows(
    columns: FloatArray,
    velocity: FloatArray,
    torque_rate: FloatArray,
    residual: FloatArray,
    std: FloatArray,
) -> FloatArray:
    """
    Return what a sample says of changes, in predicted deviations.

    Parameters
    ----------
    columns : ndarray of shape (n, 10)
        Torque per unit of each inertial parameter of a payload.
    velocity, torque_rate, residual, std : ndarray of shape (n,)
        Joint velocity, rad/s, rate of the torque, Nm/s, residual torque and predicted deviation,
        Nm.

    Returns
    -------
    ndarray of shape (n, 15)
    """
    rows = np.empty((len(std), N_COLUMNS))
    rows[:, PAYLOAD] = columns
    rows[:, N_INERTIAL] = 1.0
    rows[:, N_INERTIAL + 1] = velocity
    rows[:, N_INERTIAL + 2] = np.tanh(velocity / SIGN_SPEED)
    rows[:, N_INERTIAL + 3] = torque_rate
    rows[:, RESIDUAL] = residual
    rows /= std[:, None]
    return rows


def log_odds(
    products: FloatArray, counts: FloatArray, prior: ChangePrior
) -> tuple[FloatArray, FloatArray]:
    """
    Return the log of the ratio B for each single change.

    Parameters
    ----------
    products : ndarray of shape (..., n, 15, 15)
        Sums over samples of the products of their rows.
    counts : ndarray of shape (..., n)
        Number of independent samples.
    prior : ChangePrior

    Returns
    -------
    of_joints : ndarray of shape (..., n, 4)
        One for each joint and kind.
    of_arm : ndarray of shape (..., 2)
        Of a payload, and of the same delay of all joints.
    """
    squares = products[..., RESIDUAL, RESIDUAL]
    precision = SHARPER.reshape(-1, *[1] * counts.ndim)
    noise = 0.5 * (counts * np.log(precision) - precision * squares)
    sharpest = np.clip(counts / np.maximum(squares, TINY), SHARPER[0], SHARPER[-1])
    unchanged = 0.5 * (counts * np.log(sharpest) - sharpest * squares)
    A = np.diagonal(products, axis1=-2, axis2=-1)[..., OF_JOINT] * prior.of_joint**2
    b = products[..., OF_JOINT, RESIDUAL] * prior.of_joint
    of_kind = precision[..., None] * A
    of_kind = 0.5 * (precision[..., None] ** 2 * b**2 / (1.0 + of_kind) - np.log1p(of_kind))
    of_joints = _log_mean(noise[..., None] + of_kind) - unchanged[..., None]
    total, precision = products.sum(axis=-3), precision[..., 0]
    of_arm = []
    for columns, scale in prior.of_arm.values():
        A = total[..., columns, columns] * np.outer(scale, scale)
        b = total[..., columns, RESIDUAL] * scale
        odds = log_ratio(precision[..., None, None] * A, precision[..., None] * b)
        of_arm.append(_log_mean(noise.sum(axis=-1) + odds) - unchanged.sum(axis=-1))
    return of_joints, np.stack(of_arm, axis=-1)


def _log_mean(values: FloatArray) -> FloatArray:
    """Log of the mean of exp(values) over the first axis."""
    largest = values.max(axis=0)
    return np.asarray(largest + np.log(np.exp(values - largest).mean(axis=0)))


def log_ratio(A: FloatArray, b: FloatArray) -> FloatArray:
    """Log B of coefficients with unit prior: precision A (..., m, m) of the data, pull b."""
    whole = np.eye(A.shape[-1]) + A
    pulled = np.sum(b * np.linalg.solve(whole, b[..., None])[..., 0], axis=-1)
    return np.asarray(0.5 * (pulled - np.linalg.slogdet(whole)[1]))
