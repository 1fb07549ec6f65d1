# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
from dataclasses import replace

import naive_ilr as naive
import numpy as np
import pytest
from naive_predictive import (
    draw_parameters,
    input_predictive,
    normal_densities,
    output_predictive,
    predictive,
)
from scipy.stats import t as student_t
from standard_units import in_standard_units

from ilr_dynamics.regression.families import stick_breaking
from ilr_dynamics.regression.families.matrix_normal_wishart import MatrixNormalWishart
from ilr_dynamics.regression.families.normal_wishart import NormalWishart
from ilr_dynamics.regression.mixture.mixture import MixturePosterior
from ilr_dynamics.regression.prediction import physical_mixture
from ilr_dynamics.regression.prediction.component_predictions import (
    covariances,
    log_output_densities,
)
from ilr_dynamics.regression.prediction.predictive_mixture import PredictiveMixture

N_DRAWS = 20_000
SIZES = [(1, 1), (2, 3), (4, 2)]
COUNTS = [9.0, 5.5, 1.2]
CONCENTRATION = 1.8


def package_mixture(components, prior):
    region, regression = naive.region_and_regression([*components, prior])
    counts = np.array(COUNTS[: len(components)])
    everyone = MixturePosterior(
        NormalWishart(*region),
        MatrixNormalWishart(*regression),
        np.zeros(0),
        stick_breaking.log_expected_weights(counts, CONCENTRATION),
    )
    return PredictiveMixture.from_components(everyone)


def only(mixture, X):
    ((_, block, _),) = in_standard_units(mixture)._components(X, None)
    return block


def mean_and_variance(mixture, X, *, most_probable=False):
    answers = in_standard_units(mixture).moments(X, most_probable=most_probable)
    d = mixture.n_outputs
    return answers[:, :d], answers[:, d : 2 * d] ** 2


@pytest.fixture(scope="module", params=SIZES, ids=str)
def drawn(request):
    """Three random components, the unseen one, and draws of the first one's parameters."""
    m, d = request.param
    generator = np.random.default_rng(100 * m + d)
    components = [naive.random_component(generator, m, d) for _ in range(4)]
    draws = draw_parameters(components[0], generator, N_DRAWS)
    x = components[0].mean + 0.3 * generator.normal(size=m)
    return components, package_mixture(components[:3], components[3]), draws, x


def assert_mean(values, expected, n_errors=3.0):
    error = values.std(axis=0) / np.sqrt(len(values))
    assert np.all(np.abs(values.mean(axis=0) - expected) < n_errors * error + 1e-12)


def test_output_density_is_the_average_over_the_posterior(drawn):
    components, mixture, (_, _, maps, noises), x = drawn
    u = np.append(x, 1.0)
    block = only(mixture, x[None])
    expected = output_predictive(components[0], x)
    for steps in (0.0, 0.6, -1.5):
        y = expected.loc + steps * np.linalg.cholesky(expected.shape).sum(axis=1)
        found = log_output_densities(mixture, block, y[None])[0, 0]
        assert_mean(normal_densities(y, maps @ u, noises), np.exp(found))
        assert found == pytest.approx(expected.logpdf(y), abs=1e-9)


def test_input_density_is_the_average_over_the_posterior(drawn):
    components, _, (centres, precisions, _, _), _ = drawn
    c = components[0]
    region = NormalWishart(*naive.region_and_regression([c])[0])
    root, constant = region.predictive_roots()[0], region.predictive_log_constants()[0]
    expected = input_predictive(c)
    for steps in (0.0, 0.6, -1.5):
        x = c.mean + steps * np.linalg.cholesky(expected.shape).sum(axis=1)
        u = np.append(x, 1.0)
        found = constant - 0.5 * (c.dof + 1.0) * np.log1p(np.sum((root @ u) ** 2))
        assert_mean(normal_densities(x, centres, precisions), np.exp(found))
        assert found == pytest.approx(expected.logpdf(x), abs=1e-9)


