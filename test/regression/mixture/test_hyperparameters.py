# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize, minimize_scalar

from ilr_dynamics.regression import HILR, ILR, BatchInference, Prior, Scaling, StochasticInference
from ilr_dynamics.regression.inference.initialization import assignment_statistics
from ilr_dynamics.regression.mixture.hyperparameters import (
    SMALLEST_SHARE,
    log_scale_prior,
    most_probable_scale,
)
from ilr_dynamics.regression.mixture.mixture import extend

SEEDS = st.integers(0, 2**32 - 1)


def random_prior(generator, m, d, n_features=0):
    return Prior(
        concentration=generator.uniform(0.1, 5.0),
        input_spread=generator.uniform(0.1, 2.0),
        input_strength=generator.uniform(0.5, 5.0),
        centre_spread=generator.uniform(0.5, 3.0),
        noise_std=generator.uniform(0.05, 1.0),
        noise_strength=generator.uniform(0.5, 5.0),
        slope_scale=generator.uniform(0.3, 3.0),
    ).base_distribution(m, n_features, d)


def random_statistics(generator, m, d, n_components, n_features=0):
    """Statistics of components each with a centre, a map and a noise of its own, by size."""
    labels = np.sort(generator.integers(0, n_components, 12 * n_components))
    centres = 2.0 * generator.normal(size=(n_components, m))
    maps = generator.normal(size=(n_components, m, d))
    X = centres[labels] + generator.uniform(0.1, 1.0) * generator.normal(size=(labels.size, m))
    noise = generator.uniform(0.02, 0.5) * generator.normal(size=(labels.size, d))
    Y = np.einsum("nm,nmd->nd", X, maps[labels]) + noise
    further = generator.normal(size=(labels.size, n_features))
    Z = extend(np.column_stack([X, further, np.ones(labels.size)]), Y)
    scatter = assignment_statistics(
        Z, generator.uniform(0.2, 3.0, labels.size), labels, n_components
    )
    return scatter[np.argsort(-scatter[:, m + n_features, m + n_features])]


def objective(prior, stated, scatter):
    return prior.log_evidence(scatter, np.arange(len(scatter))) + prior.log_prior_of_scales(stated)


@settings(max_examples=50)
@given(st.floats(0.5, 50.0), st.integers(1, 300), st.floats(0.0, 1e6), st.floats(1e-3, 1e3))
def test_most_probable_scale_has_the_highest_objective(size, n_draws, distances, stated):
    def negative(log_scale):
        scale = np.exp(log_scale)
        value = 0.5 * (n_draws * size * log_scale - scale * distances)
        return -value - log_scale_prior(size, scale, stated)

    found = np.log(most_probable_scale(size, n_draws, distances, stated))
    lowest, highest = np.log(SMALLEST_SHARE * stated), np.log(1e3 * stated)
    best = minimize_scalar(negative, bounds=(lowest, highest), options={"xatol": 1e-10})
    assert lowest - 1e-9 <= found
    assert negative(found) <= best.fun + 1e-9 * max(1.0, abs(best.fun))
    assert found == pytest.approx(best.x, abs=1e-3)


def test_scales_as_stated_have_the_highest_prior_of_all():
    stated = np.array([0.3, 2.0])
    assert log_scale_prior(3.0, stated, stated) == 0.0
    for factors in ([0.5, 1.0], [1.0, 2.0], [1.1, 0.9]):
        assert log_scale_prior(3.0, stated * factors, stated) < 0.0


def test_many_draws_outweigh_the_stated_scale_and_none_leave_it():
    # Draws of size 4 whose squared distances are 4 / 7 each: the scale is 7.
    assert most_probable_scale(4.0, 10**6, 10**6 * 4.0 / 7.0, 1.0) == pytest.approx(7.0, rel=1e-4)
    assert most_probable_scale(4.0, 0, 0.0, 3.0) == pytest.approx(3.0)
    np.testing.assert_allclose(most_probable_scale(1.0, 1, [1.0, 0.0], [1.0, 2.0]), [1.0, 4.0])


@settings(max_examples=40)
@given(SEEDS, st.integers(1, 3), st.integers(1, 2), st.integers(1, 5), st.integers(0, 2))
def test_refitting_never_lowers_evidence_and_prior_of_scales(seed, m, d, n_components, n_features):
    generator = np.random.default_rng(seed)
    stated = prior = random_prior(generator, m, d, n_features)
    scatter = random_statistics(generator, m, d, n_components, n_features)
    values = [objective(prior, stated, scatter)]
    for _ in range(8):
        prior = prior.refitted(stated, prior.posterior(scatter, np.arange(n_components)))
        values.append(objective(prior, stated, scatter))
    assert np.all(np.diff(values) >= -1e-9 * np.abs(values[1:]))
    assert values[-1] > values[0]


