# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
r"""
Which mistake explains the recorded torques best, if any does.

Under each hypothesis the torques are those of the described bodies, friction and a constant in
each joint, and what the hypothesis leaves open:

.. math::
    \tau_j = T_j(q, \dot q, \ddot q) + G_j(q)\,g + P_j(q, \dot q, \ddot q)\,\pi + F_j c_j + e_j

Hypotheses are compared by Schwarz's criterion,
:math:`\sum_j \tfrac{n_j}{2} \log s_j^2 + \tfrac{p}{2} \log n`, in nats, with n_j the number of
independent states of a joint: errors of a model are alike for as long as the motion is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from scipy.optimize import nnls

from ilr_dynamics.arrays import BoolArray, FloatArray
from ilr_dynamics.inspection.evidence import ENOUGH_ROWS, GRAVITY, Evidence
from ilr_dynamics.learning.plausibility import UNITS_OF_LIMIT
from ilr_dynamics.robot.rigid_body import RigidBodyModel

__all__ = ["Hypothesis", "best_hypothesis", "fit_friction"]

# Errors of the model last for a quarter of a second, and longer in slow motion.
CORRELATION_S = 0.25
# However few states are independent, s^2 was estimated.
FEWEST = 4.0
# Nats against torques in another unit: where a weight held twice explains them as well, that is
# what people get wrong; no two units differ by two.
RARER = 5.0
# What drivers make of a Nm by mistake: other gears than there are, a wrong torque constant.
FACTORS = (0.1, 0.5, 2.0, 10.0)
# Of the rows, one in so many: states that follow closely say the same.
THIN = 3
# Nats that each of several joints must give for it that its torque has the other sign.
EACH = 10.0
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
        Schwarz's criterion less that of no mistake, nats: negative is better.
    values : ndarray
        What was estimated: gravity (3,), m/s^2; load (4,), kg and kg m; else empty.
    error : ndarray of shape (n_joints,)
        Root mean square of what is left of each joint's torque, Nm.
    unit : str
        That the torques are in, if not in Nm.
    """

    kind: str
    joints: tuple[int, ...]
    score: float
    values: FloatArray
    error: FloatArray
    unit: str = ""


def best_hypothesis(
    evidence: Evidence, delay: float, torque_limit: FloatArray | None
) -> tuple[Hypothesis, Hypothesis]:
    """
    Compare all hypotheses.

    Parameters
    ----------
    evidence : Evidence
        With a described arm.
    delay : float
        From a state to the action of its torque, s.
    torque_limit : ndarray of shape (n_joints,) or None
        Nm.

    Returns
    -------
    best, described : Hypothesis
        The best one, and that all is as described.
    """
    fit = _Fit(evidence, delay)
    described = fit("", ())
    mistakes = _mistakes(evidence, fit, torque_limit)
    return min([described, *mistakes], key=lambda found: found.score), described


