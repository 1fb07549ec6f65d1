# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ilr_dynamics.regression import (
    HILR,
    ILR,
    BatchInference,
    LinearGlobalModel,
    Prior,
)
from ilr_dynamics.regression.families.quadratic_forms import (
    form_coefficients,
    forms,
    pairwise_products,
)
from ilr_dynamics.regression.prediction import pruned_batches
from ilr_dynamics.regression.prediction.pruning import NEGLIGIBLE_WEIGHT, PruningBounds


@pytest.fixture
def generator():
    return np.random.default_rng(3)


def random_forms(generator, n, m):
    """Squared distances from n random centres as forms of [x, 1]."""
    root = generator.normal(size=(n, m, m)) * np.exp(generator.normal(size=(n, 1, 1)))
    A = root @ root.swapaxes(1, 2) + 1e-3 * np.eye(m)
    centres = 3.0 * generator.normal(size=(n, m))
    Q = np.empty((n, m + 1, m + 1))
    Q[:, :m, :m] = A
    Q[:, :m, m] = Q[:, m, :m] = -np.einsum("kij,kj->ki", A, centres)
    Q[:, m, m] = np.einsum("ki,kij,kj->k", centres, A, centres)
    return Q


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 30), st.integers(1, 14))
def test_distances_in_fewer_coordinates_are_never_longer(seed, n, m):
    generator = np.random.default_rng(seed)
    Q = random_forms(generator, n, m)
    pruning = PruningBounds.from_forms(Q)
    Z = np.ones((20, m + 1))
    Z[:, :m] = 4.0 * generator.normal(size=(20, m))
    exact = 1.0 + pairwise_products(Z) @ form_coefficients(Q).T
    coordinates = Z @ pruning.projection.T
    for row in range(len(Z)):
        bounds = pruning.distances(coordinates[row : row + 1], np.empty((1, n)))
        assert np.all(bounds[0] <= exact[row] * (1.0 + 1e-6))


def test_bounds_of_several_rows_are_those_of_each(generator):
    Q = random_forms(generator, 12, 6)
    pruning = PruningBounds.from_forms(Q)
    coordinates = generator.normal(size=(7, 7)) @ pruning.projection.T
    coordinates[:, -1] = 1.0
    together = pruning.distances(coordinates, np.empty((9, 12)))
    apart = [pruning.distances(row[None], np.empty((1, 12)))[0] for row in coordinates]
    np.testing.assert_allclose(together, apart)


@pytest.mark.parametrize("spread", [1e-3, 1e-5, 1e-6])
def test_bounds_of_nearly_singular_widths_are_none_or_hold(spread):
    generator = np.random.default_rng(1)
    t = np.sort(generator.uniform(0.0, 20.0, 3000))
    X = np.stack([np.sin((1.0 + 0.3 * k) * t + k) for k in range(6)], axis=1)
    Y = np.stack([X[:, 0] * X[:, 1], np.sin(2.0 * X[:, 2])], axis=1)
    model = ILR(
        150,
        prior=Prior(input_spread=spread, input_strength=50.0),
        inference=BatchInference(fit_scales=False, max_iterations=5),
    ).fit(X, Y)
    near = X[::8] + 1e-7
    mean, std = model.predict(near, return_std=True)
    all_mean, all_std = in_small_pieces(lambda x: model.predict(x, return_std=True), near)
    np.testing.assert_allclose(mean, all_mean, atol=1e-6)
    np.testing.assert_allclose(std, all_std, atol=1e-6)
    predictor = model.predictor()
    np.testing.assert_allclose([predictor(x)[0] for x in near[:50]], all_mean[:50], atol=1e-6)


def test_with_all_coordinates_the_bound_is_the_distance(generator):
    Q = random_forms(generator, 5, 2)
    pruning = PruningBounds.from_forms(Q)
    z = np.array([[0.3, -2.0, 1.0]])
    bounds = pruning.distances(z @ pruning.projection.T, np.empty((1, 5)))
    np.testing.assert_allclose(bounds[0], 1.0 + np.einsum("i,kij,j->k", z[0], Q, z[0]), rtol=1e-9)


def test_forms_are_recovered_from_their_coefficients(generator):
    Q = random_forms(generator, 4, 3)
    np.testing.assert_allclose(forms(form_coefficients(Q)), Q)


def wavy(generator, n):
    """Inputs (n, 5) along a curve and outputs (n, 2) that no few components describe."""
    s = np.sort(generator.uniform(0.0, 40.0, n))
    X = np.stack([np.sin(s), np.cos(1.3 * s), 0.1 * s, np.sin(0.7 * s + 1.0), np.cos(s)], axis=1)
    X += 0.01 * generator.normal(size=X.shape)
    return X, np.stack([np.sin(3.0 * s), X[:, 0] * X[:, 3]], axis=1)


@pytest.fixture(scope="module", params=["ilr", "hilr", "global model", "features"])
def crowded(request):
    X, Y = wavy(np.random.default_rng(5), 3000)
    settings = {
        "ilr": {},
        "hilr": {},
        "global model": {"global_model": LinearGlobalModel()},
        "features": {"features": "polynomial", "degree": 2},
    }[request.param]
    kind = HILR if request.param == "hilr" else ILR
    model = kind(120, inference=BatchInference(max_iterations=8), random_state=0, **settings)
    return model.set_params(prior__concentration=50.0, prior__input_spread=0.1).fit(X, Y)


