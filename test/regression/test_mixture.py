# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
import naive_ilr as naive
import numpy as np
import pytest
from naive_predictive import log_marginal_likelihood

from ilr_dynamics.regression.initialization import assignment_statistics
from ilr_dynamics.regression.matrix_normal_wishart import MatrixNormalWishart
from ilr_dynamics.regression.mixture import (
    MixturePrior,
    component_counts,
    extend,
    log_evidence,
    mixture_posterior,
    order_by_size,
    split,
)
from ilr_dynamics.regression.normal_wishart import NormalWishart


@pytest.fixture(scope="module")
def labelled():
    """A prior far from zero and samples with labels 0, 1, 2 in falling number."""
    generator = np.random.default_rng(6)
    component = naive.random_component(generator, 2, 2)
    gate, regression = naive.gate_and_regression([component])
    prior = MixturePrior(NormalWishart(*gate), MatrixNormalWishart(*regression), 1.3)
    X, Y = generator.normal(size=(12, 2)), generator.normal(size=(12, 2))
    labels = np.array([0, 1, 2, 0, 1, 0, 0, 1, 0, 2, 1, 0])
    return component, prior, X, Y, labels


def test_extended_samples_split_into_what_they_came_from(labelled):
    _, prior, X, Y, _ = labelled
    Z = extend(X, Y)
    np.testing.assert_array_equal(Z[:, 2], 1.0)
    inputs, outputs = split(prior, Z)
    np.testing.assert_array_equal(inputs, X)
    np.testing.assert_array_equal(outputs, Y)


def test_posterior_of_labelled_data_is_that_of_each_component_alone(labelled):
    component, prior, X, Y, labels = labelled
    S = assignment_statistics(extend(X, Y), np.ones(12), labels, 3)
    posterior = mixture_posterior(prior, S)
    np.testing.assert_allclose(posterior.counts, [6.0, 4.0, 2.0])
    found = naive.components_of(posterior.gate, posterior.regression)
    for k in range(3):
        members = labels == k
        expected = naive.update(component, X[members], Y[members], np.ones(members.sum()))
        for name in vars(expected):
            np.testing.assert_allclose(
                getattr(found[k], name), getattr(expected, name), rtol=1e-9, atol=1e-11
            )


def test_evidence_of_labelled_data_is_the_chance_of_labels_times_that_of_samples(labelled):
    component, prior, X, Y, labels = labelled
    S = assignment_statistics(extend(X, Y), np.ones(12), labels, 3)
    found = log_evidence(prior, mixture_posterior(prior, S)) - 0.5 * 12 * 4 * np.log(2 * np.pi)
    counts, expected = np.zeros(3), 0.0
    for label in labels:
        chances = [a / (a + b) for a, b in naive.sticks(list(counts), prior.concentration)]
        expected += np.log(chances[label]) + np.sum(np.log1p(-np.array(chances[:label])))
        counts[label] += 1.0
    for k in range(3):
        expected += log_marginal_likelihood(component, X[labels == k], Y[labels == k])
    assert found == pytest.approx(expected, rel=1e-10)


def test_order_is_by_falling_count_and_keeps_ties_in_place(labelled):
    _, prior, *_ = labelled
    statistics = np.zeros((5, 5, 5))
    statistics[:, 2, 2] = [1.0, 4.0, 1.0, 9.0, 4.0]
    np.testing.assert_array_equal(component_counts(prior, statistics), [1, 4, 1, 9, 4])
    np.testing.assert_array_equal(order_by_size(prior, statistics), [3, 1, 4, 0, 2])
