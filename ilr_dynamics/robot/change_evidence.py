# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
r"""
What has changed about an arm: the hypothesis under which new torques are most probable.

Earlier samples leave parameters N(mean, S) and the noise variance of each joint. Under a
hypothesis the parameters of some groups g have changed by N(0, lambda_g^2 P_g), P_g being the
covariance of a usual change, and new torques, less what was expected of them, are

.. math::
    e \sim N\big(0,\; \Phi\,(S + \textstyle\sum_g \lambda_g^2 P_g)\,\Phi^\top
    + \mathrm{diag}(r_j \sigma_j^2 / w)\big)

each counted as the w independent samples that it is worth. Noise may have changed by factors r_j,
known beforehand as from the earlier samples, so that a stretch which the terms describe less well
than others is not taken for a change. All lambda and r are those that make the torques most
probable, with a normal prior on log lambda: changes have the usual size within a factor of e.

Beforehand nothing has changed with odds of a hundred to one; if something has, all sets of groups,
and everything, are equally probable. The search begins with all groups, since the change of one
hides that of another in noise, and leaves out, one after the other, what need not have changed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np

from ilr_dynamics.arrays import FloatArray, IndexArray
from ilr_dynamics.blas_threads import one_blas_thread
from ilr_dynamics.robot.change_groups import ChangeGroup

__all__ = ["LOG_ODDS_OF_NONE", "ArmChange", "NewTorques", "most_probable_change"]

# Log odds, beforehand, that nothing has changed from one recording to the next.
LOG_ODDS_OF_NONE = float(np.log(100.0))
# Deviations that a model states are right within a factor of e, as everywhere. Torques of a motion
# that is new are so far off without any change: their terms describe it a little otherwise, and of
# little noise the evidence sees that as clearly as a change.
LARGEST_USUAL_MISFIT = float(np.e)
SCALES = np.geomspace(0.02, 20.0, 41)
# A change has the usual size within a factor of e.
LOG_PRIOR_OF_SCALES = -0.5 * np.log(SCALES) ** 2
FIRST_SCALE = 0.3
SWEEPS = 6
# Relative change of noise factors and scales at which a search ends.
NOISE_TOLERANCE, SCALE_TOLERANCE = 0.02, 0.3
NOISE_ROUNDS = 20


@dataclass(frozen=True, eq=False)
class NewTorques:
    """
    New torques and what earlier ones let expect of them.

    Attributes
    ----------
    indices : ndarray of shape (n, C)
        Indices of the parameters of each joint's columns phi.
    covariance : ndarray of shape (P, P)
        Covariance S of the parameters.
    gram, pull, energy : ndarray of shape (n, C, C), (n, C) and (n,)
        Sums of phi phi', phi e and e^2 over the samples, weighted with what each is worth, in
        units of each joint's noise variance.
    weight, known : ndarray of shape (n,)
        Numbers of independent samples that these are, and that the noise is known from.
    """

    indices: IndexArray
    covariance: FloatArray
    gram: FloatArray
    pull: FloatArray
    energy: FloatArray
    weight: FloatArray
    known: FloatArray

    @classmethod
    def of_errors(
        cls,
        columns: FloatArray,
        errors: FloatArray,
        weights: FloatArray,
        noise: FloatArray,
        **known: Any,
    ) -> Self:
        """
        Sum up new torques.

        Parameters
        ----------
        columns : ndarray of shape (m, n, C)
            Columns phi.
        errors : ndarray of shape (m, n)
            Torques less what was expected of them, Nm.
        weights : ndarray of shape (m, n)
            Independent samples that each torque is worth.
        noise : ndarray of shape (n,)
            Noise variance of each joint's torque so far, Nm^2.
        **known : ndarray
            All other attributes.
        """
        weighted = columns * (weights / noise)[:, :, None]
        return cls(
            gram=np.einsum("mjc,mjk->jck", weighted, columns, optimize=True),
            pull=np.einsum("mjc,mj->jc", weighted, errors),
            energy=np.sum(weights * errors**2, axis=0) / noise,
            weight=np.sum(weights, axis=0),
            **known,
        )

    @property
    def misfit(self) -> FloatArray:
        """How far each joint's torques are off (n,), in deviations that were expected (rms)."""
        own = self.covariance[self.indices[:, :, None], self.indices[:, None, :]]
        expected = self.weight + np.einsum("jpq,jpq->j", self.gram, own)
        return np.sqrt(self.energy / np.maximum(expected, 1.0))


