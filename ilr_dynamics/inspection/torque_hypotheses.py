# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
r"""
Comparison of hypotheses on what is wrong with recorded torques: sign, names, unit, gravity.

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
import scipy

from ilr_dynamics.arrays import BoolArray, FloatArray, IndexArray
from ilr_dynamics.inspection.evidence import ENOUGH_ROWS, Evidence
from ilr_dynamics.inspection.friction_fit import column_length, fit_friction
from ilr_dynamics.inspection.torque_mistakes import (
    Mistake,
    all_orders,
    common_orders,
    maps_of_joints,
    moved_joints,
    wrong_units,
)

__all__ = ["Hypothesis", "best_hypothesis"]

# Errors of the model last for a quarter of a second, and longer in slow motion.
CORRELATION_S = 0.25
# However few states are independent, s^2 was estimated.
FEWEST = 4.0
# Nats against torques in another unit: where a weight held twice explains them as well, that is
# what people get wrong; no two units differ by two.
RARER = 5.0
# Joints are homed by hand, or at the other end of their range: offsets that are tried, rad, and
# how closely the best of them is found. Small ones are left to `deviations`.
OFFSETS, FINELY = np.pi / 6.0 * np.arange(-6, 7), 0.01
# Of so many joints all orders are tried.
FEW_JOINTS = 4
# Nats that a mistake must explain at the least; below, none is looked for.
LEAST_GAIN = 20.0
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
    mistake : Mistake
        What is wrong.
    score : float
        Schwarz's criterion less that of no mistake, nats: negative is better.
    values : ndarray
        What was estimated: gravity (3,), m/s^2; load (4,), kg and kg m; an offset (1,), rad; else
        empty.
    error : ndarray of shape (n_joints,)
        Root mean square of what is left of each joint's torque, Nm.
    """

    mistake: Mistake
    score: float
    values: FloatArray
    error: FloatArray

    @property
    def kind(self) -> str:
        """Of the mistake; empty if all is as described."""
        return self.mistake.kind

    @property
    def joints(self) -> tuple[int, ...]:
        """What the mistake is about."""
        return self.mistake.joints

    @property
    def unit(self) -> str:
        """That the torques or positions are in, if not in Nm or rad."""
        return self.mistake.unit


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
    described = fit.judge(Mistake())
    if fit.largest_gain(described) < LEAST_GAIN:
        return described, described
    judged = map(fit.judge, _mistakes(fit, len(evidence.joints), torque_limit))
    return min([described, *judged], key=lambda found: found.score), described


