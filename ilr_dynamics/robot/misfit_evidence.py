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
zero. A model may be surer than it says, so the precision of the residuals is xi times what it
predicts, xi >= 1, in each joint.

A share e of a residual's variance is what the model doubts everywhere, by parameters that few
samples tell. That error may be one and the same at all states, or have any sign at each: of its
covariance the diagonal e is known and nothing else. No eigenvalue is larger than the trace,
so the residuals' covariance is at most 1 + D times the unit matrix, :math:`D = \sum_i e_i`, and n
samples count as n / (1 + D) of them. With sums A and b of products that are scaled so, the squared
residual R and the number n of independent samples (`StateCells`)

.. math::
    \log p_h(\xi) = \tfrac{n}{2} \log\xi - \tfrac{\xi}{2} R
    + \tfrac12 \xi^2 b^\top (1 + \xi A)^{-1} b - \tfrac12 \log\det(1 + \xi A)

and what counts is :math:`B_h = \mathrm{mean}_\xi\, p_h(\xi) / \max_\xi p_0(\xi)`: the
expectation of that is at most one if nothing has changed, whatever xi is (Wasserman, Ramdas and
Balakrishnan, 2020).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Self

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
    "beside_doubt",
    "change_rows",
    "log_odds",
    "log_ratio",
]

# Of the joints' columns, which follow those of a payload. Then come the residual torque and what
# the model doubts of it.
KINDS = ("offset", "viscous", "dry", "delay")
PAYLOAD = slice(0, N_INERTIAL)
OF_JOINT = slice(N_INERTIAL, N_INERTIAL + len(KINDS))
DELAY = slice(OF_JOINT.stop - 1, OF_JOINT.stop)
RESIDUAL = N_INERTIAL + len(KINDS)
DOUBT = RESIDUAL + 1
# Changes of the whole arm.
OF_ARM = ("payload", "delay")
N_COLUMNS = DOUBT + 1
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
        Standard deviations of a change of the inertial parameters.
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
    doubt: FloatArray,
    std: FloatArray,
) -> FloatArray:
    """
    Return what a sample says of changes, in predicted deviations.

    Parameters
    ----------
    columns : ndarray of shape (n, 10)
        Torque per unit of each inertial parameter of a payload.
    velocity, torque_rate, residual, doubt, std : ndarray of shape (n,)
        Joint velocity, rad/s, rate of the torque, Nm/s, residual torque, the deviation that may
        be one error of all torques, and predicted deviation of the torque, Nm.

    Returns
    -------
    ndarray of shape (n, 16)
    """
    rows = np.empty((len(std), N_COLUMNS))
    rows[:, PAYLOAD] = columns
    rows[:, N_INERTIAL] = 1.0
    rows[:, N_INERTIAL + 1] = velocity
    rows[:, N_INERTIAL + 2] = np.tanh(velocity / SIGN_SPEED)
    rows[:, N_INERTIAL + 3] = torque_rate
    rows[:, RESIDUAL] = residual
    rows[:, DOUBT] = doubt
    rows /= std[:, None]
    return rows


def log_odds(
    products: FloatArray, counts: FloatArray, prior: ChangePrior
) -> tuple[FloatArray, FloatArray]:
    """
    Return the log of the ratio B for each single change.

    Parameters
    ----------
    products : ndarray of shape (..., n, 16, 16)
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
    own = beside_doubt(products, counts)
    noise, unchanged = _without_change(*own)
    precision = SHARPER.reshape(-1, *[1] * products[..., 0].ndim)
    A = np.diagonal(own.products, axis1=-2, axis2=-1)[..., OF_JOINT] * prior.of_joint**2
    b = own.products[..., OF_JOINT, RESIDUAL] * prior.of_joint
    odds = 0.5 * (precision**2 * b**2 / (1.0 + precision * A) - np.log1p(precision * A))
    of_joints = _log_mean(noise[..., None] + odds) - unchanged[..., None]
    # The bodies whose parameters a model doubts turn all joints.
    own = beside_doubt(products, counts, of_all=True)
    noise, unchanged = (part.sum(axis=-1) for part in _without_change(*own))
    total = own.products.sum(axis=-3)
    of_arm = []
    for columns, scale in prior.of_arm.values():
        A = total[..., columns, columns] * np.outer(scale, scale)
        b = total[..., columns, RESIDUAL] * scale
        odds = log_ratio(precision * A, precision[..., 0] * b)
        of_arm.append(_log_mean(noise + odds) - unchanged)
    return of_joints, np.stack(of_arm, axis=-1)


class Known(NamedTuple):
    """Sums of products (..., n, 16, 16), and the number of independent samples (..., n)."""

    products: FloatArray
    counts: FloatArray


def beside_doubt(products: FloatArray, counts: FloatArray, *, of_all: bool = False) -> Known:
    """
    Return what sums still say if what a model doubts everywhere may be one and the same error.

    Parameters
    ----------
    products : ndarray of shape (..., n, 16, 16)
        Sums over samples of the products of their rows.
    counts : ndarray of shape (..., n)
        Number of independent samples.
    of_all : bool
        Whether the error may be one of all joints, not only of each.
    """
    doubt = products[..., DOUBT, DOUBT]
    if of_all:
        doubt = doubt.sum(axis=-1, keepdims=True)
    share = 1.0 / (1.0 + doubt)
    return Known(share[..., None, None] * products, share * counts)


def _without_change(products: FloatArray, counts: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Log p of residuals at each of `SHARPER` (3, ..., n), and at the likeliest (..., n)."""
    squares = products[..., RESIDUAL, RESIDUAL]
    precision = SHARPER.reshape(-1, *[1] * counts.ndim)
    sharpest = np.clip(counts / np.maximum(squares, TINY), SHARPER[0], SHARPER[-1])
    return (
        0.5 * (counts * np.log(precision) - precision * squares),
        0.5 * (counts * np.log(sharpest) - sharpest * squares),
    )


def _log_mean(values: FloatArray) -> FloatArray:
    """Log of the mean of exp(values) over the first axis."""
    largest = values.max(axis=0)
    return np.asarray(largest + np.log(np.exp(values - largest).mean(axis=0)))


def log_ratio(A: FloatArray, b: FloatArray) -> FloatArray:
    """Log B of coefficients with unit prior: precision A (..., m, m) of the data, pull b."""
    whole = np.eye(A.shape[-1]) + A
    pulled = np.sum(b * np.linalg.solve(whole, b[..., None])[..., 0], axis=-1)
    return np.asarray(0.5 * (pulled - np.linalg.slogdet(whole)[1]))