@dataclass(frozen=True, eq=False)
class ArmChange:
    """
    Most probable hypothesis.

    Attributes
    ----------
    groups : tuple of ChangeGroup
        What has changed; none if nothing has.
    factor : ndarray of shape (P, k)
        Root F of the covariance F F' of the change, before the new torques.
    expected : ndarray of shape (P,)
        Change that is expected given the new torques.
    log_odds : float
        Log of the odds that something has changed, against nothing.
    """

    groups: tuple[ChangeGroup, ...]
    factor: FloatArray
    expected: FloatArray
    log_odds: float


class _Solution(NamedTuple):
    """Gamma = Phi' M Phi (P, P) and h = Phi' M e (P,), M the precision of e; log evidence."""

    precision: FloatArray
    pull: FloatArray
    log_evidence: float
    squares: FloatArray


@dataclass(frozen=True, eq=False)
class _Hypothesis:
    """Groups that have changed, their scales and the noise factors r (n,)."""

    groups: tuple[ChangeGroup, ...]
    scales: FloatArray
    noise: FloatArray
    log_evidence: float = -np.inf

    def without(self, index: int) -> _Hypothesis:
        """Return this without one group."""
        left = (*self.groups[:index], *self.groups[index + 1 :])
        return replace(self, groups=left, scales=np.delete(self.scales, index))


@one_blas_thread
def most_probable_change(
    torques: NewTorques, groups: list[ChangeGroup], every: ChangeGroup
) -> ArmChange:
    """
    Return what has most probably changed.

    Nothing, where no joint's torques are farther off than a model may be that is right about its
    deviations within `LARGEST_USUAL_MISFIT`.

    Parameters
    ----------
    torques : NewTorques
    groups : list of ChangeGroup
        What may change by itself.
    every : ChangeGroup
        All parameters.
    """
    log_prior = LOG_ODDS_OF_NONE + len(groups) * np.log(2.0)
    unchanged = np.zeros(len(torques.covariance))
    if np.max(torques.misfit) < LARGEST_USUAL_MISFIT:
        return ArmChange((), unchanged[:, None], unchanged, -float(log_prior))
    search = _Search(torques)
    nothing = search.settled(_Hypothesis((), np.zeros(0), np.ones(len(torques.weight))))
    of_groups = search.pruned(search.fitted(tuple(groups)))
    changes = [search.fitted((every,)), *([of_groups] if of_groups.groups else [])]
    best = max(changes, key=lambda hypothesis: hypothesis.log_evidence)
    log_odds = float(best.log_evidence - nothing.log_evidence - log_prior)
    if not log_odds > 0.0:
        return ArmChange((), unchanged[:, None], unchanged, log_odds)
    factor = search.factor(best)
    return ArmChange(best.groups, factor, factor @ (factor.T @ search.solved(best).pull), log_odds)


