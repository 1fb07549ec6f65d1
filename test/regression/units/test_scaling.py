# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ilr_dynamics.exceptions import InvalidDataError, InvalidParameterError
from ilr_dynamics.regression import ILR, BatchInference, Scaling
from ilr_dynamics.regression.units.scaling import Standardizer

ROWS = st.integers(0, 2**32 - 1).map(lambda s: np.random.default_rng(s).normal(size=(30, 3)))


def standardizer(data, weights=None, location=None, scale=None):
    weights = np.ones(len(data)) if weights is None else weights
    return Standardizer.from_data(data, weights, location, scale, "input")


@settings(max_examples=30)
@given(ROWS, st.floats(1e-6, 1e6), st.floats(-1e3, 1e3))
def test_standardised_data_have_mean_zero_and_deviation_one(data, scale, location):
    data = data * scale + location * scale
    found = standardizer(data).transform(data)
    np.testing.assert_allclose(found.mean(axis=0), 0.0, atol=1e-9)
    np.testing.assert_allclose(found.std(axis=0), 1.0, rtol=1e-9)


@settings(max_examples=30)
@given(ROWS)
def test_there_and_back_changes_nothing(data):
    scaling = standardizer(data, location=[1.0, -2.0, 1e3], scale=[1e-3, 1.0, 50.0])
    np.testing.assert_allclose(
        scaling.inverse_transform(scaling.transform(data)), data, rtol=1e-12, atol=1e-12
    )


def test_integer_weights_equal_repeated_rows():
    data, repeats = np.random.default_rng(0).normal(size=(20, 2)), np.arange(20) % 4 + 1
    weighted = standardizer(data, repeats.astype(float))
    repeated = standardizer(np.repeat(data, repeats, axis=0))
    np.testing.assert_allclose(weighted.location, repeated.location)
    np.testing.assert_allclose(weighted.scale, repeated.scale)


@settings(max_examples=30)
@given(st.floats(-1e9, 1e9), st.integers(1, 300))
def test_a_constant_column_keeps_its_unit(value, n):
    scaling = standardizer(np.full((n, 1), value))
    np.testing.assert_array_equal(scaling.scale, 1.0)


def test_one_number_serves_all_columns():
    scaling = standardizer(np.zeros((4, 3)), location=2.0, scale=5.0)
    np.testing.assert_array_equal(scaling.location, [2.0, 2.0, 2.0])
    np.testing.assert_array_equal(scaling.scale, [5.0, 5.0, 5.0])


@pytest.mark.parametrize("bad", [[1.0, 2.0], np.nan, [1.0, np.inf, 1.0], [[1.0, 1.0, 1.0]], "a"])
def test_malformed_scales_are_refused_by_name(bad):
    with pytest.raises(InvalidParameterError, match="input_scale"):
        standardizer(np.zeros((4, 3)), scale=bad)
    with pytest.raises(InvalidParameterError, match="input_location"):
        standardizer(np.zeros((4, 3)), location=bad)


@pytest.mark.parametrize("bad", [0.0, [1.0, -1.0, 1.0]])
def test_scales_must_be_positive(bad):
    with pytest.raises(InvalidParameterError, match="input_scale must be positive"):
        standardizer(np.zeros((4, 3)), scale=bad)


@pytest.mark.parametrize("size", [1e160, 1e308])
def test_columns_whose_squares_overflow_are_named(motion, size):
    X, Y = motion
    growth = [1.0, size / 300.0]
    with pytest.raises(InvalidDataError, match="input column 1 .* squares are finite"):
        ILR(n_components=2).fit(X * growth, Y)
    with pytest.raises(InvalidDataError, match="output column 1 .* squares are finite"):
        ILR(n_components=2).fit(X, Y * growth)


def test_a_model_in_other_units_says_the_same(motion):
    X, Y = motion
    # Powers of two scale exactly; the shifts leave rounding, so few iterations are compared.
    x_scale, x_shift = np.array([0.25, 4096.0]), np.array([5.0, -70.0])
    y_scale, y_shift = np.array([1024.0, 0.125]), np.array([-3.0, 200.0])
    settings = {"n_components": 8, "inference": BatchInference(max_iterations=5)}
    here = ILR(**settings).fit(X, Y)
    there = ILR(**settings).fit(X * x_scale + x_shift, Y * y_scale + y_shift)
    queries = np.concatenate([X[::40], [[10.0, 2000.0]]])
    mean, std = here.predict(queries, return_std=True)
    other_mean, other_std = there.predict(queries * x_scale + x_shift, return_std=True)
    np.testing.assert_allclose(other_mean, mean * y_scale + y_shift, rtol=1e-7, atol=1e-6)
    np.testing.assert_allclose(other_std, std * y_scale, rtol=1e-7)
    density = here.log_predictive_density(X[::40], Y[::40])
    other_density = there.log_predictive_density(
        X[::40] * x_scale + x_shift, Y[::40] * y_scale + y_shift
    )
    np.testing.assert_allclose(other_density, density - np.sum(np.log(y_scale)), atol=1e-6)
    for mine, theirs in zip(
        here.predict_interval(queries),
        there.predict_interval(queries * x_scale + x_shift),
        strict=True,
    ):
        np.testing.assert_allclose(theirs, mine * y_scale + y_shift, rtol=1e-6, atol=1e-5)


def test_given_scales_are_used_and_kept(motion):
    X, Y = motion
    scaling = Scaling(input_location=[3.0, 0.0], input_scale=[2.0, 300.0], output_scale=7.0)
    model = ILR(n_components=4, scaling=scaling).fit(X[:50], Y[:50])
    model.partial_fit(X[50:], Y[50:])
    np.testing.assert_array_equal(model.regressors_.scaling.location, [3.0, 0.0])
    np.testing.assert_array_equal(model.regressors_.scaling.scale, [2.0, 300.0])
    np.testing.assert_array_equal(model.output_scaling_.scale, [7.0, 7.0])
    np.testing.assert_allclose(model.output_scaling_.location, Y[:50].mean(axis=0))


def test_constant_inputs_and_outputs_are_learned(motion):
    X = np.column_stack([motion[0], np.full(400, 9.81)])
    Y = np.column_stack([motion[1][:, 0], np.full(400, -4.0)])
    model = ILR(n_components=8).fit(X, Y)
    mean, std = model.predict(X, return_std=True)
    np.testing.assert_allclose(mean[:, 1], -4.0, atol=1e-9)
    assert np.all(np.isfinite(std))
    assert np.corrcoef(mean[:, 0], Y[:, 0])[0, 1] > 0.9
