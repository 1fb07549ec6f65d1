# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
import naive_ilr as naive
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from naive_predictive import predictive
from scipy.integrate import quad

from ilr_dynamics.exceptions import InvalidDataError, NotFittedError
from ilr_dynamics.regression import ILR, BatchInference, Prior

SEEDS = st.integers(0, 2**32 - 1)


def standard(model, X, Y):
    return model.regressors_.scaling.transform(X), model.output_scaling_.transform(Y)


def test_one_component_is_bayesian_linear_regression(motion):
    X, Y = motion
    prior = Prior(noise_std=0.3, slope_scale=2.0, noise_strength=4.0)
    model = ILR(n_components=1, prior=prior, inference=BatchInference(fit_scales=False)).fit(X, Y)
    assert model.statistics_.shape[0] == 1
    A, B = standard(model, X, Y)
    U = np.column_stack([A, np.ones(len(A))])
    # Ridge regression with the penalties that the settings stand for.
    penalty = np.diag([2 * (0.3 / 2.0) ** 2, 2 * (0.3 / 2.0) ** 2, 0.3**2])
    ridge = np.linalg.solve(U.T @ U + penalty, U.T @ B)
    residuals = B - U @ ridge
    noise = 4.0 * 0.3**2 * np.eye(2) + residuals.T @ residuals + ridge.T @ penalty @ ridge
    posterior = model.posterior_.regression
    np.testing.assert_allclose(posterior.mean[0], ridge.T, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(posterior.inverse_scale[0], noise, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(posterior.dof, 2 + 1 + 4.0 + len(X))


def test_predictions_agree_with_the_naive_predictive(model, motion):
    X = np.concatenate([motion[0][::80], [[3.0, 900.0], [-8.0, 0.0]]])
    base = naive.components_of(model.prior_.region, model.prior_.regression)[0]
    components = naive.components_of(model.posterior_.region, model.posterior_.regression)
    mean, std = model.predict(X, return_std=True)
    mode, _ = model.predict(X, return_std=True, mode="mode")
    weights, means, covariances = model.predict_components(X)
    np.testing.assert_array_equal(model.responsibilities(X), weights)
    scaling = model.output_scaling_
    counts = list(model.prior_.counts(model.statistics_))
    for n, x in enumerate(model.regressors_.scaling.transform(X)):
        shares, parts = predictive(components, base, counts, model.prior_.concentration, x)
        np.testing.assert_allclose(weights[n], shares, rtol=1e-6, atol=1e-12)
        places = np.array([scaling.inverse_transform(t.loc) for t in parts])
        np.testing.assert_allclose(means[n], places, rtol=1e-9, atol=1e-9)
        spread = np.outer(scaling.scale, scaling.scale)
        expected = np.array([t.shape * t.df / (t.df - 2.0) * spread for t in parts])
        np.testing.assert_allclose(covariances[n], expected, rtol=1e-7)
        np.testing.assert_allclose(mean[n], shares @ places, rtol=1e-7, atol=1e-9)
        variance = shares @ (places**2 + np.diagonal(expected, axis1=1, axis2=2))
        np.testing.assert_allclose(std[n] ** 2, variance - (shares @ places) ** 2, rtol=1e-6)
        np.testing.assert_allclose(mode[n], places[shares.argmax()], rtol=1e-9)


def test_predictive_density_integrates_to_one():
    generator = np.random.default_rng(2)
    X = generator.uniform(-3.0, 3.0, (500, 1))
    Y = np.sin(X) + generator.normal(size=X.shape) * (0.02 + 0.4 * (X > 0.0))
    model = ILR(n_components=15).fit(X, 5.0 + 30.0 * Y)
    for x in (-2.0, 0.0, 1.5, 50.0):
        mean, std = model.predict([[x]], return_std=True)

        def density(y, x=x):
            return np.exp(model.log_predictive_density([[x]], [[y]])[0])

        centre, width = mean[0, 0], std[0, 0]
        edges = centre + width * np.array([-300.0, -10.0, -1.0, 0.0, 1.0, 10.0, 300.0])
        mass = sum(
            quad(density, low, high, epsabs=1e-6, limit=100)[0]
            for low, high in zip(edges[:-1], edges[1:], strict=True)
        )
        assert mass == pytest.approx(1.0, abs=1e-3)


def test_input_dependent_noise_is_found():
    generator = np.random.default_rng(2)
    X = generator.uniform(-3.0, 3.0, (1500, 1))
    noise = np.where(X > 0.0, 0.5, 0.05)
    Y = 0.5 * X + noise * generator.normal(size=X.shape)
    # Few components are expected, so that the unseen one adds next to nothing to the spread.
    model = ILR(n_components=30, prior=Prior(concentration=0.1, noise_std=0.05)).fit(X, Y)
    _, std = model.predict([[-2.0], [-1.0], [1.0], [2.0]], return_std=True)
    np.testing.assert_allclose(std[:, 0], [0.05, 0.05, 0.5, 0.5], rtol=0.5)


def test_interval_covers_what_it_says_on_new_data():
    generator = np.random.default_rng(3)
    X = generator.uniform(-3.0, 3.0, (3000, 1))
    Y = np.sin(X) + generator.normal(size=X.shape) * (0.05 + 0.3 * (X > 0.0))
    model = ILR(n_components=30).fit(X[:1500], Y[:1500])
    for coverage in (0.5, 0.95):
        lower, upper = model.predict_interval(X[1500:], coverage)
        inside = np.mean((Y[1500:] > lower) & (Y[1500:] < upper))
        assert inside == pytest.approx(coverage, abs=0.03)


def test_far_queries_return_to_the_prior(model, motion):
    X, Y = motion
    far = np.array([[1e4, 0.0], [3.0, -1e6], [-1e5, 1e6]])
    mean, std = model.predict(far, return_std=True)
    assert np.all(model.responsibilities(far)[:, -1] > 0.9)
    assert np.all(np.abs(mean - Y.mean(axis=0)) < 0.2 * Y.std(axis=0) + 0.2 * std)
    # Slopes of about one, unknown: the spread grows in proportion to the distance.
    steps = np.linalg.norm(model.regressors_.scaling.transform(far), axis=1)
    assert np.all(std > 0.3 * steps[:, None] * Y.std(axis=0))
    _, at_data = model.predict(X[::10], return_std=True)
    assert np.all(np.median(at_data, axis=0) < 0.3 * Y.std(axis=0))


@pytest.mark.parametrize(
    "settings",
    [{}, {"prior": Prior(concentration=1.0), "inference": BatchInference(fit_scales=False)}],
    ids=str,
)
def test_spare_components_do_not_inflate_the_spread_at_the_data(settings):
    generator = np.random.default_rng(4)
    X = generator.uniform(-1.0, 1.0, (800, 1))
    Y = 2.0 * X + 0.1 * generator.normal(size=X.shape)
    few, many = (ILR(n_components=k, **settings).fit(X, Y) for k in (3, 200))
    X_new = np.linspace(-0.9, 0.9, 20)[:, None]
    for model in (few, many):
        mean, std = model.predict(X_new, return_std=True)
        np.testing.assert_allclose(mean, 2.0 * X_new, atol=0.06)
        np.testing.assert_allclose(std, 0.1, rtol=0.3)


def test_mode_follows_one_branch_where_the_mean_falls_between():
    generator = np.random.default_rng(5)
    X = generator.uniform(-1.0, 1.0, (600, 1))
    upper = generator.uniform(size=X.shape) < 0.7
    Y = np.where(upper, 3.0, -3.0) + 0.05 * generator.normal(size=X.shape)
    model = ILR(n_components=10).fit(X, Y)
    mean = model.predict([[0.0]])
    mode = model.predict([[0.0]], mode="mode")
    assert abs(mean[0, 0]) < 2.5
    assert abs(mode[0, 0]) == pytest.approx(3.0, abs=0.1)


@settings(max_examples=12)
@given(
    SEEDS,
    st.floats(0.2, 40.0),
    st.floats(0.05, 1.5),
    st.floats(0.02, 0.5),
    st.booleans(),
    st.booleans(),
)
def test_bound_never_falls_in_fit_and_partial_fit(
    seed, concentration, spread, noise, fit_scales, merge
):
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(200, 2))
    Y = np.sin(2.0 * X) + 0.1 * generator.normal(size=X.shape)
    weights = generator.uniform(0.2, 3.0, 200)
    model = ILR(
        n_components=12,
        prior=Prior(concentration=concentration, input_spread=spread, noise_std=noise),
        inference=BatchInference(
            fit_scales=fit_scales, merge=merge, tolerance=1e-12, max_iterations=30
        ),
    )
    for rows in (slice(0, 120), slice(120, 200)):
        model.partial_fit(X[rows], Y[rows], weights[rows])
        bounds = model.lower_bounds_
        assert np.all(np.diff(bounds) >= -1e-9 * np.maximum(np.abs(bounds[1:]), 100.0))


def test_same_seed_gives_the_same_model_and_generators_draw_on(motion):
    first, second = (ILR(n_components=10, random_state=5).fit(*motion) for _ in range(2))
    np.testing.assert_array_equal(first.statistics_, second.statistics_)
    generator = np.random.default_rng(5)
    third = ILR(n_components=10, random_state=generator).fit(*motion)
    np.testing.assert_array_equal(first.statistics_, third.statistics_)


def test_fit_forgets_what_was_learned_before(motion):
    X, Y = motion
    again = ILR(n_components=10).fit(X[:100] + 50.0, Y[:100]).fit(X, Y)
    np.testing.assert_array_equal(again.statistics_, ILR(n_components=10).fit(X, Y).statistics_)
    assert again.n_samples_ == len(X)


def test_fitted_attributes_tell_about_the_model(model, motion):
    X, _ = motion
    assert (model.n_features_in_, model.n_outputs_, model.n_samples_) == (2, 2, len(X))
    counts = model.prior_.counts(model.statistics_)
    assert np.sum(counts) == pytest.approx(len(X))
    assert model.n_active_ == np.sum(counts > 1.0) <= 25
    assert model.lower_bounds_.ndim == 1
    assert model.converged_ in (True, False)


def test_score_is_the_share_of_the_variance_explained(model, motion):
    X, Y = motion
    errors = np.mean((Y - model.predict(X)) ** 2, axis=0)
    assert model.score(X, Y) == pytest.approx(np.mean(1.0 - errors / Y.var(axis=0)))
    assert model.score(X, Y) > 0.98


@pytest.mark.parametrize(
    "use",
    [
        lambda m: m.predict([[1.0]]),
        lambda m: m.predict_components([[1.0]]),
        lambda m: m.predict_interval([[1.0]]),
        lambda m: m.log_predictive_density([[1.0]], [[1.0]]),
        lambda m: m.responsibilities([[1.0]]),
        lambda m: m.score([[1.0]], [[1.0]]),
        lambda m: m.predictor(),
        lambda m: m.save("never_written.npz"),
    ],
)
def test_an_unfitted_model_says_so(use):
    with pytest.raises(NotFittedError, match="fit"):
        use(ILR())


def test_queries_need_the_columns_of_the_training_data(model):
    with pytest.raises(InvalidDataError, match="3 features.*2"):
        model.predict(np.zeros((4, 3)))
    with pytest.raises(InvalidDataError, match="3 targets.*2"):
        model.log_predictive_density(np.zeros((4, 2)), np.zeros((4, 3)))
