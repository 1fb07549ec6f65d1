# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq
from scipy.stats import t as student_t

from ilr_dynamics.regression.prediction.quantiles import mixture_quantile

PROBABILITIES = [1e-4, 0.025, 0.5, 0.8, 0.999]


def random_mixtures(seed, n_components, n=4):
    generator = np.random.default_rng(seed)
    shape = (n, n_components)
    return (
        generator.dirichlet(np.full(n_components, 0.5), n),
        5.0 * generator.normal(size=shape),
        np.exp(2.0 * generator.normal(size=shape)),
        generator.uniform(2.1, 80.0, shape),
    )


def cdf(y, weights, locations, scales, dofs):
    return np.sum(weights * student_t.cdf((y - locations) / scales, dofs), axis=-1)


@settings(max_examples=25)
@given(st.integers(0, 2**32 - 1), st.integers(1, 6), st.sampled_from(PROBABILITIES))
@example(167903, 3, 0.5)
def test_quantiles_agree_with_root_finding(seed, n_components, probability):
    mixtures = random_mixtures(seed, n_components)
    found = mixture_quantile(probability, *mixtures)
    for n, mixture in enumerate(zip(*mixtures, strict=True)):
        root = brentq(lambda y, m=mixture: cdf(y, *m) - probability, -1e6, 1e6, xtol=1e-13)
        assert cdf(found[n], *mixture) == pytest.approx(probability, abs=2e-9)
        slope = (cdf(root + 1e-4, *mixture) - cdf(root - 1e-4, *mixture)) / 2e-4
        assert abs(found[n] - root) <= 1e-6 + 1e-8 / slope


@settings(max_examples=25)
@given(st.integers(0, 2**32 - 1))
def test_quantiles_rise_with_the_probability(seed):
    mixtures = random_mixtures(seed, 3)
    quantiles = [mixture_quantile(p, *mixtures) for p in (0.1, 0.3, 0.6, 0.95)]
    assert np.all(np.diff(quantiles, axis=0) > 0.0)


@pytest.mark.parametrize("probability", PROBABILITIES)
def test_narrow_components_far_apart_are_found(probability):
    mixture = (
        np.array([[0.3, 0.7]]),
        np.array([[0.0, 1e3]]),
        np.array([[1e-6, 1e-5]]),
        np.array([[500.0, 900.0]]),
    )
    found = mixture_quantile(probability, *mixture)
    assert cdf(found[:, None], *mixture)[0] == pytest.approx(probability, abs=1e-6)


def test_components_without_weight_do_not_matter():
    mixture = (
        np.array([[1.0, 0.0]]),
        np.array([[2.0, -1e9]]),
        np.array([[0.5, 1e6]]),
        np.array([[5.0, 3.0]]),
    )
    found = mixture_quantile(0.9, *mixture)
    assert found[0] == pytest.approx(2.0 + 0.5 * student_t.ppf(0.9, 5.0), abs=1e-8)


@pytest.mark.parametrize("probability", [1e-7, 1e-9, 1e-12])
def test_quantiles_far_out_leave_the_share_that_was_asked(probability):
    mixtures = random_mixtures(1, 5)
    found = mixture_quantile(probability, *mixtures)
    np.testing.assert_allclose(cdf(found[:, None], *mixtures), probability, rtol=1e-3)