def with_scales(prior, log_scales):
    m, d = prior.n_inputs, prior.n_outputs
    region, kappa, noise, columns = np.split(np.exp(log_scales), [m, m + 1, m + 1 + d])
    return replace(
        prior,
        region=prior.region.rescaled(region, kappa),
        regression=prior.regression.rescaled(noise, columns),
    )


def scales_of(prior):
    return np.concatenate(
        [
            prior.region.scales(),
            prior.region.kappa,
            prior.regression.scales(),
            prior.regression.column_scales(),
        ]
    )


@pytest.mark.parametrize(("m", "d"), [(1, 1), (2, 2)])
def test_refitting_ends_where_evidence_and_prior_of_scales_are_highest(m, d):
    generator = np.random.default_rng(m)
    stated = prior = random_prior(generator, m, d)
    scatter = random_statistics(generator, m, d, 4)
    for _ in range(1500):
        prior = prior.refitted(stated, prior.posterior(scatter, np.arange(4)))
    best = minimize(
        lambda log_scales: -objective(with_scales(stated, log_scales), stated, scatter),
        np.log(scales_of(stated)),
        method="BFGS",
    )
    np.testing.assert_allclose(scales_of(prior), np.exp(best.x), rtol=1e-3)
    assert objective(prior, stated, scatter) == pytest.approx(-best.fun, abs=1e-6)


def test_refitting_leaves_the_given_prior_and_what_is_no_scale_as_it_was():
    generator = np.random.default_rng(4)
    prior = random_prior(generator, 2, 2)
    before = scales_of(prior).copy()
    refitted = prior.refitted(
        prior, prior.posterior(random_statistics(generator, 2, 2, 3), np.arange(3))
    )
    np.testing.assert_array_equal(scales_of(prior), before)
    assert np.all(scales_of(refitted) != before)
    for part, names in (("region", ("mean", "dof")), ("regression", ("mean", "dof"))):
        for name in names:
            kept, found = (getattr(getattr(p, part), name) for p in (prior, refitted))
            np.testing.assert_array_equal(found, kept)
    assert refitted.concentration == prior.concentration


@settings(max_examples=15)
@given(SEEDS, st.integers(1, 8))
def test_refitting_the_concentration_leads_to_the_highest_objective(seed, n_components):
    generator = np.random.default_rng(seed)
    stated = random_prior(generator, 1, 1)
    scatter = random_statistics(generator, 1, 1, n_components)
    groups = np.arange(len(scatter))
    prior = stated
    values = [objective(prior, stated, scatter)]
    for _ in range(400):
        prior = prior.with_concentration_refitted(stated, scatter, groups)
        values.append(objective(prior, stated, scatter))
    assert np.all(np.diff(values) >= -1e-9 * np.abs(values[1:]))
    best = minimize_scalar(
        lambda log: -objective(replace(stated, concentration=np.exp(log)), stated, scatter),
        bounds=(-8.0, 8.0),
        options={"xatol": 1e-8},
    )
    assert np.log(prior.concentration) == pytest.approx(best.x, abs=1e-2)


@pytest.mark.parametrize("kind", [ILR, HILR])
@pytest.mark.parametrize("inference", [BatchInference(), StochasticInference(batch_size=200)])
def test_the_concentration_follows_the_data_if_asked_to(kind, inference):
    generator = np.random.default_rng(8)
    X = generator.uniform(-3.0, 3.0, (600, 1))
    Y = np.sin(3.0 * X) + 0.05 * generator.normal(size=X.shape)
    fitting = replace(inference, fit_concentration=True, max_iterations=30)
    stated, model = (
        kind(40, inference=scheme).set_params(prior__concentration=1e-3).fit(X, Y)
        for scheme in (inference, fitting)
    )
    assert stated.prior_.concentration == 1e-3
    assert model.prior_.concentration != 1e-3
    if kind is HILR:
        assert model.prior_.upper_concentration > 0.2
    else:
        assert model.prior_.concentration > 1e-2
    if isinstance(inference, BatchInference):
        bounds = model.lower_bounds_
        assert np.all(np.diff(bounds) >= -1e-9 * np.abs(bounds[1:]))
    assert model.partial_fit(X, Y).score(X, Y) > 0.95