def _mistakes(
    evidence: Evidence, fit: _Fit, torque_limit: FloatArray | None
) -> Iterator[Hypothesis]:
    n = len(evidence.joints)
    yield fit("gravity", (), of_gravity=True)
    yield fit("payload", (), of_load=True)
    for factor in FACTORS:
        yield fit("effort_scale", (), factor=np.full(n, factor), unit=f"{factor:g} Nm")
    if torque_limit is not None:
        for unit, share in UNITS_OF_LIMIT.items():
            name = f"{unit} of each joint's limit"
            yield fit("effort_scale", (), factor=1.0 / (share * torque_limit), unit=name)
    signs = np.array([fit("wrong_sign", (j,), of_torque=_flip(n, j)).score for j in range(n)])
    flipped = np.flatnonzero(signs < -EACH)
    if len(flipped) > 1:
        change = np.diag(np.where(signs < -EACH, -1.0, 1.0))
        yield fit("wrong_sign", tuple(flipped.tolist()), of_torque=change)
    changes: list[tuple[str, tuple[int, ...], FloatArray]]
    changes = [("wrong_sign", (joint,), _flip(n, joint)) for joint in range(n)]
    # What a joint that stands still has to do with another's torque nobody can say.
    moving = np.flatnonzero(np.count_nonzero(fit.slips, axis=0) >= ENOUGH_ROWS // THIN).tolist()
    changes += [("permuted_joints", pair, _swap(n, *pair)) for pair in combinations(moving, 2)]
    for kind, joints, change in changes:
        for of_motion, of_torque in ((None, change), (change, None), (change, change)):
            yield fit(kind, joints, of_motion=of_motion, of_torque=of_torque)


def _flip(n: int, joint: int) -> FloatArray:
    change = np.eye(n)
    change[joint, joint] = -1.0
    return change


def _swap(n: int, one: int, other: int) -> FloatArray:
    change = np.eye(n)
    change[[one, other]] = change[[other, one]]
    return change


class _Fit:
    """
    Scores of hypotheses, relative to that all is as described.

    Both are judged at the same states: where all joints slip that the hypothesis is about.
    """

    def __init__(self, evidence: Evidence, delay: float) -> None:
        assert evidence.model is not None and evidence.terms is not None
        self._evidence, self._model = evidence, evidence.model
        self._gravity = evidence.terms.gravity[::THIN]
        self._load = evidence.terms.load[::THIN]
        self._described = evidence.described[::THIN]
        self._X = evidence.samples.X[evidence.rows[::THIN]]
        torque, known = evidence.torque(delay)
        self._torque, known = torque[::THIN], known[::THIN]
        self.slips = evidence.slipping[::THIN] & known[:, np.newaxis]
        self._share = np.minimum(THIN * evidence.independent_share(CORRELATION_S)[::THIN], 1.0)
        self._floor = FLOOR * np.sqrt(np.mean(self._torque[known] ** 2, axis=0)) + 1e-9

    def __call__(
        self,
        kind: str,
        joints: tuple[int, ...],
        *,
        of_gravity: bool = False,
        of_load: bool = False,
        of_motion: FloatArray | None = None,
        of_torque: FloatArray | None = None,
        factor: FloatArray | None = None,
        unit: str = "",
    ) -> Hypothesis:
        slips = self.slips.copy()
        # The sign of each joint's torque is told by the joint itself.
        if kind != "wrong_sign":
            slips[:, list(joints)] = slips[:, list(joints)].all(axis=1, keepdims=True)
        rescale = 1.0 if factor is None else factor
        rigid, X, torque = self._described, self._X, self._torque / rescale
        if of_motion is not None:
            X = X @ np.kron(np.eye(3), of_motion)
            rigid = _rigid_torque(self._model, X, self._evidence.nominal_gravity)
        if of_torque is not None:
            torque = torque @ of_torque
        shared = [self._gravity] if of_gravity else [self._load] if of_load else []
        own = self._evidence.friction
        values, error = self._solve(torque - rigid, shared, own(X), slips)
        if of_torque is not None:
            # In the order recorded again.
            error = np.abs(of_torque) @ error
        _, described = self._solve(self._torque - self._described, [], own(self._X), slips)
        counts = np.maximum(np.sum(self._share, axis=0, where=slips), FEWEST)
        rarer = 0.0 if factor is None else RARER + 0.5 * np.log(counts.max())
        score = 0.5 * values.size * np.log(counts.max()) + rarer
        variances = [e**2 + self._floor**2 for e in (rescale * error, described)]
        score += 0.5 * float(counts @ np.log(variances[0] / variances[1]))
        if of_gravity:
            values = values + self._evidence.nominal_gravity
        return Hypothesis(kind, joints, score, values, rescale * error, unit)

    def _solve(
        self, left: FloatArray, shared: Sequence[FloatArray], own: FloatArray, slips: BoolArray
    ) -> tuple[FloatArray, FloatArray]:
        """Estimate what joints share, and what is left of each joint (n_joints,)."""
        joints = np.flatnonzero(np.count_nonzero(slips, axis=0) >= ENOUGH_ROWS // THIN)
        values = np.zeros(sum(columns.shape[2] for columns in shared))
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
            _, error[j] = fit_friction(left[slips[:, j], j], own[slips[:, j], j])
        return values, error


def _rigid_torque(model: RigidBodyModel, X: FloatArray, gravity: FloatArray) -> FloatArray:
    """Torque (n, n_joints) of the described bodies, Nm, for a gravity."""
    states = list(zip(*np.split(X, 3, axis=1), strict=True))
    torque = np.array([model.inverse_dynamics(*state) for state in states])
    if np.array_equal(gravity, GRAVITY):
        return torque
    return torque + np.array(
        [model.gravity_columns(q) @ (gravity - GRAVITY) for q, _, _ in states]
    )


def _weighted(rest: list[FloatArray], columns: list[FloatArray], floor: FloatArray) -> FloatArray:
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


def fit_friction(left: FloatArray, own: FloatArray) -> tuple[FloatArray, float]:
    """
    Fit what acts in a joint alone to a torque (n,): it never pushes.

    Parameters
    ----------
    left : ndarray of shape (n,)
        Nm.
    own : ndarray of shape (n, 5)
        `Evidence.friction` of the joint.

    Returns
    -------
    values : ndarray of shape (5,)
        Coefficients. Friction that is negative there is so at no speed.
    error : float
        Root mean square of what is left, Nm.
    """
    # Dry friction may fall with the speed (Stribeck): more of it below the lower of two speeds.
    falling = own[:, :1] - own[:, 1:2]
    columns = np.hstack([own, -own[:, -1:], falling])
    length = _length(columns)
    values, norm = nnls(columns / length, left)
    values /= length
    *values, negative, falls = values
    values = np.array(values)
    values[-1] -= negative
    values[:2] += [falls, -falls]
    return values, float(norm / np.sqrt(len(left)))


def _length(columns: FloatArray) -> FloatArray:
    return np.maximum(np.linalg.norm(columns, axis=0), 1e-12)
