# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ilr_dynamics.exceptions import InvalidDataError, InvalidParameterError
from ilr_dynamics.regression import ILR, BatchInference, Prior, Scaling

# Scales of the whole range that later batches will cover, as a robot's joint limits give them.
STANDARD = Scaling(input_location=0.0, input_scale=1.0, output_location=0.0, output_scale=1.0)
RANGE = {
    "scaling": replace(STANDARD, input_location=18.0, input_scale=12.0),
    "prior": Prior(input_spread=0.05),
}


def region(centre, n=200, seed=0):
    generator = np.random.default_rng(seed)
    X = centre + generator.uniform(-1.0, 1.0, (n, 1))
    return X, np.sin(2.0 * X) + 0.05 * generator.normal(size=X.shape)


def rms_error(model, X):
    return float(np.sqrt(np.mean((model.predict(X) - np.sin(2.0 * X)) ** 2)))


def test_first_partial_fit_is_fit(motion):
    a = ILR(n_components=10).partial_fit(*motion)
    b = ILR(n_components=10).fit(*motion)
    np.testing.assert_array_equal(a.statistics_, b.statistics_)


@settings(max_examples=10)
@given(st.integers(0, 2**32 - 1))
def test_with_one_component_batches_add_up_to_one_fit(seed):
    # One component and samples without outliers: none is novel to it, every responsibility is one.
    generator = np.random.default_rng(seed)
    angle = generator.uniform(0.0, 2.0 * np.pi, 90)
    X = np.column_stack([np.cos(angle), np.sin(angle)])
    Y = X @ [[0.5], [-0.3]] + 0.05 * generator.choice([-1.0, 1.0], (90, 1))
    weights = generator.uniform(0.1, 3.0, 90)
    settings = {
        "n_components": 1,
        "prior": Prior(input_spread=1.0, input_strength=50.0, noise_strength=50.0),
        "inference": BatchInference(fit_scales=False),
        "scaling": STANDARD,
    }
    whole = ILR(**settings).fit(X, Y, weights)
    parts = ILR(**settings)
    for rows in (slice(0, 30), slice(30, 70), slice(70, 90)):
        parts.partial_fit(X[rows], Y[rows], weights[rows])
    assert parts.statistics_.shape == whole.statistics_.shape
    np.testing.assert_allclose(parts.statistics_, whole.statistics_, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(parts.predict(X), whole.predict(X), rtol=1e-8, atol=1e-10)


def test_every_sample_is_counted_once(motion):
    X, Y = motion
    model = ILR(n_components=10, random_state=1)
    for start in range(0, 400, 100):
        model.partial_fit(X[start : start + 100], Y[start : start + 100])
        assert np.sum(model.prior_.counts(model.statistics_)) == pytest.approx(
            start + 100.0, rel=1e-9
        )
    A = np.column_stack(
        [model.regressors_.scaling.transform(X), np.ones(400), model.output_scaling_.transform(Y)]
    )
    np.testing.assert_allclose(model.statistics_.sum(axis=0), A.T @ A, rtol=1e-9, atol=1e-9)
    assert model.n_samples_ == 400


def test_learning_elsewhere_does_not_harm_what_is_known():
    X, Y = region(0.0)
    model = ILR(n_components=20, **RANGE).fit(X, Y)
    before = rms_error(model, X)
    predicted, std = model.predict(X, return_std=True)
    for k in range(1, 5):
        model.partial_fit(*region(4.0 * k, seed=k))
    assert rms_error(model, X) < 1.1 * before + 1e-3
    later, later_std = model.predict(X, return_std=True)
    assert np.max(np.abs(later - predicted)) < 0.02
    assert np.median(later_std / std) == pytest.approx(1.0, abs=0.1)


def test_prior_and_scaling_stay_those_of_the_first_batch():
    model = ILR(n_components=20, inference=BatchInference(fit_scales=False)).fit(*region(0.0))
    prior, regressors, outputs = model.prior_, model.regressors_, model.output_scaling_
    kept = [prior.region.inverse_scale.copy(), prior.regression.inverse_scale.copy()]
    model.partial_fit(*region(5.0))
    assert model.prior_ is prior
    assert model.regressors_ is regressors
    assert model.output_scaling_ is outputs
    np.testing.assert_array_equal(prior.region.inverse_scale, kept[0])
    np.testing.assert_array_equal(prior.regression.inverse_scale, kept[1])


def test_fitted_scales_follow_all_data_and_leave_the_earlier_prior_untouched():
    model = ILR(n_components=20).fit(*region(0.0))
    prior, regressors = model.prior_, model.regressors_
    kept = [prior.region.inverse_scale.copy(), prior.regression.inverse_scale.copy()]
    model.partial_fit(*region(5.0))
    assert model.regressors_ is regressors
    assert np.all(model.prior_.regression.scales() != prior.regression.scales())
    np.testing.assert_array_equal(prior.region.inverse_scale, kept[0])
    np.testing.assert_array_equal(prior.regression.inverse_scale, kept[1])


def test_the_tenth_batch_opens_components_like_the_first():
    model = ILR(n_components=20, inference=BatchInference(max_iterations=40), **RANGE)
    n_active = []
    for k in range(10):
        X, Y = region(4.0 * k, seed=k)
        model.partial_fit(X, Y)
        assert rms_error(model, X) < 0.15
        n_active.append(model.n_active_)
    assert np.all(np.diff(n_active) >= 2)


@pytest.fixture(scope="module")
def two_lines():
    """Two components far apart, each a line with noise of its own."""
    generator = np.random.default_rng(8)
    X = np.repeat([-5.0, 5.0], [300, 200])[:, None] + generator.normal(size=(500, 1))
    Y = np.where(X < 0.0, X, -2.0 * X) + 0.1 * generator.normal(size=X.shape)
    model = ILR(2, scaling=STANDARD, inference=BatchInference(fit_scales=False)).fit(X, Y)
    np.testing.assert_allclose(model.prior_.counts(model.statistics_), [300.0, 200.0])
    return model


def initial_labels(model, X, Y, n_components=4):
    Z = np.column_stack([X, np.ones(len(X)), Y])
    learner = ILR(n_components, scaling=STANDARD)._learner()
    generator = np.random.default_rng(0)
    return learner._initial_labels(Z, np.ones(len(X)), model._knowledge, generator)


def test_samples_begin_in_the_most_probable_component_to_which_they_are_not_novel(two_lines):
    X = np.array([[-5.0], [5.0], [-4.0], [5.5], [-6.5]])
    labels, n_opened = initial_labels(two_lines, X, np.where(X < 0.0, X, -2.0 * X))
    np.testing.assert_array_equal(labels, [0, 1, 0, 1, 0])
    assert n_opened == 0


@pytest.mark.parametrize(
    ("x", "y"), [(-5.0, -4.0), (-8.5, -8.5), (5.0, -5.0), (0.0, 0.0)], ids=str
)
def test_samples_that_are_novel_to_all_components_open_new_ones(two_lines, x, y):
    # By its output, by its input, by the relation of the other component, by all.
    X, Y = np.array([[-5.0], [x], [x], [5.0]]), np.array([[-5.0], [y], [y], [-10.0]])
    labels, n_opened = initial_labels(two_lines, X, Y)
    np.testing.assert_array_equal(labels, [0, 2, 2, 1])
    assert n_opened == 1


def test_components_are_opened_in_proportion_to_what_is_novel(two_lines):
    X = np.concatenate([np.full((30, 1), -5.0), np.linspace(20.0, 40.0, 10)[:, None]])
    Y = np.concatenate([np.full((30, 1), -5.0), np.zeros((10, 1))])
    for n_components, expected in ((1, 1), (4, 1), (12, 3), (40, 10)):
        labels, n_opened = initial_labels(two_lines, X, Y, n_components)
        assert n_opened == expected
        np.testing.assert_array_equal(labels[:30], 0)
        assert set(labels[30:]) == set(range(2, 2 + expected))


def test_the_same_region_again_opens_next_to_nothing():
    model = ILR(n_components=20, **RANGE).fit(*region(0.0))
    n_active = model.n_active_
    for seed in range(1, 5):
        model.partial_fit(*region(0.0, seed=seed))
    assert model.n_active_ <= n_active + 2
    assert rms_error(model, region(0.0)[0]) < 0.1


def test_integer_weights_equal_repeated_rows(motion):
    X, Y = motion[0][::4], motion[1][::4]
    repeats = np.random.default_rng(0).integers(1, 4, len(X))
    rows = np.repeat(np.arange(len(X)), repeats)
    scaling = replace(STANDARD, input_scale=[1.0, 200.0], output_scale=50.0)
    settings = {"n_components": 1, "scaling": scaling}
    weighted = ILR(**settings).fit(X, Y, repeats.astype(float))
    repeated = ILR(**settings).fit(X[rows], Y[rows])
    np.testing.assert_allclose(weighted.statistics_, repeated.statistics_, rtol=1e-10)
    np.testing.assert_allclose(weighted.lower_bounds_[-1], repeated.lower_bounds_[-1], rtol=1e-10)


def test_integer_weights_equal_repeated_rows_when_components_compete(motion):
    X, Y = motion[0][::4], motion[1][::4]
    weighted = ILR(n_components=6, inference=BatchInference(tolerance=1e-13, max_iterations=500))
    repeated = ILR(n_components=6, inference=BatchInference(tolerance=1e-13, max_iterations=500))
    weighted.fit(X, Y, np.full(len(X), 3.0))
    repeated.fit(np.repeat(X, 3, axis=0), np.repeat(Y, 3, axis=0))
    # Seeds are drawn from other lists of points, so the optima may differ in detail.
    assert weighted.lower_bounds_[-1] == pytest.approx(repeated.lower_bounds_[-1], rel=0.05)
    assert weighted.log_predictive_density(X, Y).mean() == pytest.approx(
        repeated.log_predictive_density(X, Y).mean(), abs=0.2
    )


def test_rows_of_weight_zero_do_not_exist(motion):
    X, Y = motion
    weights = np.ones(len(X))
    weights[::3] = 0.0
    dirty = X.copy()
    dirty[::3] = 1e6
    a = ILR(n_components=8).fit(dirty, Y, weights)
    b = ILR(n_components=8).fit(X[weights > 0.0], Y[weights > 0.0])
    np.testing.assert_array_equal(a.statistics_, b.statistics_)


def state_of(model):
    names = [name for name in vars(model) if name.startswith("_") or name.endswith("_")]
    return {name: getattr(model, name) for name in names}


@pytest.mark.parametrize("method", ["fit", "partial_fit"])
def test_a_failed_call_leaves_the_model_as_it_was(motion, method):
    model = ILR(n_components=5).fit(*motion)
    before, predicted = state_of(model), model.predict(motion[0])
    bad = motion[0].copy()
    bad[7, 1] = np.nan
    with pytest.raises(InvalidDataError, match="row 7, column 1"):
        getattr(model, method)(bad, motion[1])

    def cancel(*_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        getattr(model, method)(*motion, callback=cancel)
    model.set_params(forgetting_factor=-1.0)
    with pytest.raises(InvalidParameterError, match="forgetting_factor"):
        getattr(model, method)(*motion)
    after = state_of(model)
    assert after.keys() == before.keys()
    assert all(after[name] is before[name] for name in before)
    np.testing.assert_array_equal(model.predict(motion[0]), predicted)


def test_a_failed_first_fit_leaves_the_model_unfitted(motion):
    model = ILR(n_components=0)
    with pytest.raises(InvalidParameterError, match="n_components"):
        model.fit(*motion)
    assert state_of(model) == {}


def test_later_batches_need_the_same_columns(motion):
    model = ILR(n_components=3).fit(*motion)
    with pytest.raises(InvalidDataError, match="X has 1 features.*2"):
        model.partial_fit(motion[0][:, :1], motion[1])
    with pytest.raises(InvalidDataError, match="Y has 1 targets.*2"):
        model.partial_fit(motion[0], motion[1][:, :1])


def test_nothing_is_forgotten_by_default_and_half_with_a_factor_of_a_half():
    generator = np.random.default_rng(3)
    X = generator.uniform(-1.0, 1.0, (200, 1))
    Y = X + 0.1 * generator.normal(size=X.shape)
    for factor, weight in ((1.0, 400.0), (0.5, 300.0)):
        model = ILR(n_components=5, forgetting_factor=factor).fit(X, Y).partial_fit(X, Y)
        assert model.prior_.counts(model.statistics_).sum() == pytest.approx(weight)


def test_a_changed_relation_is_followed_sooner_with_forgetting():
    generator = np.random.default_rng(4)
    X = generator.uniform(-1.0, 1.0, (300, 1))
    noise = 0.05 * generator.normal(size=X.shape)
    error = {}
    for factor in (1.0, 0.1):
        model = ILR(n_components=1, forgetting_factor=factor).fit(X, X + noise)
        model.partial_fit(X, 2.0 * X + noise)
        error[factor] = np.mean((model.predict(X) - 2.0 * X) ** 2)
    assert error[0.1] < 0.1 * error[1.0]


@pytest.mark.parametrize("factor", [0.0, 1.5, np.nan])
def test_forgetting_factor_out_of_range_is_refused_and_changes_nothing(factor):
    X = np.linspace(-1.0, 1.0, 50)[:, None]
    model = ILR(n_components=3).fit(X, X)
    before = model.predict(X)
    model.set_params(forgetting_factor=factor)
    with pytest.raises(InvalidParameterError, match="forgetting_factor"):
        model.partial_fit(X, -X)
    np.testing.assert_array_equal(model.predict(X), before)


def test_values_whose_squares_overflow_are_refused_by_size():
    X = np.linspace(-1.0, 1.0, 50)[:, None]
    model = ILR(n_components=3).fit(X, X)
    with pytest.raises(InvalidDataError, match="scales from the location"):
        model.partial_fit(1e200 * X, X)