@settings(max_examples=12)
@given(SEEDS, st.booleans(), st.booleans(), st.sampled_from([True, "outputs"]))
def test_bound_never_falls_while_scales_follow_the_data(seed, smooth, exact, fit_scales):
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(200, 2))
    noise = 0.0 if exact else 0.1 * generator.normal(size=X.shape)
    Y = (np.sin(2.0 * X) if smooth else X @ generator.normal(size=(2, 2))) + noise
    if exact:
        X[:, 1] = 3.0
    model = ILR(
        12, inference=BatchInference(fit_scales=fit_scales, tolerance=1e-12, max_iterations=40)
    )
    for rows in (slice(0, 120), slice(120, 200)):
        model.partial_fit(X[rows], Y[rows])
        bounds = model.lower_bounds_
        # Forms of outputs explained exactly hold large numbers: their sums are rounded.
        rounding = 1e-7 if exact else 1e-9
        assert np.all(np.diff(bounds) >= -rounding * np.abs(bounds[1:]))


@pytest.mark.parametrize("noise_std", [0.02, 0.3])
def test_less_noise_than_stated_is_found(noise_std):
    generator = np.random.default_rng(5)
    X = generator.uniform(-1.0, 1.0, (2000, 1))
    Y = np.sin(4.0 * X) + noise_std * generator.normal(size=X.shape)
    model = ILR(
        20, prior=Prior(noise_std=1.0, noise_strength=4.0), scaling=Scaling(output_scale=1.0)
    ).fit(X, Y)
    found = np.sqrt(model.prior_.regression.scales() / 4.0)
    assert found == pytest.approx(noise_std, rel=0.5)


def test_a_slope_that_does_not_matter_is_expected_to_be_small():
    generator = np.random.default_rng(6)
    X = generator.uniform(-1.0, 1.0, (1500, 2))
    Y = np.sin(4.0 * X[:, :1]) + 0.05 * generator.normal(size=(1500, 1))
    matters, does_not, _ = ILR(30).fit(X, Y).prior_.regression.column_scales()
    assert does_not > 5.0 * matters


@pytest.mark.parametrize("relation", ["exact", "repeated", "constant"])
def test_data_without_any_variation_leave_scales_above_zero(relation):
    generator = np.random.default_rng(7)
    X = generator.normal(size=(300, 2))
    Y = X @ [[1.0, 2.0], [3.0, -1.0]] + 4.0
    if relation == "repeated":
        X, Y = np.repeat(X[:6], 50, axis=0), np.repeat(np.sin(X[:6]), 50, axis=0)
    elif relation == "constant":
        X, Y = np.column_stack([X, np.ones(300)]), np.column_stack([np.sin(X), np.ones(300)])
    model = ILR(n_components=8).fit(X, Y)
    stated = ILR(n_components=8, inference=BatchInference(fit_scales=False)).fit(X, Y).prior_
    assert np.all(scales_of(model.prior_) >= 0.999 * SMALLEST_SHARE * scales_of(stated))
    assert model.score(X, Y) > 0.5
    assert model.partial_fit(X, Y).score(X, Y) > 0.5


def test_stated_scales_stay_when_the_data_may_not_choose(motion):
    model = (
        ILR(n_components=5, inference=BatchInference(fit_scales=False))
        .fit(*motion)
        .partial_fit(*motion)
    )
    stated = Prior(
        concentration=0.1,
        input_spread=0.2,
        input_strength=2.0,
        centre_spread=1.0,
        noise_std=0.1,
        noise_strength=2.0,
        slope_scale=1.0,
    ).base_distribution(2, 0, 2)
    np.testing.assert_array_equal(scales_of(model.prior_), scales_of(stated))


@pytest.mark.parametrize("inference", [BatchInference(), StochasticInference(batch_size=100)])
def test_components_keep_the_stated_width_when_only_scales_of_outputs_follow_the_data(
    motion, inference
):
    stated, fitted, outputs = (
        ILR(8, inference=replace(inference, fit_scales=fit_scales)).fit(*motion).prior_
        for fit_scales in (False, True, "outputs")
    )
    np.testing.assert_array_equal(outputs.region.scales(), stated.region.scales())
    np.testing.assert_array_equal(outputs.region.kappa, stated.region.kappa)
    assert np.all(fitted.region.scales() != stated.region.scales())
    for prior in (fitted, outputs):
        assert np.all(prior.regression.scales() != stated.regression.scales())
        assert np.all(prior.regression.column_scales() != stated.regression.column_scales())