def queries(n):
    """Near the data, beside them and far away."""
    generator = np.random.default_rng(6)
    X, _ = wavy(generator, n)
    return X + np.repeat([0.0, 0.3, 5.0], -(-n // 3))[:n, None] * generator.normal(size=X.shape)


def in_small_pieces(call, X):
    """Answers to few inputs at a time, of which all components are asked."""
    parts = [call(X[start : start + 100]) for start in range(0, len(X), 100)]
    return [np.concatenate(part) for part in zip(*parts, strict=True)]


@pytest.mark.parametrize("many_candidates", [0, 1000])
def test_many_inputs_are_answered_as_few_are(crowded, many_candidates, monkeypatch):
    # Whether or not each row is asked for its own.
    monkeypatch.setattr(pruned_batches, "MANY_CANDIDATES", many_candidates)
    assert crowded.n_active_ > 64
    X = queries(600)
    mean, std = crowded.predict(X, return_std=True)
    all_mean, all_std = in_small_pieces(lambda x: crowded.predict(x, return_std=True), X)
    np.testing.assert_allclose(mean, all_mean, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(std, all_std, rtol=1e-9)
    lower, upper = crowded.predict_interval(X, 0.9)
    all_lower, all_upper = in_small_pieces(lambda x: crowded.predict_interval(x, 0.9), X)
    np.testing.assert_allclose(lower, all_lower, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(upper, all_upper, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(
        crowded.predict(X, mode="mode"),
        in_small_pieces(lambda x: (crowded.predict(x, mode="mode"),), X)[0],
    )


def test_single_queries_are_answered_as_all_components_do(crowded):
    predictor = crowded.predictor()
    X = queries(90)
    mean, std = crowded.predict(X, return_std=True)
    found = [predictor.query(x) for x in X]
    np.testing.assert_allclose([one.mean for one in found], mean, rtol=1e-9, atol=1e-9)
    # A global model of less weight than 1e-9 is left out.
    rtol = 1e-9 if crowded.global_model_ is None else 1e-4
    np.testing.assert_allclose([one.std for one in found], std, rtol=rtol)
    weights = crowded.responsibilities(X)
    np.testing.assert_allclose(
        [one.unseen_weight for one in found], weights[:, -1], rtol=1e-8, atol=1e-300
    )


@pytest.mark.parametrize("many_candidates", [0, 1000])
def test_what_is_left_out_is_negligible(crowded, many_candidates, monkeypatch):
    monkeypatch.setattr(pruned_batches, "MANY_CANDIDATES", many_candidates)
    mixture = crowded._predictive.mixture
    U = crowded.regressors_(queries(600))
    n_asked, seen = [], np.zeros(len(U), dtype=int)
    for rows, part, _ in pruned_batches.pruned_predictions(mixture, U):
        weights = mixture.predict(U[rows]).weights
        left_out = np.where(np.isin(mixture.log_constants, part.log_constants), 0.0, weights)
        assert np.all(left_out.sum(axis=1) <= 2.0 * NEGLIGIBLE_WEIGHT)
        n_asked.append(part.dofs.size)
        seen[rows] += 1
    assert np.all(seen == 1)
    # Else nothing is gained.
    assert np.mean(n_asked) < 0.7 * mixture.dofs.size


def test_a_component_without_a_bound_is_asked_but_hides_no_other(crowded):
    mixture = crowded._predictive.mixture
    U = crowded.regressors_(queries(600)[:200])
    U = np.concatenate([U, U + 1e-3])
    Q = forms(mixture.distance_coefficients)
    # So thin that its form cannot be inverted.
    Q[3] = 0.0
    Q[3, 0, 0] = 1e12
    thin = replace(mixture, distance_coefficients=form_coefficients(Q))
    np.testing.assert_array_equal(thin.pruning.unbounded, [3])
    n_asked = []
    for near in pruned_batches.input_clusters(thin, U):
        assert 3 in near.chosen
        n_asked.append(near.chosen.size)
        left_out = thin.predict(near.U).weights
        left_out[:, near.chosen] = 0.0
        assert np.all(left_out.sum(axis=1) <= 2.0 * NEGLIGIBLE_WEIGHT)
    assert np.mean(n_asked) < 0.7 * thin.dofs.size


def test_input_regions_hold_the_samples(crowded):
    X, _ = wavy(np.random.default_rng(5), 3000)
    centres, covariances = crowded.input_regions()
    assert centres.shape == (len(crowded.statistics_), 5)
    deviations = X[:, None] - centres
    inverse = np.linalg.inv(covariances)
    distances = np.einsum("nki,kij,nkj->nk", deviations, inverse, deviations, optimize=True)
    labels = crowded.responsibilities(X)[:, : len(centres)].argmax(axis=1)
    own = distances[np.arange(len(X)), labels]
    # The mean of a squared Mahalanobis distance is the number of inputs.
    assert 0.3 * 5 < own.mean() < 1.5 * 5
