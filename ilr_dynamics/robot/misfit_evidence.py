# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
r"""
How much likelier torques are with a change of the arm than without, and what has changed.

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

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import NamedTuple, Self

import numpy as np

from ilr_dynamics.arrays import FloatArray
from ilr_dynamics.robot.dynamics_terms import N_INERTIAL
from ilr_dynamics.robot.payload_posterior import SHAPE
from ilr_dynamics.robot.payload_sums import SIGN_SPEED
from ilr_dynamics.robot.pseudo_inertia_prior import PseudoInertiaPrior

__all__ = [
    "KINDS",
    "N_COLUMNS",
    "OF_ARM",
    "Change",
    "ChangePrior",
    "change_rows",
    "explanation",
    "log_odds",
    "sharpened",
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
# Which kinds take part, for each of their combinations.
COMBINATIONS = np.array(list(product((0.0, 1.0), repeat=len(KINDS))))
# Payload and kinds are found by turns.
TURNS = 3


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


@dataclass(frozen=True)
class Change:
    """
    Something that has changed.

    Attributes
    ----------
    joint : int or None
        None for the whole arm.
    kind : str
        One of `KINDS`, or of `OF_ARM`.
    by, std : float
        How much, and its standard deviation: Nm, Nms/rad, Nm, s, or kg.
    """

    joint: int | None
    kind: str
    by: float
    std: float


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
        odds = _log_ratio(precision[..., None, None] * A, precision[..., None] * b)
        of_arm.append(_log_mean(noise.sum(axis=-1) + odds) - unchanged.sum(axis=-1))
    return of_joints, np.stack(of_arm, axis=-1)


def sharpened(products: FloatArray, counts: FloatArray, prior: ChangePrior) -> FloatArray:
    """
    Return the sums with each joint's precision as what its likeliest change leaves has it.

    The precision has the Gamma distribution that it has beside a payload (`payload_posterior`).

    Parameters
    ----------
    products : ndarray of shape (n, 15, 15)
        Sums over samples of the products of their rows.
    counts : ndarray of shape (n,)
        Number of independent samples.
    prior : ChangePrior
    """
    A = np.diagonal(products, axis1=-2, axis2=-1)[:, OF_JOINT] * prior.of_joint**2
    b = products[:, OF_JOINT, RESIDUAL] * prior.of_joint
    left = products[:, RESIDUAL, RESIDUAL] - np.max(b**2 / (1.0 + A), axis=1)
    precision = np.maximum((SHAPE + 0.5 * counts) / (SHAPE + 0.5 * left), 1.0)
    return np.asarray(precision[:, None, None] * products)


def explanation(
    products: FloatArray, prior: ChangePrior, cost: float, of_arm: Sequence[str] = OF_ARM
) -> list[Change]:
    """
    Return what has changed: the changes that together are the most probable.

    Parameters
    ----------
    products : ndarray of shape (n, 15, 15)
        Sums over samples of the products of their rows.
    prior : ChangePrior
    cost : float
        Log odds against each change before anything is seen.
    of_arm : sequence of str
        Changes of the whole arm one of which may be among them.
    """
    left = _without(products, slice(0, 0), np.zeros(0))
    chosen, most = _best_kinds(left, prior, cost)
    changes = _changes(left, prior, chosen)
    for kind in of_arm:
        columns, scale = prior.of_arm[kind]
        beside = np.zeros(prior.of_joint.shape)
        for _ in range(TURNS):
            found = _whole_beside(products, prior, beside, columns, scale)
            left = _without(products, columns, found.parameters)
            beside, _ = _best_kinds(left, prior, cost)
        found = _whole_beside(products, prior, beside, columns, scale)
        odds = found.log_evidence - cost * (1.0 + beside.sum())
        if odds > most:
            most = odds
            change = Change(None, kind, float(found.parameters[0]), found.std)
            left = _without(products, columns, found.parameters)
            changes = [change, *_changes(left, prior, beside)]
    return changes


def _without(products: FloatArray, columns: slice, parameters: FloatArray) -> FloatArray:
    """Products (n, 5, 5) of kinds and of the residual torque less that of some parameters."""
    left = np.zeros((N_COLUMNS, len(KINDS) + 1))
    left[OF_JOINT, : len(KINDS)] = np.eye(len(KINDS))
    left[columns, -1] = -parameters
    left[RESIDUAL, -1] = 1.0
    return np.asarray(left.T @ products @ left)


def _best_kinds(products: FloatArray, prior: ChangePrior, cost: float) -> tuple[FloatArray, float]:
    """Most probable combination (n, 4) of each joint's kinds, and the log of their odds."""
    chosen, total = np.zeros(prior.of_joint.shape), 0.0
    squares = np.diagonal(products, axis1=1, axis2=2)[:, :-1] * prior.of_joint**2
    pulls = products[:, :-1, -1] * prior.of_joint
    # Joints of which no kind by itself would be worth that are left out.
    for joint in np.nonzero((0.5 * pulls**2 / (1.0 + squares)).max(axis=1) > cost)[0]:
        scale = COMBINATIONS * prior.of_joint[joint]
        A = products[joint, :-1, :-1] * scale[:, :, None] * scale[:, None, :]
        odds = _log_ratio(A, products[joint, :-1, -1] * scale) - cost * COMBINATIONS.sum(axis=1)
        best = int(np.argmax(odds))
        chosen[joint] = COMBINATIONS[best]
        total += float(odds[best])
    return chosen, total