def _mistakes(fit: _Fit, n_joints: int, torque_limit: FloatArray | None) -> Iterator[Mistake]:
    yield Mistake("gravity", estimated="gravity")
    yield Mistake("payload", estimated="load")
    signs = [Mistake.of_signs(n_joints, (joint,)) for joint in range(n_joints)]
    flipped = [sign.joints[0] for sign in signs if fit.judge(sign).score < -EACH]
    if len(flipped) > 1:
        yield Mistake.of_signs(n_joints, tuple(flipped))
    # What a joint that stands still has to do with another's torque nobody can say.
    moving = np.flatnonzero(np.count_nonzero(fit.slips, axis=0) >= ENOUGH_ROWS // THIN).tolist()
    yield from maps_of_joints(n_joints, combinations(moving, 2), fit.orders())
    yield from wrong_units(n_joints, torque_limit)
    yield fit.likeliest_offset()


class _Fit:
    """
    Scores of hypotheses, relative to that all is as described.

    Both are judged at the same states: where all joints slip that the hypothesis is about.
    """

    def __init__(self, evidence: Evidence, delay: float) -> None:
        assert evidence.model is not None and evidence.terms is not None
        self._evidence = evidence
        self._gravity = evidence.terms.gravity[::THIN]
        self._load = evidence.terms.load[::THIN]
        self._described = evidence.described[::THIN]
        self._X = evidence.samples.X[evidence.rows[::THIN]]
        torque, known = evidence.torque(delay)
        self._torque, known = torque[::THIN], known[::THIN]
        self.slips = evidence.slipping[::THIN] & known[:, np.newaxis]
        self._share = np.minimum(THIN * evidence.independent_share(CORRELATION_S)[::THIN], 1.0)
        self._floor = FLOOR * np.sqrt(np.mean(self._torque[known] ** 2, axis=0)) + 1e-9

    def largest_gain(self, described: Hypothesis) -> float:
        """Nats by which any mistake explains the torques better than none at most."""
        counts = np.maximum(np.sum(self._share, axis=0, where=self.slips), FEWEST)
        return 0.5 * float(counts @ np.log1p((described.error / self._floor) ** 2))

    def orders(self) -> Iterator[IndexArray]:
        """Orders of the joints, other than two exchanged.

        Those that people get wrong, or in which torques fit the described ones best; of few joints
        all.
        """
        n = len(self._floor)
        if n <= FEW_JOINTS:
            yield from all_orders(n)
            return
        yield from common_orders(n)
        rows: BoolArray = np.all(self.slips, axis=1)
        if np.count_nonzero(rows) < ENOUGH_ROWS // THIN:
            return
        own = self._evidence.friction(self._X)[rows]
        left = [[self._left_of(i, j, rows, own) for j in range(n)] for i in range(n)]
        order = scipy.optimize.linear_sum_assignment(np.log(left))[1]
        if len(moved_joints(order)) > 2:
            yield order
            yield np.argsort(order)

    def likeliest_offset(self) -> Mistake:
        """Return the zero of one joint's positions that explains the torques best."""
        n = len(self._floor)
        tried = [Mistake.of_zero(n, j, float(x)) for j in range(n) for x in OFFSETS if x != 0.0]
        best = min(tried, key=lambda mistake: self.judge(mistake).score)
        assert best.position_offset is not None
        joint = best.joints[0]
        near, step = best.position_offset[joint], float(OFFSETS[1] - OFFSETS[0])
        offset = scipy.optimize.minimize_scalar(
            lambda x: self.judge(Mistake.of_zero(n, joint, float(x))).score,
            bounds=(near - step, near + step),
            method="bounded",
            options={"xatol": FINELY},
        ).x
        return Mistake.of_zero(n, joint, float(offset))

    def _left_of(self, torque: int, joint: int, rows: BoolArray, own: FloatArray) -> float:
        """What is left of one torque if it is another joint's, Nm."""
        rest = self._torque[rows, torque] - self._described[rows, joint]
        return fit_friction(rest, own[:, joint])[1] + 1e-9

    def judge(self, mistake: Mistake) -> Hypothesis:
        """Judge how well a mistake explains the torques."""
        slips = self._slips_about(mistake)
        X, torque = self._as_meant(mistake)
        rigid = self._described if X is self._X else self._evidence.rigid_torque(X)
        shared = {"gravity": [self._gravity], "load": [self._load]}.get(mistake.estimated, [])
        own = self._evidence.friction
        found, error = self._solve(torque - rigid, shared, own(X), slips)
        if mistake.torque_map is not None:
            # In the order recorded again.
            error = np.abs(mistake.torque_map) @ error
        if mistake.torque_factor is not None:
            error = mistake.torque_factor * error
        _, described = self._solve(self._torque - self._described, [], own(self._X), slips)
        score = self._score(mistake, found.size, error, described, slips)
        if mistake.position_offset is not None:
            found = mistake.position_offset[list(mistake.joints)]
        if mistake.estimated == "gravity":
            found = found + self._evidence.nominal_gravity
        return Hypothesis(mistake, score, found, error)

    def _slips_about(self, mistake: Mistake) -> BoolArray:
        """Where the joints slip that a mistake is about (m, n_joints)."""
        slips = self.slips.copy()
        # Sign, unit and zero of a joint are told by those that slip, each for itself.
        if mistake.kind == "permuted_joints":
            about = list(mistake.joints)
            slips[:, about] = slips[:, about].all(axis=1, keepdims=True)
        return slips

    def _as_meant(self, mistake: Mistake) -> tuple[FloatArray, FloatArray]:
        """States (m, 3 n_joints) and torques (m, n_joints) without the mistake."""
        X, torque = self._X, self._torque
        if mistake.torque_factor is not None:
            torque = torque / mistake.torque_factor
        if mistake.torque_map is not None:
            torque = torque @ mistake.torque_map
        if mistake.position_offset is not None:
            X = X + np.pad(mistake.position_offset, (0, 2 * len(mistake.position_offset)))
        if mistake.motion_map is not None:
            X = X @ np.kron(np.eye(3), mistake.motion_map)
        return X, torque

    def _score(
        self,
        mistake: Mistake,
        n_estimated: int,
        error: FloatArray,
        described: FloatArray,
        slips: BoolArray,
    ) -> float:
        """Schwarz's criterion of a mistake less that of none, nats."""
        counts = np.maximum(np.sum(self._share, axis=0, where=slips), FEWEST)
        # A number that was chosen counts as any estimate.
        chosen = RARER + 0.5 * np.log(counts.max()) if mistake.is_one_of_several else 0.0
        variances = [of**2 + self._floor**2 for of in (error, described)]
        fit = 0.5 * float(counts @ np.log(variances[0] / variances[1]))
        return float(0.5 * n_estimated * np.log(counts.max()) + chosen + fit)

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
                basis, _ = np.linalg.qr(own[rows, j] / column_length(own[rows, j]))
                rest.append(left[rows, j] - basis @ (basis.T @ left[rows, j]))
                columns.append(wide[rows, j] - basis @ (basis.T @ wide[rows, j]))
            values = _weighted(rest, columns, self._floor[joints])
            left = left - wide @ values
        error = np.zeros(left.shape[1])
        for j in joints:
            _, error[j] = fit_friction(left[slips[:, j], j], own[slips[:, j], j])
        return values, error


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
