# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
r"""
Which mistake explains the recorded torques best, if any does.

Under each hypothesis the torques are those of the described bodies, friction and a constant in
each joint, and what the hypothesis leaves open:

.. math::
    \tau_j = T_j(q, \dot q, \ddot q) + G_j(q)\,g + P_j(q, \dot q, \ddot q)\,\pi + F_j c_j + e_j

Hypotheses are compared by Schwarz's criterion,
:math:`\tfrac{n}{2} \sum_j \log s_j^2 + \tfrac{p}{2} \log n`, in nats, with n the number of samples
that tell something of their own: errors of a model are alike for as long as the motion is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

from .evidence import ENOUGH_ROWS, SLIPS, Evidence, MotionTerms, motion_terms

__all__ = ["Hypothesis", "best_hypothesis"]

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

# States that say as much as one would alone: errors of the model last for a quarter of a second.
CORRELATION_S = 0.25
# Errors below this share of a joint's torque are those of any model, friction foremost: to explain
# them better is no evidence.
FLOOR = 0.05


@dataclass(frozen=True)
class Hypothesis:
    """
    One mistake, and how well it explains the torques.

    Attributes
    ----------
    kind : str
        Of `KINDS`; empty if all is as described.
    joints : tuple of int
        What it is about.
    score : float
        Schwarz's criterion, nats: less is better.
    values : ndarray
        What was estimated: gravity (3,), m/s^2; load (4,), kg and kg m; a factor (1,).
    error : ndarray of shape (n_joints,)
        Root mean square of what is left of each joint's torque, Nm.
    """

    kind: str
    joints: tuple[int, ...]
    score: float
    values: Array
    error: Array


def best_hypothesis(evidence: Evidence, delay: float) -> tuple[Hypothesis, Hypothesis]:
    """
    Compare all hypotheses.

    Parameters
    ----------
    evidence : Evidence
        With a described arm.
    delay : float
        From a state to the action of its torque, s.

    Returns
    -------
    best, described : Hypothesis
        The best one, and that all is as described.
    """
    found = list(_hypotheses(evidence, delay))
    return min(found, key=lambda hypothesis: hypothesis.score), found[0]


def _hypotheses(evidence: Evidence, delay: float) -> Iterator[Hypothesis]:
    assert evidence.model is not None and evidence.terms is not None
    torque, known = evidence.torque(delay)
    fit = _Fit(evidence, torque, known)
    X = evidence.samples.X[evidence.rows]
    n = len(evidence.joints)
    yield fit("", (), evidence.terms, X)
    yield fit("gravity", (), evidence.terms, X, of_gravity=True)
    yield fit("payload", (), evidence.terms, X, of_load=True)
    for factor in (0.1, 0.5, 2.0, 10.0):
        yield fit("effort_scale", (), evidence.terms, X, factor=factor)
    for joint in range(n):
        yield fit("wrong_sign", (joint,), evidence.terms, X, of_torque=_flip(n, joint))
    for pair in combinations(range(n), 2):
        yield fit("permuted_joints", pair, evidence.terms, X, of_torque=_swap(n, *pair))
    changes: list[tuple[str, tuple[int, ...], Array]]
    changes = [("wrong_sign", (joint,), _flip(n, joint)) for joint in range(n)]
    changes += [("permuted_joints", pair, _swap(n, *pair)) for pair in combinations(range(n), 2)]
    for kind, joints, change in changes:
        changed = X @ np.kron(np.eye(3), change)
        terms = motion_terms(evidence.model, changed, np.array([0.0, 0.0, -9.81]))
        yield fit(kind, joints, terms, changed)
        # As many torques as positions under the wrong name, or with the wrong sign.
        yield fit(kind, joints, terms, changed, of_torque=change)


def _flip(n: int, joint: int) -> Array:
    change = np.eye(n)
    change[joint, joint] = -1.0
    return change


def _swap(n: int, one: int, other: int) -> Array:
    change = np.eye(n)
    change[[one, other]] = change[[other, one]]
    return change


class _Fit:
    """Least squares of each joint's torque."""

    def __init__(self, evidence: Evidence, torque: Array, known: NDArray[np.bool_]) -> None:
        self._evidence = evidence
        self._known = known
        self._torque = torque
        self._gravity = evidence.nominal_gravity
        duration = float(np.count_nonzero(known)) * evidence.recording.period
        duration *= evidence.samples.n_used / max(len(evidence.rows), 1)
        self._n = min(max(duration / CORRELATION_S, 4.0), float(np.count_nonzero(known)))
        self._floor = FLOOR * np.sqrt(np.mean(torque[known] ** 2, axis=0)) + 1e-9

    def __call__(
        self,
        kind: str,
        joints: tuple[int, ...],
        terms: MotionTerms,
        X: Array,
        *,
        of_gravity: bool = False,
        of_load: bool = False,
        of_torque: Array | None = None,
        factor: float = 1.0,
    ) -> Hypothesis:
        torque = self._torque / factor
        if of_torque is not None:
            torque = torque @ of_torque
        described = terms.torque + terms.gravity @ self._gravity
        shared: Sequence[Array] = ()
        if of_gravity:
            shared = [terms.gravity]
        elif of_load:
            shared = [terms.load]
        n_joints = torque.shape[1]
        slips = self._known[:, np.newaxis] & (np.abs(X[:, n_joints : 2 * n_joints]) > SLIPS)
        own = self._evidence.friction(X)
        values, error = self._solve(torque - described, shared, own, slips)
        if of_gravity:
            values = values + self._gravity
        scale = np.abs(of_torque).T @ self._floor if of_torque is not None else self._floor
        # In the units recorded, so that hypotheses on units can be compared.
        variance = (factor * error) ** 2 + scale**2
        n_open = values.size + (factor != 1.0)
        score = 0.5 * self._n * np.log(variance).sum() + 0.5 * n_open * np.log(self._n)
        values = np.array([factor]) if factor != 1.0 else values
        return Hypothesis(kind, joints, float(score), values, error)

    def _solve(
        self, left: Array, shared: Sequence[Array], own: Array, slips: Mask
    ) -> tuple[Array, Array]:
        """Estimate what joints share, and what is left of each joint (n_joints,)."""
        joints = np.flatnonzero(np.count_nonzero(slips, axis=0) >= ENOUGH_ROWS)
        values = np.zeros(0)
        if shared and joints.size:
            wide = np.concatenate(shared, axis=2)
            rest, columns = [], []
            for j in joints:
                rows = slips[:, j]
                basis, _ = np.linalg.qr(own[rows, j] / _length(own[rows, j]))
                rest.append(left[rows, j] - basis @ (basis.T @ left[rows, j]))
                columns.append(wide[rows, j] - basis @ (basis.T @ wide[rows, j]))
            values = _weighted(rest, columns, self._floor[joints])
            left = left - wide @ values
        error = np.zeros(left.shape[1])
        for j in joints:
            error[j] = _left_by_friction(left[slips[:, j], j], own[slips[:, j], j])
        return values, error


def _weighted(rest: list[Array], columns: list[Array], floor: Array) -> Array:
    """Least squares of what joints share, each joint in units of what is left of it."""
    weight = [1.0 / (np.sqrt(np.mean(r**2)) + 1e-9) for r in rest]
    for _ in range(3):
        A = np.vstack([w * c for w, c in zip(weight, columns, strict=True)])
        b = np.concatenate([w * r for w, r in zip(weight, rest, strict=True)])
        values = np.linalg.lstsq(A, b, rcond=1e-8)[0]
        errors = [r - c @ values for r, c in zip(rest, columns, strict=True)]
        level = [np.sqrt(np.mean(e**2)) for e in errors]
        weight = list(1.0 / np.hypot(level, floor))
    return values


def _left_by_friction(left: Array, own: Array) -> float:
    """Root mean square of what friction leaves of a joint's torque: it never pushes."""
    columns = np.hstack([own, -own[:, -1:]])
    _, norm = nnls(columns / _length(columns), left)
    return float(norm / np.sqrt(len(left)))


def _length(columns: Array) -> Array:
    return np.maximum(np.linalg.norm(columns, axis=0), 1e-12)
