# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest
from learned_hierarchy import hierarchy_along_a_path

from ilr_dynamics.regression.families.quadratic_forms import pairwise_products
from ilr_dynamics.regression.prediction.pruned_weights import PrunedWeights


@pytest.fixture(scope="module", params=[4, 9])
def model(request):
    """HILR with few inputs or more; its inputs."""
    return hierarchy_along_a_path(request.param)


@pytest.fixture(scope="module")
def mixture(model):
    return model[0]._predictive.mixture


@pytest.fixture(scope="module")
def variances(mixture):
    return mixture.variances()


def queries(X, shift):
    return X[::30] + shift * np.random.default_rng(6).normal(size=X[::30].shape)


@pytest.fixture(scope="module")
def weights_at(mixture):
    return PrunedWeights(mixture, mixture.pruning)


@pytest.mark.parametrize("shift", [0.0, 0.1, 0.3, 0.6, 1.0, 2.0, 5.0])
def test_a_prediction_by_what_is_relevant_is_that_of_all(
    model, mixture, variances, weights_at, shift
):
    U = model[0].regressors_(queries(model[1], shift))
    says = mixture.predict(U)
    for row, u in enumerate(U):
        chosen, weights = weights_at(u, pairwise_products(u[None])[0])
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
        np.testing.assert_allclose(found_mean, mean, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(found_std, std, rtol=1e-9)
