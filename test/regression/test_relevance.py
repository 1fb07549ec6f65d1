# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest
from learned_hierarchy import hierarchy_along_a_path

from ilr_dynamics.regression.influence import MAX_ERROR, Influence
from ilr_dynamics.regression.products import pairwise_products
from ilr_dynamics.regression.relevance import Relevance


@pytest.fixture(scope="module", params=[4, 9])
def model(request):
    """HILR with few inputs, where vacant components are felt everywhere, or more; its inputs."""
    return hierarchy_along_a_path(request.param)


@pytest.fixture(scope="module")
def mixture(model):
    return model[0]._predictive.mixture


@pytest.fixture(scope="module")
def influence(model, mixture):
    return Influence.from_mixture(mixture, model[0].statistics_.shape[0])


@pytest.fixture(scope="module")
def variances(mixture):
    return mixture.variances()


def queries(X, shift):
    return X[::30] + shift * np.random.default_rng(6).normal(size=X[::30].shape)


@pytest.mark.parametrize("shift", [0.0, 0.3, 1.0, 5.0])
def test_the_influence_of_a_share_is_no_less_than_what_leaving_it_out_changes(
    model, mixture, influence, variances, shift
):
    U = model[0].regressors_(queries(model[1], shift))
    says = mixture.predict(U)
    first = influence.first
    assert len(variances) - first > 2
    for row, u in enumerate(U):
        weights, means = says.weights[row], says.means[row]
        all_variances = variances * says.factors[row][:, None]
        # Every other one of those that may be left out.
        stays = np.ones(len(weights), dtype=bool)
        stays[first:-1:2] = False
        kept = np.where(stays, weights, 0.0)
        kept /= kept.sum()
        deviations = all_variances + (means - kept @ means) ** 2
        variance = weights @ (all_variances + (means - weights @ means) ** 2)
        bounds = influence.of_shares(variance, kept @ influence.steepness, float(u @ u))
        scale = np.sqrt(variance) * np.maximum(np.sqrt(variance), 1.0)
        exact = 1.0 + (deviations[first:] / scale).max(axis=1)
        assert np.all(bounds[~stays[first:]] >= exact[~stays[first:]] * (1.0 - 1e-9))
        least = variances[first:] * says.factors[row][first:, None]
        assert np.all(influence.floors <= least * (1.0 + 1e-9))


@pytest.fixture(scope="module")
def relevance(mixture, influence, variances):
    return Relevance(mixture, mixture.screening, influence, variances)


@pytest.mark.parametrize("shift", [0.0, 0.1, 0.3, 0.6, 1.0, 2.0, 5.0])
def test_a_prediction_by_what_is_relevant_is_that_of_all(
    model, mixture, variances, relevance, shift
):
    U = model[0].regressors_(queries(model[1], shift))
    says = mixture.predict(U)
    for row, u in enumerate(U):
        chosen, weights = relevance(u, pairwise_products(u[None])[0], float(u @ u))
        assert np.all(np.diff(chosen) > 0) and chosen[-1] == len(variances) - 1
        assert weights.sum() == pytest.approx(1.0)
        all_variances = variances * says.factors[row][:, None]
        expected, exact = says.weights[row], np.zeros(len(variances))
        exact[chosen] = weights
        moments = []
        for shares in (expected, exact):
            mean = shares @ says.means[row]
            moments.append(
                (mean, np.sqrt(shares @ (all_variances + (says.means[row] - mean) ** 2)))
            )
        (mean, std), (found_mean, found_std) = moments
        tolerance = 2.0 * MAX_ERROR * np.maximum(std, 1.0)
        assert np.all(np.abs(found_mean - mean) <= tolerance)
        assert np.all(np.abs(found_std - std) <= tolerance)


def test_vacant_components_are_asked_where_they_are_felt_alone(model, influence, relevance):
    def n_asked(shift):
        U = model[0].regressors_(queries(model[1], shift))
        return [
            np.sum(relevance(u, pairwise_products(u[None])[0], float(u @ u))[0] >= influence.first)
            for u in U
        ]

    if model[0].n_features_in_ > 4:
        assert np.mean(np.equal(n_asked(0.0), 1)) > 0.4
    assert np.all(np.equal(n_asked(5.0), len(influence.floors)))
