# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""
What has changed, where torques are likelier with a change of the arm than without.

Any combination of kinds may have changed in each joint, and one thing about the whole arm beside
them. Those are named that together are the most probable, if each is as sure as an alarm. Kinds
that were named before stay until others are clearly likelier.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import NamedTuple

import numpy as np

from ilr_dynamics.arrays import FloatArray
from ilr_dynamics.robot.misfit_evidence import (
    KINDS,
    N_COLUMNS,
    OF_ARM,
    OF_JOINT,
    RESIDUAL,
    ChangePrior,
    log_ratio,
)
from ilr_dynamics.robot.payload_posterior import SHAPE

__all__ = ["Change", "explanation", "sharpened"]

# Which kinds take part, for each of their combinations.
COMBINATIONS = np.array(list(product((0.0, 1.0), repeat=len(KINDS))))
# Payload and kinds are found by turns.
TURNS = 3
# Log odds from which on other kinds of change of a joint are named than before: twenty to one. On
# one motion dry and viscous friction that grow together are hardly told apart, and would be named
# by turns.
CLEARLY = 3.0


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


def sharpened(products: FloatArray, counts: FloatArray, prior: ChangePrior) -> FloatArray:
    """
    Return the sums with each joint's precision as what its likeliest change leaves has it.

    The precision has the Gamma distribution that it has beside a payload (`payload_posterior`).

    Parameters
    ----------
    products : ndarray of shape (n, 16, 16)
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
    products: FloatArray,
    prior: ChangePrior,
    cost: float,
    of_arm: Sequence[str] = OF_ARM,
    before: Sequence[Change] = (),
) -> list[Change]:
    """
    Return what has changed: the changes that together are the most probable.

    Parameters
    ----------
    products : ndarray of shape (n, 16, 16)
        Sums over samples of the products of their rows.
    prior : ChangePrior
    cost : float
        Log odds against each change before anything is seen.
    of_arm : sequence of str
        Changes of the whole arm one of which may be among them.
    before : sequence of Change
        What had changed by then; a joint's kinds stay unless others are clearly likelier.
    """
    named = _named_kinds(before, len(prior.of_joint))
    left = _without(products, slice(0, 0), np.zeros(0))
    chosen, most = _best_kinds(left, prior, cost, named)
    changes = _changes(left, prior, chosen)
    for kind in of_arm:
        columns, scale = prior.of_arm[kind]
        beside = np.zeros(prior.of_joint.shape)
        for _ in range(TURNS):
            found = _whole_beside(products, prior, beside, columns, scale)
            left = _without(products, columns, found.parameters)
            beside, _ = _best_kinds(left, prior, cost, named)
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


def _named_kinds(changes: Sequence[Change], n_joints: int) -> FloatArray:
    """Which kinds of each joint (n, 4) are among some changes."""
    named = np.zeros((n_joints, len(KINDS)))
    for change in changes:
        if change.joint is not None:
            named[change.joint, KINDS.index(change.kind)] = 1.0
    return named


def _best_kinds(
    products: FloatArray, prior: ChangePrior, cost: float, named: FloatArray
) -> tuple[FloatArray, float]:
    """
    Most probable combination (n, 4) of each joint's kinds, and the log of their odds.

    That which was `named` (n, 4) before, unless another one is clearly likelier.
    """
    chosen, total = np.zeros(prior.of_joint.shape), 0.0
    squares = np.diagonal(products, axis1=1, axis2=2)[:, :-1] * prior.of_joint**2
    pulls = products[:, :-1, -1] * prior.of_joint
    # Joints of which no kind by itself would be worth that are left out.
    for joint in np.nonzero((0.5 * pulls**2 / (1.0 + squares)).max(axis=1) > cost)[0]:
        scale = COMBINATIONS * prior.of_joint[joint]
        A = products[joint, :-1, :-1] * scale[:, :, None] * scale[:, None, :]
        odds = log_ratio(A, products[joint, :-1, -1] * scale) - cost * COMBINATIONS.sum(axis=1)
        # No kind at all has odds of one.
        stays = (COMBINATIONS == named[joint]).all(axis=1) & (odds > 0.0)
        best = int(np.argmax(odds + CLEARLY * stays))
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
        float(of_kinds + log_ratio(A, b)),
    )
