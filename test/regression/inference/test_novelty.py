# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
import tracemalloc

import naive_ilr as naive
import numpy as np
import pytest
from naive_predictive import input_predictive, output_predictive
from scipy.stats import f as f_distribution
from standard_units import in_standard_units

from ilr_dynamics.regression.families import stick_breaking
from ilr_dynamics.regression.families.matrix_normal_wishart import MatrixNormalWishart
from ilr_dynamics.regression.families.normal_wishart import NormalWishart
from ilr_dynamics.regression.inference import novelty
from ilr_dynamics.regression.inference.novelty import most_probable_component
from ilr_dynamics.regression.mixture.mixture import MixturePosterior
from ilr_dynamics.regression.prediction.component_predictions import log_output_densities
from ilr_dynamics.regression.prediction.predictive_mixture import PredictiveMixture

N_DRAWS = 20_000


def mixture_of(components, unseen, concentration=1.8):
    region, regression = naive.region_and_regression([*components, unseen])
    counts = 9.0 / (1.0 + np.arange(len(components)))
    return PredictiveMixture.from_components(
        MixturePosterior(
            NormalWishart(*region),
            MatrixNormalWishart(*regression),
            np.zeros(0),
            stick_breaking.log_expected_weights(counts, concentration),
        )
    )


def with_one(X):
    return np.column_stack([X, np.ones(len(X))])


def naive_label(mixture, u, y, level):
    """Ask every component about the sample."""
    ((_, block, _),) = in_standard_units(mixture)._components(u[None, :-1], None)
    m, d = mixture.n_inputs, mixture.n_outputs
    log_terms = (log_output_densities(mixture, block, y[None]) + block.log_weights)[0]
    residuals = y - block.means[0]
    shapes = block.factors[0][:, None, None] * mixture.noise_shapes
    by_output = np.einsum("ki,kij,kj->k", residuals, np.linalg.inv(shapes), residuals)
    by_input = mixture.distances(u[None])[0]
    best = len(log_terms) - 1
    for k in range(best):
        t, tau = 2.0 * mixture.exponents[k] - m, mixture.dofs[k]
        near = by_input[k] * t / m <= f_distribution.ppf(1.0 - level, m, t)
        near &= by_output[k] / d <= f_distribution.ppf(1.0 - level, d, tau)
        if near and log_terms[k] > log_terms[best]:
            best = k
    return best


@pytest.mark.parametrize(("m", "d"), [(1, 1), (2, 3), (4, 2)])
@pytest.mark.parametrize(("block_rows", "block_pairs"), [(7, 8192), (512, 50), (512, 8192)])
def test_agrees_with_asking_every_component(m, d, block_rows, block_pairs, monkeypatch):
    monkeypatch.setattr(novelty, "BLOCK_ROWS", block_rows)
    monkeypatch.setattr(novelty, "BLOCK_PAIRS", block_pairs)
    generator = np.random.default_rng(10 * m + d)
    # Five that overlap, and an unseen one that some samples are more likely to come from.
    components = [naive.random_component(generator, m, d) for _ in range(6)]
    mixture = mixture_of(components[:5], components[5], concentration=4.0)
    X = np.concatenate([c.mean + 0.7 * generator.normal(size=(20, m)) for c in components])
    U = with_one(X)
    relations = np.repeat([c.map for c in components], 20, axis=0)
    Y = np.einsum("ndq,nq->nd", relations, U) + 0.5 * generator.normal(size=(120, d))
    labels = most_probable_component(mixture, U, Y, 0.1)
    expected = [naive_label(mixture, u, y, 0.1) for u, y in zip(U, Y, strict=True)]
    np.testing.assert_array_equal(labels, expected)
    assert len(set(expected)) >= 4


@pytest.mark.parametrize(("m", "d"), [(1, 1), (2, 3), (4, 2)])
def test_a_component_takes_the_stated_share_of_its_own_samples_for_novel(m, d):
    generator = np.random.default_rng(10 * m + d)
    component = naive.random_component(generator, m, d)
    # The unseen component has next to no weight: it takes what is novel only.
    mixture = mixture_of([component], component, concentration=1e-9)
    X = np.reshape(input_predictive(component).rvs(N_DRAWS, random_state=generator), (-1, m))
    at = output_predictive(component, component.mean)
    near = np.tile(component.mean, (N_DRAWS, 1))
    Y = np.reshape(at.rvs(N_DRAWS, random_state=generator), (-1, d))
    for level in (0.05, 0.3):
        # Inputs as expected with outputs at the centre, and the other way round.
        expected_outputs = with_one(X) @ component.map.T
        by_input = most_probable_component(mixture, with_one(X), expected_outputs, level)
        by_output = most_probable_component(mixture, with_one(near), Y, level)
        error = 4.0 * np.sqrt(level * (1.0 - level) / N_DRAWS)
        assert np.mean(by_input) == pytest.approx(level, abs=error)
        assert np.mean(by_output) == pytest.approx(level, abs=error)


def test_a_sample_is_novel_unless_one_component_expects_both_input_and_output():
    generator = np.random.default_rng(12)
    first, second = (naive.random_component(generator, 2, 1) for _ in range(2))
    mixture = mixture_of([first, second], first, concentration=1e-9)

    def label(place, relation, shift=0.0):
        U = with_one(place.mean[None])
        return most_probable_component(mixture, U, U @ relation.map.T + shift, 0.05)[0]

    assert label(first, first) == 0
    assert label(second, second) == 1
    assert label(first, first, shift=50.0) == 2
    far = with_one(first.mean[None] + 99.0)
    assert most_probable_component(mixture, far, np.zeros((1, 1)), 0.05)[0] == 2


def test_memory_is_bounded_where_every_component_is_near_every_sample():
    generator = np.random.default_rng(0)
    component = naive.random_component(generator, 21, 7)
    mixture = mixture_of([component] * 100, component)
    X = np.tile(component.mean, (512, 1))
    Y = np.zeros((512, 7))
    tracemalloc.start()
    most_probable_component(mixture, with_one(X), Y, 0.01)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    # All 51,712 pairs at once take 230 MB.
    assert peak < 120e6
