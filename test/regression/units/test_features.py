# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
import naive_ilr as naive
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from naive_predictive import input_predictive

from ilr_dynamics.exceptions import InvalidParameterError, SnapshotError
from ilr_dynamics.regression import (
    ILR,
    BatchInference,
    Predictor,
    Prior,
    load_snapshot,
    register_features,
)
from ilr_dynamics.regression.units import features
from ilr_dynamics.regression.units.features import MAX_FEATURES, Regressors
from ilr_dynamics.regression.units.scaling import Standardizer


def waves(X):
    return np.column_stack([np.sin(X), np.cos(X[:, :1])])


@pytest.fixture
def registered(monkeypatch):
    """Register functions for one test only."""
    monkeypatch.setattr(features, "_registered", {})
    register_features("waves", waves)
    return register_features


def regressors(X, name, degree=3, location=0.0, scale=1.0):
    weights = np.ones(len(X))
    scaling = Standardizer.from_data(X, weights, location, scale, "input")
    return Regressors.from_data(scaling, name, degree, X, weights)


@settings(max_examples=20)
@given(st.integers(0, 2**32 - 1))
def test_polynomials_have_all_products_of_standard_inputs(seed):
    X = np.random.default_rng(seed).normal(size=(7, 3))
    location, scale = np.array([1.0, -2.0, 0.5]), np.array([2.0, 0.1, 3.0])
    a, b, c = ((X - location) / scale).T
    squares = [a * a, a * b, a * c, b * b, b * c, c * c]
    cubes = [a**3, a * a * b, a * a * c, a * b * b, a * b * c]
    cubes += [a * c * c, b**3, b * b * c, b * c * c, c**3]
    columns = np.column_stack([a, b, c, *squares, *cubes, np.ones(7)])
    found = regressors(X, "polynomial", 3, location, scale)(X)
    np.testing.assert_allclose(found, columns, rtol=1e-12)
    found = regressors(X, "polynomial", 2, location, scale)(X)
    np.testing.assert_allclose(found, columns[:, [*range(9), -1]], rtol=1e-12)


@pytest.mark.parametrize(("name", "degree"), [("linear", 3), ("polynomial", 1)])
def test_without_features_regressors_are_inputs_and_one(name, degree):
    X = np.random.default_rng(0).normal(size=(5, 2))
    found = regressors(X, name, degree, scale=2.0)(X)
    np.testing.assert_array_equal(found, np.column_stack([X / 2.0, np.ones(5)]))


