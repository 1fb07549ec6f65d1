# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Steps of the scales: as good as those of EM, in fewer iterations."""

import numpy as np
import pytest

from ilr_dynamics.regression import Prior, TwoLevelPrior
from ilr_dynamics.regression.inference.initialization import (
    assignment_statistics,
    k_means_plus_plus,
    nearest_seed,
)
from ilr_dynamics.regression.inference.scale_steps import ScaleSteps
from ilr_dynamics.regression.inference.state import initial_state
from ilr_dynamics.regression.mixture.hyperparameters import overrelaxed_scale
from ilr_dynamics.regression.mixture.mixture import extend


def state_of_small_components(prior):
    """Components with four samples each, of six inputs that matter very differently."""
    generator = np.random.default_rng(0)
    X = generator.normal(size=(400, 6))
    Y = np.sin(X @ np.diag([3.0, 1.0, 0.3, 0.1, 0.0, 0.0])).sum(axis=1, keepdims=True)
    Y += 0.01 * generator.normal(size=Y.shape)
    seeds = k_means_plus_plus(X, np.ones(400), 100, generator)
    Z = extend(np.column_stack([X, np.ones(400)]), Y)
    new = assignment_statistics(Z, np.ones(400), nearest_seed(X, seeds), 100)
    stated = prior.base_distribution(6, 0, 1)
    state = initial_state(np.ones(400), stated, stated, np.zeros_like(new), new, np.arange(100))
    return state.arranged()


@pytest.mark.parametrize("prior", [Prior(), TwoLevelPrior()], ids=["ILR", "HILR"])
def test_evidence_never_falls_and_gets_where_em_gets_in_a_third_of_the_iterations(prior):
    em = start = state_of_small_components(prior)
    for _ in range(90):
        em = em.with_scales_refitted(True, False)
    step_scales, state, evidence = ScaleSteps(True, False), start, [start.log_evidence()]
    for _ in range(30):
        state = step_scales(state, 0.0)
        evidence.append(state.log_evidence())
    assert np.all(np.diff(evidence) >= 0.0)
    assert evidence[-1] >= em.log_evidence() > evidence[0] + 10.0


def test_a_step_that_would_lower_the_evidence_is_one_of_em():
    start = state_of_small_components(Prior())
    step_scales = ScaleSteps(True, False)
    step_scales._relaxation = 300.0
    # Far beyond the optimum, whatever the rounding.
    too_far = start.with_scales_refitted(True, False, 300.0)
    assert too_far.log_evidence() < start.log_evidence() - 1.0
    expected = start.with_scales_refitted(True, False)
    assert step_scales(start, 0.0).log_evidence() == expected.log_evidence()


def test_steps_are_those_of_em_while_the_bound_grows_fast():
    em = state = state_of_small_components(Prior())
    step_scales = ScaleSteps(True, False)
    for _ in range(5):
        em, state = em.with_scales_refitted(True, False), step_scales(state, 1.0)
    assert state.log_evidence() == em.log_evidence()


def test_nothing_moves_where_no_scale_is_fitted():
    start = state_of_small_components(Prior())
    step_scales = ScaleSteps(False, False)
    for _ in range(3):
        assert step_scales(start, 0.0).prior is start.prior


def test_overrelaxed_scales_go_farther_the_same_way_and_stay_above_the_lowest():
    found = overrelaxed_scale([1.0, 4.0, 1.0], [2.0, 2.0, 1.0], [1.0, 1.0, 1.0], 3.0)
    np.testing.assert_allclose(found, [8.0, 0.5, 1.0])
    assert overrelaxed_scale(1.0, 0.5, 2.0, 100.0) == pytest.approx(2e-4)
    assert overrelaxed_scale(1.0, 0.5, 2.0, 100.0, smallest=0.3) == pytest.approx(0.3)
