# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
r"""
Test of whether an arm still is what its model says, with a stated rate of false alarms.

In each window of a minute of motion the ratio B of the marginal likelihoods with a change and
without is followed, averaged over all single changes. While nothing has changed this average is a
martingale with expectation one, so the probability that it *ever* exceeds 1 / a within its window
is at most a (Ville's inequality; Ramdas, Grünwald, Vovk and Shafer, 2023). With w windows begun in
an hour the expected number of false alarms in an hour is at most w a, whether windows depend on
each other or not. The threshold follows from that number. Of a model that doubts its parameters
the expectation is at most one at any time, whatever these errors have in common.
"""

from __future__ import annotations

import numpy as np

from ilr_dynamics.arrays import FloatArray
from ilr_dynamics.robot.misfit_evidence import (
    N_COLUMNS,
    OF_ARM,
    ChangePrior,
    beside_doubt,
    log_odds,
)
from ilr_dynamics.robot.misfit_explanation import Change, explanation, sharpened
from ilr_dynamics.robot.residual_correlation import ResidualCorrelation
from ilr_dynamics.robot.state_cells import StateCells

__all__ = ["FitTest"]

# Windows that are open at a time: a change is soon in one that has seen little from before.
N_WINDOWS = 10
# Samples after which a model that seems unchanged has fitted: a large change that was there from
# the start is seen by then.
FITTED = 50
# Samples of a window: of ten a second, a minute of motion.
LENGTH = 600
# Samples after which the windows are looked at.
LOOK = 10
HOUR_S = 3600.0


class FitTest:
    """
    Sequential test over windows of samples.

    Parameters
    ----------
    prior : ChangePrior
        Usual changes.
    sample_period : float
        Motion from one sample to the next, s.
    alarms_per_hour : float
        Largest expected number of false alarms in an hour of motion.

    Attributes
    ----------
    threshold : float
        Of the log odds of a window.
    changes : list of Change
        What has changed; empty if nothing has.
    has_fitted : bool
        Whether there was a time since the last restart, some seconds after it, without a change.
    of_joints : ndarray of shape (n, 4)
        Log odds of each kind of change of each joint, in the window that says most.
    of_arm : ndarray of shape (2,)
        The same of the changes of the whole arm, `OF_ARM`.
    """

    def __init__(self, prior: ChangePrior, sample_period: float, alarms_per_hour: float) -> None:
        self._prior = prior
        windows_per_hour = N_WINDOWS * HOUR_S / (LENGTH * sample_period)
        self.threshold = float(np.log(windows_per_hour / alarms_per_hour))
        n_joints = len(prior.of_joint)
        self._cells = StateCells(N_WINDOWS, n_joints, N_COLUMNS, ResidualCorrelation())
        self.restart()

    def restart(self) -> None:
        """Forget all samples, and what has changed."""
        self._cells.forget()
        self._n = 0
        # Whether a window that is open has seen a change.
        self._alarmed = np.zeros(N_WINDOWS, dtype=bool)
        self.changes: list[Change] = []
        self.has_fitted = False
        self.of_joints = np.zeros(self._prior.of_joint.shape)
        self.of_arm = np.zeros(len(OF_ARM))

    def add(
        self, position: FloatArray, velocity: FloatArray, rows: FloatArray, weights: FloatArray
    ) -> bool:
        """
        Add a sample.

        Parameters
        ----------
        position, velocity : ndarray of shape (n,)
            State of the arm, rad and rad/s.
        rows : ndarray of shape (n, 16)
            See `change_rows`.
        weights : ndarray of shape (n,)
            Share of a sample that it is of each joint.

        Returns
        -------
        bool
            Whether the windows were looked at.
        """
        self._cells.add(position, velocity, rows, weights)
        self._n += 1
        if self._n % LOOK:
            return False
        self._look()
        self.has_fitted |= self._n >= FITTED and not self.changes
        if self._n % (LENGTH // N_WINDOWS) == 0:
            self._begin_window(self._n // (LENGTH // N_WINDOWS) % N_WINDOWS)
        return True

    def _look(self) -> None:
        cells = self._cells
        of_joints, of_arm = log_odds(cells.products, cells.counts, self._prior)
        each = np.concatenate([of_joints.reshape(N_WINDOWS, -1), of_arm], axis=1)
        largest = each.max(axis=1)
        total = largest + np.log(np.exp(each - largest[:, None]).mean(axis=1))
        clearest = int(np.argmax(total))
        self.of_joints, self.of_arm = of_joints[clearest], of_arm[clearest]
        self._alarmed |= total > self.threshold
        if total[clearest] > self.threshold:
            known = beside_doubt(cells.products[clearest], cells.counts[clearest])
            sums = sharpened(*known, self._prior)
            likely = [
                kind
                for kind, odds in zip(OF_ARM, self.of_arm, strict=True)
                if odds > self.threshold
            ]
            self.changes = explanation(sums, self._prior, self.threshold, likely, self.changes)

    def _begin_window(self, window: int) -> None:
        """End a window and begin it anew: if no open one sees a change, there is none any more."""
        if self._n >= LENGTH and not self._alarmed.any():
            self.changes = []
        self._alarmed[window] = False
        self._cells.forget(window)