def test_registered_features_see_physical_inputs_and_are_standardised(registered):
    X = np.random.default_rng(0).normal(size=(50, 2)) + 100.0
    made = regressors(X, "waves", location=7.0, scale=0.1)
    found = made(X)
    values = waves(X)
    standard = (values - values.mean(axis=0)) / values.std(axis=0)
    np.testing.assert_allclose(found[:, :2], (X - 7.0) / 0.1)
    np.testing.assert_allclose(found[:, 2:5], standard, rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(found[:, 5], 1.0)
    # Later inputs are scaled as the first ones were.
    np.testing.assert_allclose(made(X[:1]), found[:1], rtol=1e-9)


def test_a_registered_function_extends_the_linear_terms(registered):
    X = np.random.default_rng(1).uniform(-9.0, 9.0, (400, 1))
    Y = np.sin(X) + 0.3 * X
    linear, with_waves = (ILR(n_components=1, features=f).fit(X, Y) for f in ("linear", "waves"))
    assert linear.score(X, Y) < 0.9
    assert with_waves.score(X, Y) > 0.999
    new = np.linspace(-9.0, 9.0, 50)[:, None]
    np.testing.assert_allclose(with_waves.predict(new), np.sin(new) + 0.3 * new, atol=0.02)


def test_one_component_with_cubic_features_is_bayesian_linear_regression():
    generator = np.random.default_rng(2)
    X = generator.uniform(1.0, 5.0, (60, 1))
    Y = X**3 - 4.0 * X**2 + generator.normal(size=X.shape)
    weights = generator.uniform(0.3, 2.0, 60)
    model = ILR(
        1,
        features="polynomial",
        prior=Prior(noise_std=0.3, slope_scale=2.0, noise_strength=4.0),
        inference=BatchInference(fit_scales=False),
    ).fit(X, Y, weights)
    x = model.regressors_.scaling.transform(X)[:, 0]
    y = model.output_scaling_.transform(Y)[:, 0]
    U = np.column_stack([x, x**2, x**3, np.ones(60)])
    prior = np.diag([0.15**2, 0.15**2, 0.15**2, 0.3**2])
    precision = (weights * U.T) @ U + prior
    mean = np.linalg.solve(precision, (weights * U.T) @ y)
    square = 4.0 * 0.3**2 + weights @ (y - U @ mean) ** 2 + mean @ prior @ mean
    dof = 1.0 + 1.0 + 4.0 + weights.sum()
    posterior = model.posterior_.regression
    np.testing.assert_allclose(posterior.mean[0, 0], mean, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(posterior.column_precision[0], precision, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(posterior.inverse_scale[0], square, rtol=1e-9)
    assert posterior.dof[0] == pytest.approx(dof)
    # The one component alone, at the data: its Student-t.
    mode, std = model.predict(X, return_std=True, mode="mode")
    widening = 1.0 + np.sum(U * np.linalg.solve(precision, U.T).T, axis=1)
    expected = model.output_scaling_.inverse_transform((U @ mean)[:, None])
    np.testing.assert_allclose(mode, expected, rtol=1e-9, atol=1e-9)
    variance = widening * square / (dof - 2.0) * model.output_scaling_.scale**2
    np.testing.assert_allclose(std[:, 0] ** 2, variance, rtol=1e-9)


@pytest.fixture(scope="module")
def curved():
    generator = np.random.default_rng(3)
    X = np.column_stack([generator.uniform(-2.0, 4.0, 300), generator.uniform(50.0, 90.0, 300)])
    Y = np.column_stack([np.sin(X[:, 0]) * X[:, 1], np.cos(0.1 * X[:, 1])])
    return X, Y + generator.normal(size=Y.shape) * [1.0, 0.02]


def test_where_components_are_active_is_decided_on_inputs_alone(curved):
    model = ILR(6, features="polynomial", degree=2).fit(*curved)
    components = naive.components_of(model.posterior_.region, model.posterior_.regression)
    components += naive.components_of(model.prior_.region, model.prior_.regression)
    shares = np.exp(model.prior_.predictive(model.statistics_, model.groups_).log_expected_weights)
    X = curved[0][::50]
    found = model.responsibilities(X)
    for n, x in enumerate(model.regressors_.scaling.transform(X)):
        expected = shares * [input_predictive(c).pdf(x) for c in components]
        np.testing.assert_allclose(found[n], expected / expected.sum(), rtol=1e-8, atol=1e-14)


def test_expected_log_densities_take_features_into_account(curved):
    model = ILR(3, features="polynomial", degree=2).fit(*curved)
    U = model.regressors_(curved[0][::60])
    outputs = model.output_scaling_.transform(curved[1][::60])
    components = naive.components_of(model.posterior_.region, model.posterior_.regression)
    forms = model.posterior_.expected_log_joint_forms()
    counts = list(model.prior_.counts(model.statistics_))
    sticks = naive.sticks(counts, model.prior_.concentration)
    for u, y in zip(U, outputs, strict=True):
        z = np.concatenate([u, y])
        for k, c in enumerate(components):
            expected = naive.expected_log_weight(sticks, k)
            expected += naive.expected_log_input(c, u[:2])
            expected += naive.expected_log_output(c, u[:-1], y)
            assert z @ forms[k] @ z == pytest.approx(expected, rel=1e-8, abs=1e-8)


@pytest.mark.parametrize(
    "settings", [{"features": "polynomial", "degree": 2}, {"features": "waves"}]
)
def test_predictors_and_snapshots_agree_with_the_model(registered, curved, tmp_path, settings):
    X, Y = curved
    model = ILR(6, **settings).fit(X[:200], Y[:200])
    model.save(tmp_path / "model.npz")
    model.predictor().save(tmp_path / "model.predictor")
    loaded, mapped = (
        load_snapshot(tmp_path / "model.npz"),
        Predictor.open(tmp_path / "model.predictor"),
    )
    queries = np.concatenate([X[::30], [[40.0, -300.0]]])
    mean, std = model.predict(queries, return_std=True)
    for a, b in zip((mean, std), loaded.predict(queries, return_std=True), strict=True):
        np.testing.assert_array_equal(a, b)
    for n, x in enumerate(queries):
        found, again = model.predictor().query(x), mapped.query(x)
        np.testing.assert_array_equal(found.mean, again.mean)
        np.testing.assert_array_equal(found.std, again.std)
        np.testing.assert_allclose(found.mean, mean[n], rtol=1e-8)
        np.testing.assert_allclose(found.std, std[n], rtol=1e-8)
    for m in (model, loaded):
        m.partial_fit(X[200:], Y[200:])
    np.testing.assert_array_equal(model.statistics_, loaded.statistics_)


def test_files_are_refused_where_their_features_are_not_registered(
    registered, curved, tmp_path, monkeypatch
):
    model = ILR(2, features="waves").fit(*curved)
    model.save(tmp_path / "model.npz")
    model.predictor().save(tmp_path / "model.predictor")
    monkeypatch.setattr(features, "_registered", {})
    with pytest.raises(SnapshotError, match="'waves'.*register_features"):
        load_snapshot(tmp_path / "model.npz")
    with pytest.raises(SnapshotError, match="'waves'.*register_features"):
        Predictor.open(tmp_path / "model.predictor")


def test_files_are_refused_where_their_features_have_another_number(registered, curved, tmp_path):
    model = ILR(2, features="waves").fit(*curved)
    model.save(tmp_path / "model.npz")
    registered("waves", np.sin)
    with pytest.raises(SnapshotError):
        load_snapshot(tmp_path / "model.npz")


@pytest.mark.parametrize("name", ["cubic", "Polynomial", None, 3])
def test_unknown_features_are_refused_with_those_known(registered, curved, name):
    with pytest.raises(InvalidParameterError, match="'linear', 'polynomial', 'waves'"):
        ILR(features=name).fit(*curved)


@pytest.mark.parametrize("name", ["linear", "polynomial"])
def test_names_of_the_package_cannot_be_taken(registered, name):
    with pytest.raises(InvalidParameterError, match="own"):
        registered(name, waves)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_features_that_are_not_finite_are_refused(registered, curved, value):
    X, Y = curved
    registered("holes", lambda X: np.where(X[:, :1] > 3.0, value, X[:, :1]))
    with pytest.raises(InvalidParameterError, match="'holes' are not finite"):
        ILR(features="holes").fit(X, Y)
    inside = X[:, 0] < 3.0
    model = ILR(2, features="holes").fit(X[inside], Y[inside])
    with pytest.raises(InvalidParameterError, match="'holes' are not finite"):
        model.predict(X)


@pytest.mark.parametrize(
    "function",
    [
        lambda X: X[:, 0],
        lambda X: X[:-1],
        lambda X: X[:, :0],
        lambda X: np.ones((len(X), MAX_FEATURES + 1)),
    ],
    ids=["one dimension", "too few rows", "no columns", "too many columns"],
)
def test_features_of_another_shape_are_refused(registered, curved, function):
    registered("odd", function)
    with pytest.raises(InvalidParameterError, match="'odd' must have shape"):
        ILR(features="odd").fit(*curved)


@pytest.mark.parametrize(("n_inputs", "degree"), [(2, 44), (21, 3), (21, 30), (1, 10**9)])
def test_polynomials_of_too_many_terms_are_refused_before_any_is_made(n_inputs, degree):
    X = np.random.default_rng(0).normal(size=(20, n_inputs))
    with pytest.raises(InvalidParameterError, match=f"degree {degree} in {n_inputs} inputs"):
        ILR(features="polynomial", degree=degree).fit(X, X[:, :1])


def test_as_many_terms_as_allowed_are_allowed():
    X = np.zeros((1, 1))
    assert regressors(X, "polynomial", MAX_FEATURES + 1)(X).shape == (1, MAX_FEATURES + 2)