class _Search:
    """Evidence of hypotheses and the scales and noise that maximize it."""

    def __init__(self, torques: NewTorques) -> None:
        self._torques = torques

    def factor(self, hypothesis: _Hypothesis) -> FloatArray:
        """Root (P, k) of the covariance of the change."""
        size = len(self._torques.covariance)
        parts = [np.zeros((size, 0))]
        for group, scale in zip(hypothesis.groups, hypothesis.scales, strict=True):
            parts.append(np.zeros((size, group.factor.shape[1])))
            parts[-1][group.parameters] = scale * group.factor
        return np.hstack(parts)

    def solved(self, hypothesis: _Hypothesis) -> _Solution:
        """Integrate the parameters out."""
        torques, noise = self._torques, hypothesis.noise
        factor = self.factor(hypothesis)
        covariance = torques.covariance + factor @ factor.T
        size = len(covariance)
        gram, pull = np.zeros((size, size)), np.zeros(size)
        for joint, own in enumerate(torques.indices):
            gram[np.ix_(own, own)] += torques.gram[joint] / noise[joint]
            pull[own] += torques.pull[joint] / noise[joint]
        inner = np.eye(size) + gram @ covariance
        solved = np.linalg.solve(inner, np.column_stack([gram, pull]))
        towards = np.asarray(solved[:, -1])
        precision = 0.5 * (solved[:, :-1] + solved[:, :-1].T)
        mean = covariance @ towards
        left = covariance - covariance @ precision @ covariance
        # E[e^2] about what the parameters, given these torques, explain.
        own_mean = mean[torques.indices]
        squares = (
            torques.energy
            - 2.0 * np.sum(torques.pull * own_mean, axis=1)
            + np.einsum("jp,jpq,jq->j", own_mean, torques.gram, own_mean, optimize=True)
            + np.einsum(
                "jpq,jpq->j",
                torques.gram,
                left[torques.indices[:, :, None], torques.indices[:, None, :]],
            )
        )
        _, log_determinant = np.linalg.slogdet(inner)
        log_evidence = -0.5 * float(
            torques.weight @ np.log(noise)
            + log_determinant
            + np.sum(torques.energy / noise)
            - pull @ mean
            + torques.known @ (np.log(noise) + 1.0 / noise - 1.0)
            + np.sum(np.log(hypothesis.scales) ** 2)
        )
        return _Solution(precision, towards, log_evidence, squares)

    def settled(self, hypothesis: _Hypothesis) -> _Hypothesis:
        """Return the hypothesis with the noise that is most probable under it."""
        torques = self._torques
        for _ in range(NOISE_ROUNDS):
            before, squares = hypothesis.noise, self.solved(hypothesis).squares
            noise = (torques.known + squares) / (torques.known + torques.weight)
            hypothesis = replace(hypothesis, noise=noise)
            if np.all(np.abs(np.log(noise / before)) < NOISE_TOLERANCE):
                break
        return replace(hypothesis, log_evidence=self.solved(hypothesis).log_evidence)

    def fitted(self, groups: tuple[ChangeGroup, ...]) -> _Hypothesis:
        """Return the hypothesis that all these have changed, with scales of each."""
        noise = np.ones(len(self._torques.weight))
        hypothesis = self.settled(_Hypothesis(groups, np.full(len(groups), FIRST_SCALE), noise))
        for _ in range(SWEEPS):
            before = hypothesis.scales
            for index in range(len(groups)):
                gains = self._gains(hypothesis, index)
                scales = hypothesis.scales.copy()
                scales[index] = SCALES[np.argmax(gains)]
                hypothesis = replace(hypothesis, scales=scales)
            hypothesis = self.settled(hypothesis)
            if np.all(np.abs(np.log(hypothesis.scales / before)) < SCALE_TOLERANCE):
                break
        return hypothesis

    def pruned(self, hypothesis: _Hypothesis) -> _Hypothesis:
        """Leave out groups, one at a time, for as long as that makes the torques more probable."""
        while hypothesis.groups:
            gains = [
                float(np.max(self._gains(hypothesis, index)))
                for index in range(len(hypothesis.groups))
            ]
            # With the noise as it is a group gains more than with that which would be without it.
            simpler = self.settled(hypothesis.without(int(np.argmin(gains))))
            if simpler.log_evidence < hypothesis.log_evidence:
                break
            hypothesis = simpler
        return hypothesis

    def _gains(self, hypothesis: _Hypothesis, index: int) -> FloatArray:
        """By how much one group's change, at each of `SCALES`, raises the evidence."""
        group = hypothesis.groups[index]
        without = self.solved(hypothesis.without(index))
        of_group = without.precision[np.ix_(group.parameters, group.parameters)]
        eigenvalues, vectors = np.linalg.eigh(group.factor.T @ of_group @ group.factor)
        eigenvalues = np.maximum(eigenvalues, 0.0)
        pull = vectors.T @ (group.factor.T @ without.pull[group.parameters])
        squared = SCALES[:, None] ** 2
        widened = 1.0 + squared * eigenvalues
        gains = 0.5 * np.sum(squared * pull**2 / widened - np.log(widened), axis=1)
        return np.asarray(gains + LOG_PRIOR_OF_SCALES)
