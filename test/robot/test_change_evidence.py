# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Two joints with a parameter in common and one each; groups of one parameter."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from ilr_dynamics.robot.change_evidence import (
    LOG_ODDS_OF_NONE,
    NewTorques,
    _Hypothesis,
    _Search,
    most_probable_change,
)
from ilr_dynamics.robot.change_groups import ChangeGroup, whole_arm

INDICES = np.array([[0, 1], [0, 2]])
COVARIANCE = np.diag([0.01, 0.02, 0.01])
ONE = np.eye(1)
GROUPS = [
    ChangeGroup("common", np.array([0]), ONE, np.array([True, True])),
    ChangeGroup("first", np.array([1]), ONE, np.array([True, False])),
    ChangeGroup("second", np.array([2]), ONE, np.array([False, True])),
]
EVERY = whole_arm(np.ones(3), 2)
NOTHING = np.zeros(3)


def drawn(change, noise=1.0, n=40, seed=0):
    """Columns (n, 2, 2) and errors (n, 2) of an arm whose parameters have changed."""
    generator = np.random.default_rng(seed)
    columns = generator.normal(size=(n, 2, 2))
    change = change + generator.multivariate_normal(NOTHING, COVARIANCE)
    error = np.einsum("njc,jc->nj", columns, change[INDICES])
    return columns, error + noise * generator.normal(size=(n, 2))


def torques(columns, error):
    return NewTorques(
        indices=INDICES,
        covariance=COVARIANCE,
        gram=np.einsum("njc,njk->jck", columns, columns),
        pull=np.einsum("njc,nj->jc", columns, error),
        energy=np.sum(error**2, axis=0),
        weight=np.full(2, float(len(error))),
        known=np.full(2, 50.0),
    )


def changed(change, **others):
    found = most_probable_change(torques(*drawn(np.array(change), **others)), GROUPS, EVERY)
    return [group.name for group in found.groups]


def test_the_evidence_is_that_of_normal_errors_whose_parameters_are_integrated_out():
    columns, error = drawn(np.array([0.0, 1.0, 0.0]))
    search = _Search(torques(columns, error))
    design = np.zeros((*error.shape, 3))
    for joint in range(2):
        design[:, joint, INDICES[joint]] = columns[:, joint]
    design = design.reshape(-1, 3)

    def naive(change, noise):
        spread = design @ (COVARIANCE + np.diag(change)) @ design.T
        spread += np.diag(np.tile(noise, len(error)))
        return multivariate_normal(cov=spread).logpdf(error.ravel())

    def found(groups, scales, noise):
        hypothesis = _Hypothesis(groups, np.array(scales), noise)
        prior = 0.5 * np.sum(np.log(scales) ** 2) + 25.0 * np.sum(
            np.log(noise) + 1.0 / noise - 1.0
        )
        return search.solved(hypothesis).log_evidence + prior

    one, other = np.ones(2), np.array([0.7, 2.0])
    with_change = found((GROUPS[1],), [2.0], other)
    assert with_change - found((), [], one) == pytest.approx(
        naive(np.array([0.0, 4.0, 0.0]), other) - naive(NOTHING, one)
    )


@pytest.mark.parametrize("seed", range(5))
def test_an_arm_that_has_not_changed_is_told_so(seed):
    found = most_probable_change(torques(*drawn(NOTHING, seed=seed)), GROUPS, EVERY)
    assert found.groups == ()
    assert found.log_odds < 0.0
    assert not np.any(found.factor)


def test_what_has_changed_is_told_and_nothing_else():
    assert changed([0.0, 4.0, 0.0]) == ["first"]
    assert changed([0.0, 0.0, -4.0]) == ["second"]
    assert changed([4.0, 0.0, 0.0]) == ["common"]
    assert changed([0.0, 4.0, 4.0]) == ["first", "second"]


def test_torques_that_are_off_by_less_than_models_usually_are_say_of_no_change():
    assert torques(*drawn(np.array([0.0, 4.0, 0.0]), n=500)).misfit == pytest.approx(
        [np.sqrt(17.0), 1.0], rel=0.2
    )
    assert changed([0.0, 1.5, 0.0], n=500) == []


def test_a_change_that_hides_another_in_its_noise_does_not_hide_it():
    assert changed([100.0, 1.5, 0.0], n=100) == ["common", "first"]


def test_more_noise_is_no_change():
    assert changed(NOTHING, noise=3.0) == []


def test_the_expected_change_is_that_of_the_arm():
    found = most_probable_change(torques(*drawn(np.array([0.0, 4.0, 0.0]), n=500)), GROUPS, EVERY)
    np.testing.assert_allclose(found.expected, [0.0, 4.0, 0.0], atol=0.4)
    assert np.sum(found.factor[1] ** 2) > 0.5


def test_few_samples_do_not_outweigh_the_odds_beforehand():
    few = torques(*drawn(np.array([0.0, 1.5, 0.0]), n=2))
    assert most_probable_change(few, GROUPS, EVERY).groups == ()
    none = replace(few, weight=np.zeros(2), gram=0.0 * few.gram, pull=0.0 * few.pull)
    found = most_probable_change(replace(none, energy=np.zeros(2)), GROUPS, EVERY)
    assert found.groups == ()
    assert found.log_odds <= -LOG_ODDS_OF_NONE