def test_mean_and_covariance_are_those_of_draws_from_the_posterior(drawn):
    _, mixture, (_, _, maps, noises), x = drawn
    block = only(mixture, x[None])
    u = np.append(x, 1.0)
    means = maps @ u
    # Law of total covariance: spread of the means plus mean of the noise.
    centred = means - block.means[0, 0]
    outer = centred[:, :, None] * centred[:, None, :] + np.linalg.inv(noises)
    assert_mean(means, block.means[0, 0])
    assert_mean(outer, covariances(mixture, block)[0, 0], n_errors=3.5)


def test_mixture_agrees_with_the_naive_one(drawn):
    components, mixture, _, x = drawn
    X = np.stack([x, x + 1.0, components[1].mean, components[2].mean - 3.0, x + 40.0])
    block = only(mixture, X)
    mean, variance = mean_and_variance(mixture, X)
    Y = mean + 0.4
    log_density = in_standard_units(mixture).log_density(X, Y)
    for n, x_n in enumerate(X):
        weights, parts = predictive(components[:3], components[3], COUNTS, CONCENTRATION, x_n)
        np.testing.assert_allclose(block.weights[n], weights, rtol=1e-8)
        expected = sum(w * t.loc for w, t in zip(weights, parts, strict=True))
        np.testing.assert_allclose(mean[n], expected, rtol=1e-9)
        second = sum(
            w * (t.df / (t.df - 2.0) * np.diag(t.shape) + t.loc**2)
            for w, t in zip(weights, parts, strict=True)
        )
        np.testing.assert_allclose(variance[n], second - expected**2, rtol=1e-8)
        densities = np.array([w * t.pdf(Y[n]) for w, t in zip(weights, parts, strict=True)])
        assert log_density[n] == pytest.approx(np.log(densities.sum()), abs=1e-8)


def test_the_most_probable_one_can_speak_alone(drawn):
    _, mixture, _, x = drawn
    X = np.stack([x, x + 5.0])
    block = only(mixture, X)
    mean, variance = mean_and_variance(mixture, X, most_probable=True)
    for n, k in enumerate(block.weights.argmax(axis=1)):
        np.testing.assert_allclose(mean[n], block.means[n, k])
        np.testing.assert_allclose(variance[n], np.diag(covariances(mixture, block)[n, k]))


def test_blocks_of_rows_make_no_difference(drawn, monkeypatch):
    _, mixture, _, x = drawn
    X = x + np.random.default_rng(0).normal(size=(100, x.size))
    whole = in_standard_units(mixture).weights(X)
    monkeypatch.setattr(physical_mixture, "BLOCK_SIZE", 300)
    # A row alone is summed in another order than rows side by side.
    np.testing.assert_allclose(in_standard_units(mixture).weights(X), whole, rtol=1e-12)


def test_interval_beyond_a_millionth_keeps_the_lightest_component_if_it_is_wide():
    generator = np.random.default_rng(5)
    component = naive.random_component(generator, 1, 1)
    mixture, outside = package_mixture([component], component), 1e-7
    light, wide = np.array([0.0, np.log(1e-7)]), np.array([1.0, 1e6])
    mixture = replace(
        mixture,
        log_constants=mixture.log_constants + light,
        noise_shapes=mixture.noise_shapes * wide[:, None, None],
    )
    x = component.mean
    block = only(mixture, x[None])
    lower, upper = in_standard_units(mixture).interval(x[None], 1.0 - outside)
    law = output_predictive(component, x)
    scales = np.sqrt(law.shape[0, 0] * wide)
    below, above = ((law.loc[0] - lower[0, 0]) / scales, (upper[0, 0] - law.loc[0]) / scales)
    tails = student_t.sf(below, law.df) + student_t.sf(above, law.df)
    assert block.weights[0] @ tails == pytest.approx(outside, rel=0.03)


def test_interval_of_one_component_is_that_of_its_student_t():
    generator = np.random.default_rng(8)
    component = naive.random_component(generator, 2, 2)
    mixture = package_mixture([component], component)
    x = component.mean
    lower, upper = in_standard_units(mixture).interval(x[None], 0.9)
    t = output_predictive(component, x)
    scale = np.sqrt(np.diag(t.shape))
    np.testing.assert_allclose(lower[0], t.loc + scale * student_t.ppf(0.05, t.df), rtol=1e-6)
    np.testing.assert_allclose(upper[0], t.loc + scale * student_t.ppf(0.95, t.df), rtol=1e-6)