def _changes(products: FloatArray, prior: ChangePrior, chosen: FloatArray) -> list[Change]:
    """Sizes of the kinds that were chosen (n, 4), from products (n, 5, 5)."""
    scale = prior.of_joint * chosen
    outer = scale[:, :, None] * scale[:, None, :]
    covariances = outer * np.linalg.inv(np.eye(len(KINDS)) + products[:, :-1, :-1] * outer)
    means = (covariances @ products[:, :-1, -1:])[..., 0]
    return [
        Change(
            int(joint),
            KINDS[kind],
            float(means[joint, kind]),
            float(np.sqrt(covariances[joint, kind, kind])),
        )
        for joint, kind in zip(*np.nonzero(chosen), strict=True)
    ]


class _Whole(NamedTuple):
    """Most probable parameters (m,) of a change of all, deviation of the first, log evidence."""

    parameters: FloatArray
    std: float
    log_evidence: float


def _whole_beside(
    products: FloatArray,
    prior: ChangePrior,
    chosen: FloatArray,
    columns: slice,
    prior_std: FloatArray,
) -> _Whole:
    """Change of the whole arm beside kinds that were chosen (n, 4), which are integrated out."""
    scale = prior.of_joint * chosen
    outer = scale[:, :, None] * scale[:, None, :]
    known = np.eye(len(KINDS)) + products[:, OF_JOINT, OF_JOINT] * outer
    across = scale[:, :, None] * products[:, OF_JOINT]
    total = (products - across.transpose(0, 2, 1) @ np.linalg.solve(known, across)).sum(axis=0)
    A = total[columns, columns] * np.outer(prior_std, prior_std)
    b = total[columns, RESIDUAL] * prior_std
    covariance = np.linalg.inv(np.eye(len(b)) + A)
    of_kinds = 0.5 * (products[:, RESIDUAL, RESIDUAL].sum() - total[RESIDUAL, RESIDUAL])
    of_kinds -= 0.5 * np.linalg.slogdet(known)[1].sum()
    return _Whole(
        prior_std * (covariance @ b),
        float(prior_std[0] * np.sqrt(covariance[0, 0])),
        float(of_kinds + _log_ratio(A, b)),
    )


def _log_mean(values: FloatArray) -> FloatArray:
    """Log of the mean of exp(values) over the first axis."""
    largest = values.max(axis=0)
    return np.asarray(largest + np.log(np.exp(values - largest).mean(axis=0)))


def _log_ratio(A: FloatArray, b: FloatArray) -> FloatArray:
    """Log B of coefficients with unit prior: precision A (..., m, m) of the data, pull b."""
    whole = np.eye(A.shape[-1]) + A
    pulled = np.sum(b * np.linalg.solve(whole, b[..., None])[..., 0], axis=-1)
    return np.asarray(0.5 * (pulled - np.linalg.slogdet(whole)[1]))
