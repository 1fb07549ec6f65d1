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
from itertools import combinations, permutations

import numpy as np
import scipy

from ilr_dynamics.arrays import BoolArray, FloatArray, IndexArray
from ilr_dynamics.inspection.evidence import ENOUGH_ROWS, Evidence
from ilr_dynamics.inspection.friction_fit import column_length, fit_friction
from ilr_dynamics.learning.plausibility import UNITS_OF_LIMIT

__all__ = ["Hypothesis", "best_hypothesis"]

# Errors of the model last for a quarter of a second, and longer in slow motion.
CORRELATION_S = 0.25
# However few states are independent, s^2 was estimated.
FEWEST = 4.0
# Nats against torques in another unit: where a weight held twice explains them as well, that is
# what people get wrong; no two units differ by two.
RARER = 5.0
# What drivers make of a Nm by mistake: other gears than there are, a wrong torque constant.
FACTORS = (0.1, 0.5, 2.0, 10.0)
# And of a radian, where positions are in turns or another gear is between motor and joint.
GEARS = (2.0 * np.pi, 0.5, 2.0)
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
    kind : str
        Of `KINDS`; empty if all is as described.
    joints : tuple of int
        What it is about.
    score : float
        Schwarz's criterion less that of no mistake, nats: negative is better.
    values : ndarray
        What was estimated: gravity (3,), m/s^2; load (4,), kg and kg m; an offset (1,), rad; else
        empty.
    error : ndarray of shape (n_joints,)
        Root mean square of what is left of each joint's torque, Nm.
    unit : str
        That the torques or positions are in, if not in Nm or rad.
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
    if fit.largest_gain(described) < LEAST_GAIN:
        return described, described
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
    changes += [("permuted_joints", _moved(p), np.eye(n)[p]) for p in fit.orders()]
    for kind, joints, change in changes:
        for of_motion, of_torque in ((None, change), (change, None), (change, change)):
            yield fit(kind, joints, of_motion=of_motion, of_torque=of_torque)
    for gear in GEARS:
        everywhere = np.full(n, gear)
        yield fit("position_scale", (), of_motion=np.diag(everywhere), unit=_unit_of_motion(gear))
        for joint in range(n):
            scale = np.diag(np.where(np.arange(n) == joint, gear, 1.0))
            unit = _unit_of_motion(gear)
            yield fit("position_scale", (joint,), of_motion=scale, unit=unit)
    tried = [(fit.offset(j, x), j, x) for j in range(n) for x in OFFSETS if x != 0.0]
    _, joint, near = min(tried, key=lambda of: of[0].score)
    step = float(OFFSETS[1] - OFFSETS[0])
    offset = scipy.optimize.minimize_scalar(
        lambda x: fit.offset(joint, x).score,
        bounds=(near - step, near + step),
        method="bounded",
        options={"xatol": FINELY},
    ).x
    yield fit.offset(joint, float(offset))


def _flip(n: int, joint: int) -> FloatArray:
    change = np.eye(n)
    change[joint, joint] = -1.0
    return change


def _swap(n: int, one: int, other: int) -> FloatArray:
    change = np.eye(n)
    change[[one, other]] = change[[other, one]]
    return change


def _moved(order: IndexArray) -> tuple[int, ...]:
    """Joints that an order puts elsewhere."""
    return tuple(np.flatnonzero(order != np.arange(len(order))).tolist())


def _unit_of_motion(gear: float) -> str:
    return "turns" if gear == GEARS[0] else f"{1.0 / gear:g} times the angle"


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
        """Orders of the joints that people get wrong, other than two exchanged.

        The other way round, from the second or the last one on, or as the torques fit the
        described ones best.
        """
        n = len(self._floor)
        if n <= FEW_JOINTS:
            orders = map(np.array, permutations(range(n)))
            yield from (order for order in orders if len(_moved(order)) > 2)
            return
        yield np.arange(n)[::-1]
        yield np.roll(np.arange(n), 1)
        yield np.roll(np.arange(n), -1)
        rows: BoolArray = np.all(self.slips, axis=1)
        if np.count_nonzero(rows) < ENOUGH_ROWS // THIN:
            return
        own = self._evidence.friction(self._X)[rows]
        left = [[self._left_of(i, j, rows, own) for j in range(n)] for i in range(n)]
        order = scipy.optimize.linear_sum_assignment(np.log(left))[1]
        if len(_moved(order)) > 2:
            yield order
            yield np.argsort(order)

    def offset(self, joint: int, offset: float) -> Hypothesis:
        """Judge that the zero of one joint's positions is wrong by an offset, rad."""
        shift = np.where(np.arange(len(self._floor)) == joint, offset, 0.0)
        return self(
            "position_offset", (joint,), of_position=shift, values=np.array([float(offset)])
        )

    def _left_of(self, torque: int, joint: int, rows: BoolArray, own: FloatArray) -> float:
        """What is left of one torque if it is another joint's, Nm."""
        rest = self._torque[rows, torque] - self._described[rows, joint]
        return fit_friction(rest, own[:, joint])[1] + 1e-9

    def __call__(
        self,
        kind: str,
        joints: tuple[int, ...],
        *,
        of_gravity: bool = False,
        of_load: bool = False,
        of_motion: FloatArray | None = None,
        of_torque: FloatArray | None = None,
        of_position: FloatArray | None = None,
        factor: FloatArray | None = None,
        unit: str = "",
        values: FloatArray | None = None,
    ) -> Hypothesis:
        slips = self.slips.copy()
        # Sign, unit and zero of a joint are told by those that slip, each for itself.
        if kind == "permuted_joints":
            slips[:, list(joints)] = slips[:, list(joints)].all(axis=1, keepdims=True)
        rescale = 1.0 if factor is None else factor
        rigid, X, torque = self._described, self._X, self._torque / rescale
        if of_position is not None:
            X = X + np.pad(of_position, (0, 2 * len(of_position)))
        if of_motion is not None:
            X = X @ np.kron(np.eye(3), of_motion)
        if X is not self._X:
            rigid = self._evidence.rigid_torque(X)
        if of_torque is not None:
            torque = torque @ of_torque
        shared = [self._gravity] if of_gravity else [self._load] if of_load else []
        own = self._evidence.friction
        found, error = self._solve(torque - rigid, shared, own(X), slips)
        if values is None:
            values = found
        if of_torque is not None:
            # In the order recorded again.
            error = np.abs(of_torque) @ error
        _, described = self._solve(self._torque - self._described, [], own(self._X), slips)
        counts = np.maximum(np.sum(self._share, axis=0, where=slips), FEWEST)
        # One of several factors or offsets, by the number of states as any estimate.
        chosen = factor is not None or kind in ("position_scale", "position_offset")
        rarer = 0.0 if not chosen else RARER + 0.5 * np.log(counts.max())
        score = 0.5 * found.size * np.log(counts.max()) + rarer
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
