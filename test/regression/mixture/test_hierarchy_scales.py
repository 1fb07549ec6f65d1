# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""The data's choice of the scales of a hierarchical prior."""

from dataclasses import replace

import numpy as np
from hierarchy_problem import Problem, small_prior
from hypothesis import given, settings
from hypothesis import strategies as st

from ilr_dynamics.regression import Prior
from ilr_dynamics.regression.mixture.hierarchy import HierarchicalPrior

SEEDS = st.integers(0, 2**32 - 1)
SCALES = st.floats(0.02, 5.0)


@settings(max_examples=40)
@given(SEEDS, st.integers(1, 3), st.integers(1, 2), SCALES, SCALES, SCALES, SCALES, SCALES)
def test_refitting_the_scales_never_lowers_their_evidence(
    seed, m, d, spread, centre, upper, noise, slope
):
    generator = np.random.default_rng(seed)
    base = Prior(
        concentration=1.0,
        input_spread=spread,
        input_strength=generator.uniform(0.5, 20.0),
        centre_spread=centre,
        noise_std=noise,
        noise_strength=generator.uniform(0.5, 20.0),
        slope_scale=slope,
    ).base_distribution(m, 1, d)
    stated = HierarchicalPrior(base.region, base.regression, 1.0, 1.0, (spread / upper) ** 2)
    problem = Problem(seed, m, d, 1, groups=generator.integers(0, 3, 5), n=12)
    prior = stated
    values = []
    for _ in range(6):
        values.append(
            prior.log_evidence(problem.scatter, problem.groups) + prior.log_prior_of_scales(stated)
        )
        posterior = prior.posterior(problem.scatter, problem.groups)
        prior = prior.refitted(stated, posterior)
    assert np.all(np.diff(values) >= -1e-9 * np.maximum(np.abs(values[1:]), 1.0))


def test_a_prior_is_its_own_best_guess():
    prior = small_prior()
    assert prior.log_prior_of_scales(prior) == 0.0
    stronger = replace(prior, upper_strength=2.0 * prior.upper_strength)
    assert stronger.log_prior_of_scales(prior) < 0.0
    assert prior.log_prior_of_scales(stronger) < 0.0
