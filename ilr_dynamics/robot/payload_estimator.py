# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
r"""
Payload estimator: what the tool carries, from the torques that the arm's model does not expect.

Samples of the last minute of motion are kept as sums over stretches of little more than half a
second, each of one motion: most things are taken up and put down at rest. The errors of the arm's
model are alike at states that are alike, so a sample of a joint at a position and
velocity where it has been c times counts as 1 / (1 - s + s c) independent ones, as in
`representative_samples`: however long an eight is repeated, it tells of the payload what one round
does. Of each joint by itself, because gears, bearings and cables err by their own joint's state,
whatever the others do. After each stretch the newest are compared with what was before
(`log_odds_of_change`); if they contradict it, what was before is forgotten.
"""

from __future__ import annotations

import numpy as np

from ilr_dynamics.arrays import FloatArray
from ilr_dynamics.robot.payload_change import log_odds_of_change
from ilr_dynamics.robot.payload_posterior import PayloadPosterior, PayloadPrior
from ilr_dynamics.robot.payload_stretches import PayloadStretches
from ilr_dynamics.robot.payload_sums import PayloadSums, rows
from ilr_dynamics.robot.residual_correlation import ResidualCorrelation
from ilr_dynamics.robot.torque_noise import slipping_share

__all__ = ["PayloadEstimator"]

# Samples of a stretch, and of a rest from which on another motion begins; stretches that are kept:
# of ten samples a second, a minute.
STRETCH, MOST_STRETCHES = 6, 100
# How many of the newest stretches are compared with the rest, after which sample of a stretch.
COMPARED = {2: 2, 4: 7}
# Samples before each that it is not independent of, in these comparisons: a second's. What a model
# errs by is the same at the same state before and after a change, so it does not hide one, and a
# change that is found where there was none costs no more than what was known.
LATELY = 10
# Log odds from which on something has changed. A model that errs alike at like states makes
# small ones by chance.
CHANGED = 10.0
# Speed below which no joint tells anything, as dry friction hides what it carries, rad/s.
AT_REST = 0.02


# Kinds of sums: of samples that count by how often each joint was near their states since the last
# change, and by how often it was there lately.
_SINCE_CHANGE, _LATELY = range(2)


class PayloadEstimator:
    """
    Recursive estimate of a payload.

    Parameters
    ----------
    prior : PayloadPrior
        What is known before the arm has moved.

    Attributes
    ----------
    posterior : PayloadPosterior
        Newest estimate.
    n_samples : int
        Number of samples that it is made of.
    """

    def __init__(self, prior: PayloadPrior) -> None:
        self._prior = prior
        self._n_joints = len(prior.friction)
        self._correlation = ResidualCorrelation()
        self._longest = (MOST_STRETCHES + 2) * STRETCH
        self._states = np.empty((2 * self._longest, 2, self._n_joints))
        self._stretches = PayloadStretches(2, MOST_STRETCHES, self._n_joints)
        self._open: list[PayloadSums] = []
        self._n_open = self._n_at_rest = 0
        self.restart()

    def restart(self) -> None:
        """Forget all samples."""
        self.posterior = PayloadPosterior.before_samples(self._prior)
        self._stretches.forget(len(self._stretches))
        self._end = self.n_samples = self._n_at_rest = 0
        self._begin_stretch()

    def add(
        self,
        position: FloatArray,
        velocity: FloatArray,
        columns: FloatArray,
        residual: FloatArray,
        std: FloatArray,
    ) -> bool:
        """
        Learn from one sample.

        Parameters
        ----------
        position, velocity : ndarray of shape (n,)
            State of the arm, rad and rad/s.
        columns : ndarray of shape (n, 10)
            Torque per unit of each inertial parameter of the payload.
        residual, std : ndarray of shape (n,)
            Torque beyond what the arm's model expects, and its expected deviation, Nm.

        Returns
        -------
        bool
            Whether the sample tells anything: an arm at rest does not, nor a model whose torque
            is not finite.
        """
        if np.abs(velocity).max() < AT_REST:
            self._rest()
            return False
        if not np.isfinite(residual + std).all():
            return False
        self._n_at_rest = 0
        row, slips = rows(columns, velocity, residual), slipping_share(velocity)
        share = self._correlation.share
        self._open = [
            sums.with_sample(row, std, slips / (1.0 - share + share * times))
            for sums, times in zip(self._open, self._times_near(position, velocity), strict=True)
        ]
        self.n_samples += 1
        self._n_open += 1
        # By turns, so that no cycle has to bear all.
        if self._n_open == STRETCH:
            self._close_stretch()
        elif self._n_open in COMPARED:
            self._forget_before_change(COMPARED[self._n_open])
        return True

    def _times_near(
        self, position: FloatArray, velocity: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """How often each joint was at this state, this time included: in all, and of late (n,)."""
        if self._end == len(self._states):
            kept = self._states[self._end - self._longest : self._end].copy()
            self._states[: len(kept)], self._end = kept, len(kept)
        lengths = self._correlation.position_length, self._correlation.velocity_length
        state = np.array((position / lengths[0], velocity / lengths[1]))
        apart = self._states[self._end - self.n_samples : self._end] - state
        self._states[self._end] = state
        self._end += 1
        root = np.sqrt(3.0 * np.sum(apart**2, axis=1))
        near = (1.0 + root) * np.exp(-root)
        return 1.0 + near.sum(axis=0), 1.0 + near[-LATELY:].sum(axis=0)

    def _rest(self) -> None:
        """Leave out what would be in one stretch with what comes after this rest."""
        self._n_at_rest += 1
        if self._n_at_rest == STRETCH:
            self._end -= self._n_open
            self.n_samples -= self._n_open
            self._begin_stretch()

    def _begin_stretch(self) -> None:
        self._open, self._n_open = [PayloadSums.none(self._n_joints)] * 2, 0

    def _close_stretch(self) -> None:
        if self._stretches.is_full:
            self._forget(1)
        self._stretches.append(tuple(self._open))
        self._begin_stretch()
        total = self._stretches.total(_SINCE_CHANGE)
        try:
            self.posterior = self.posterior.updated(total, self._prior, iterations=1)
        except np.linalg.LinAlgError:
            # Torques beyond all reason: nothing is known rather than something wrong.
            self.restart()

    def _forget_before_change(self, n_newest: int) -> None:
        n_older = len(self._stretches) - n_newest
        if n_older < 1:
            return
        older = self._stretches.total(_LATELY, 0, n_older)
        newer = self._stretches.total(_LATELY, n_older)
        odds = log_odds_of_change(older, newer, self.posterior.precision, self._prior)
        if odds > CHANGED:
            self._forget(n_older)
            self._stretches.replace(_SINCE_CHANGE, _LATELY)

    def _forget(self, n_stretches: int) -> None:
        self._stretches.forget(n_stretches)
        self.n_samples -= n_stretches * STRETCH
