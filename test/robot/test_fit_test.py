# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""A change is found soon, none is found for long where there was none, and it is forgotten."""

import numpy as np
import pytest
from matern_process import correlation

from ilr_dynamics.robot.fit_test import LENGTH, N_WINDOWS, FitTest
from ilr_dynamics.robot.misfit_evidence import N_COLUMNS, ChangePrior, change_rows
from ilr_dynamics.robot.residual_correlation import ResidualCorrelation

PERIOD = 0.1
LIKE = ResidualCorrelation()
PRIOR = ChangePrior(np.full(10, 1.0), np.array([[3.0, 3.0, 3.0, 0.02]] * 2))
GRID = np.linspace(-0.5, 0.5, 12)


class Motion:
    """
    Two joints swing; their model errs at each state as a random process does.

    It errs with the deviation that it states of itself, over `sharper`. A share `doubt` of its
    variance is one error of each joint: of a torque, or of friction where that is `by_direction`.
    """

    def __init__(self, seed, sharper=1.0, doubt=0.0, by_direction=False):
        self._random = np.random.default_rng(seed)
        self._sharper = sharper
        self._doubt, self._by_direction = doubt, by_direction
        self._time = 0.0
        self._rates = self._random.uniform(0.5, 2.0, 2)
        # Errors at states in a grid, and what is between them.
        speeds = np.array([-0.8, -0.3, 0.3, 0.8])
        self._knots = np.array([[q, v] for q in GRID for v in speeds])
        rho = correlation(self._knots, LIKE.position_length, LIKE.velocity_length)
        self._factor = np.linalg.cholesky(rho + 1e-9 * np.eye(len(rho)))
        self.another_model()

    def another_model(self):
        self._errors = self._factor @ self._random.normal(size=(len(self._knots), 2))
        self._common = np.sqrt(self._doubt) * self._random.normal(size=2)

    def swing(self, test, n_samples, dry=0.0, tells_doubt=True):
        """Whether something has changed, after each of the samples."""
        times = self._time + PERIOD * np.arange(1, n_samples + 1)[:, None]
        self._time = times[-1, 0]
        angle = self._rates * times
        position, velocity = 0.45 * np.sin(angle), 0.45 * self._rates * np.cos(angle)
        lengths = np.array([LIKE.position_length, LIKE.velocity_length])
        error = np.empty((n_samples, 2))
        for joint in range(2):
            states = np.column_stack([position[:, joint], velocity[:, joint]])
            apart = np.sum(((self._knots[:, None] - states) / lengths) ** 2, axis=2)
            error[:, joint] = self._errors[np.argmin(apart, axis=0), joint]
        noise = np.sqrt(1.0 - LIKE.share) * self._random.normal(size=(n_samples, 2))
        common = self._common * (np.sign(velocity) if self._by_direction else 1.0)
        own = np.sqrt(1.0 - self._doubt) * (np.sqrt(LIKE.share) * error + noise)
        z = (common + own) / self._sharper
        z[:, 0] += dry * np.tanh(velocity[:, 0] / 0.03)
        doubt = np.full(2, np.sqrt(self._doubt) if tells_doubt else 0.0)
        nothing, ones, verdicts = np.zeros(2), np.ones(2), []
        for q, qd, residual in zip(position, velocity, z, strict=True):
            rows = change_rows(np.zeros((2, 10)), qd, nothing, residual, doubt, ones)
            assert rows.shape == (2, N_COLUMNS)
            test.add(q, qd, rows, ones)
            verdicts.append(bool(test.changes))
        return verdicts


def test_the_threshold_follows_from_the_false_alarms():
    windows_per_hour = N_WINDOWS * 3600.0 / (LENGTH * PERIOD)
    found = FitTest(PRIOR, PERIOD, 0.01)
    assert np.exp(found.threshold) == pytest.approx(windows_per_hour / 0.01)


@pytest.mark.parametrize("sharper", [1.0, 2.5])
def test_false_alarms_are_no_more_than_what_was_asked_for(sharper):
    """Of windows that each may alarm with a probability of a fifth, few do."""
    per_hour = 0.2 * N_WINDOWS * 3600.0 / (LENGTH * PERIOD)
    n_minutes, alarms = 12, 0
    for seed in range(n_minutes):
        test = FitTest(PRIOR, PERIOD, per_hour)
        alarms += any(Motion(seed, sharper).swing(test, LENGTH))
    # Of 12 with probability 0.2 each, 7 and more come four times in a thousand.
    assert alarms < 7


@pytest.mark.parametrize("by_direction", [False, True])
def test_what_a_young_model_doubts_is_taken_for_no_change(by_direction):
    per_hour = 0.2 * N_WINDOWS * 3600.0 / (LENGTH * PERIOD)
    n_stretches, alarms = 12, {True: 0, False: 0}
    for seed in range(n_stretches):
        for tells in alarms:
            test = FitTest(PRIOR, PERIOD, per_hour)
            motion = Motion(seed, doubt=0.8, by_direction=by_direction)
            alarms[tells] += any(motion.swing(test, LENGTH // 4, tells_doubt=tells))
    # Of 12 with probability 0.2 each, 7 and more come four times in a thousand.
    assert alarms[True] < 7 <= alarms[False]


def test_a_large_change_is_found_in_spite_of_doubts_within_some_seconds():
    motion, test = Motion(0, doubt=0.3), FitTest(PRIOR, PERIOD, 0.01)
    assert not any(motion.swing(test, LENGTH))
    assert test.has_fitted
    assert any(motion.swing(test, 100, dry=8.0))


def test_a_model_that_never_fitted_has_not():
    motion, test = Motion(0), FitTest(PRIOR, PERIOD, 0.01)
    motion.swing(test, 100, dry=8.0)
    assert test.changes and not test.has_fitted
    motion.swing(test, 2 * LENGTH)
    assert not test.changes and test.has_fitted
    motion.swing(test, 100, dry=8.0)
    assert test.changes and test.has_fitted
    test.restart()
    assert not test.has_fitted


def test_a_change_is_found_and_forgotten_when_it_is_gone():
    motion, test = Motion(0), FitTest(PRIOR, PERIOD, 0.01)
    assert not any(motion.swing(test, 2 * LENGTH))
    found = motion.swing(test, LENGTH, dry=4.0)
    assert any(found[: LENGTH // 2]) and found[-1]
    assert [(change.joint, change.kind) for change in test.changes] == [(0, "dry")]
    assert test.changes[0].by == pytest.approx(4.0, abs=1.5)
    gone = motion.swing(test, 3 * LENGTH)
    # Not at once: a whole window has to pass in which nothing is seen.
    assert gone[5] and not gone[-1]
    motion.swing(test, LENGTH, dry=4.0)
    test.restart()
    assert not test.changes


def test_a_small_change_that_stays_within_the_models_deviation_is_none():
    motion, test = Motion(3), FitTest(PRIOR, PERIOD, 0.01)
    assert not any(motion.swing(test, 4 * LENGTH, dry=0.3))
