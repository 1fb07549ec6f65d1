# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
import naive_ilr as naive
import numpy as np
import pytest
from naive_predictive import log_marginal_likelihood

from ilr_dynamics.regression.families.matrix_normal_wishart import MatrixNormalWishart
from ilr_dynamics.regression.families.normal_wishart import NormalWishart
from ilr_dynamics.regression.inference.initialization import assignment_statistics
from ilr_dynamics.regression.mixture.mixture import MixturePrior, extend


@pytest.fixture(scope="module")
def labelled():
    """A prior far from zero and samples with labels 0, 1, 2 in falling number."""
    generator = np.random.default_rng(6)
    component = naive.random_component(generator, 2, 2)
    region, regression = naive.region_and_regression([component])
    prior = MixturePrior(NormalWishart(*region), MatrixNormalWishart(*regression), 1.3)
    X, Y = generator.normal(size=(12, 2)), generator.normal(size=(12, 2))
    labels = np.array([0, 1, 2, 0, 1, 0, 0, 1, 0, 2, 1, 0])
    return component, prior, X, Y, labels


def scatter_of(X, Y, labels):
    Z = extend(np.column_stack([X, np.ones(len(X))]), Y)
    return assignment_statistics(Z, np.ones(len(X)), labels, 3)


def test_extended_samples_hold_regressors_and_then_outputs(labelled):
    _, prior, X, Y, _ = labelled
    Z = extend(X, Y)
    np.testing.assert_array_equal(Z[:, :2], X)
    np.testing.assert_array_equal(Z[:, 2:], Y)
    assert (prior.n_inputs, prior.n_regressors, prior.n_outputs) == (2, 3, 2)


def test_posterior_of_labelled_data_is_that_of_each_component_alone(labelled):
    component, prior, X, Y, labels = labelled
    S = scatter_of(X, Y, labels)
    posterior = prior.posterior(S, np.arange(3))
    np.testing.assert_allclose(prior.counts(S), [6.0, 4.0, 2.0])
    found = naive.components_of(posterior.region, posterior.regression)
    for k in range(3):
        members = labels == k
        expected = naive.update(component, X[members], Y[members], np.ones(members.sum()))
        for name in vars(expected):
            np.testing.assert_allclose(
                getattr(found[k], name), getattr(expected, name), rtol=1e-9, atol=1e-11
            )


def test_evidence_of_labelled_data_is_the_chance_of_labels_times_that_of_samples(labelled):
    component, prior, X, Y, labels = labelled
    S = scatter_of(X, Y, labels)
    found = prior.log_evidence(S, np.arange(3)) - 0.5 * 12 * 4 * np.log(2 * np.pi)
    counts, expected = np.zeros(3), 0.0
    for label in labels:
        chances = [a / (a + b) for a, b in naive.sticks(list(counts), prior.concentration)]
        expected += np.log(chances[label]) + np.sum(np.log1p(-np.array(chances[:label])))
        counts[label] += 1.0
    for k in range(3):
        expected += log_marginal_likelihood(component, X[labels == k], Y[labels == k])
    assert found == pytest.approx(expected, rel=1e-10)


def test_evidence_does_not_depend_on_the_order_of_the_components(labelled):
    _, prior, X, Y, labels = labelled
    S = scatter_of(X, Y, labels)
    shuffled = prior.log_evidence(S[[2, 0, 1]], np.arange(3))
    assert shuffled == pytest.approx(prior.log_evidence(S, np.arange(3)), rel=1e-12)


def test_order_is_by_falling_count_and_keeps_ties_in_place(labelled):
    _, prior, *_ = labelled
    statistics = np.zeros((5, 5, 5))
    statistics[:, 2, 2] = [1.0, 4.0, 1.0, 9.0, 4.0]
    np.testing.assert_array_equal(prior.counts(statistics), [1, 4, 1, 9, 4])
    order, groups = prior.arrange(statistics, np.arange(5), 5)
    np.testing.assert_array_equal(order, [3, 1, 4, 0, 2])
    np.testing.assert_array_equal(groups, np.arange(5))
    order, groups = prior.arrange(statistics, np.arange(5), 2)
    np.testing.assert_array_equal(order, [3, 1])
    np.testing.assert_array_equal(groups, [0, 1])


def test_the_unseen_component_comes_last_with_the_distributions_of_the_prior(labelled):
    _, prior, X, Y, labels = labelled
    S = scatter_of(X, Y, labels)
    everyone, seen = prior.predictive(S, np.arange(3)), prior.posterior(S, np.arange(3))
    for family in ("region", "regression"):
        for name, value in vars(getattr(seen, family)).items():
            found = getattr(getattr(everyone, family), name)
            np.testing.assert_array_equal(found[:-1], value)
            np.testing.assert_array_equal(found[-1], getattr(getattr(prior, family), name)[0])
    np.testing.assert_array_equal(everyone.log_expected_weights[:-1], seen.log_expected_weights)
    assert np.exp(everyone.log_expected_weights).sum() == pytest.approx(1.0)
    rest = np.prod([b / (a + b) for a, b in naive.sticks([6.0, 4.0, 2.0], prior.concentration)])
    assert np.exp(everyone.log_expected_weights[-1]) == pytest.approx(rest)
