# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest
from scipy.sparse import csr_array

from ilr_dynamics.exceptions import InvalidDataError, InvalidParameterError
from ilr_dynamics.regression import ILR, BatchInference, Scaling, StochasticInference

X = np.random.default_rng(0).normal(size=(20, 2))
Y = X @ np.ones((2, 1))


def scheme_with(name):
    """Scheme of inference that has the parameter, if it is one of inference."""
    has_it = hasattr(StochasticInference, name.removeprefix("inference__"))
    return StochasticInference() if has_it else BatchInference()


def changed(array, index, value):
    copy = array.copy()
    copy[index] = value
    return copy


@pytest.mark.parametrize(
    ("X", "Y", "message"),
    [
        (changed(X, (3, 1), np.nan), Y, "X .* neither NaN nor inf, got nan at row 3, column 1"),
        (X, changed(Y, (19, 0), -np.inf), "Y .* NaN nor inf, got -inf at row 19, column 0"),
        (X[:, 0], Y, r"X must have two dimensions .* got shape \(20,\)"),
        (X, Y[:, 0], r"Y must have two dimensions .* got shape \(20,\). Reshape your data"),
        (X[None], Y, "X must have two dimensions"),
        (X[:0], Y[:0], r"X must not be empty, got 0 sample\(s\)"),
        (X[:, :0], Y, r"X must not be empty, got 0 feature\(s\)"),
        (X, Y[:, :0], r"Y must not be empty, got 0 target\(s\)"),
        (X[:19], Y, "X has 19 rows, but Y has 20"),
        ([["a", "b"]], [[1.0]], "X must be an array of real numbers"),
        ([[1.0, 2.0], [3.0]], [[1.0], [2.0]], "X must be an array of real numbers"),
        (X + 1j, Y, "X must be an array of real numbers: Complex .* got complex128"),
        (None, Y, "X must"),
        (X, None, "requires y to be passed"),
        (csr_array(X), Y, "X must be a dense array, got a sparse csr_array"),
    ],
)
def test_malformed_data_are_refused(X, Y, message):
    with pytest.raises(InvalidDataError, match=message):
        ILR().fit(X, Y)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (np.ones(19), r"shape \(20,\), got \(19,\)"),
        (np.ones((20, 1)), r"shape \(20,\), got \(20, 1\)"),
        (changed(np.ones(20), 4, -1.0), "not negative"),
        (changed(np.ones(20), 4, np.nan), "finite"),
        (np.zeros(20), "not all zero"),
        ("heavy", "sample_weight must be an array of real numbers"),
    ],
)
def test_malformed_weights_are_refused(weights, message):
    with pytest.raises(InvalidDataError, match=message):
        ILR().fit(X, Y, weights)


@pytest.mark.parametrize(
    "parameters",
    [
        {"n_components": 0},
        {"n_components": 2.5},
        {"n_components": True},
        {"n_components": "many"},
        {"prior__concentration": 0.0},
        {"prior__input_spread": -1.0},
        {"prior__input_strength": 0.0},
        {"prior__noise_std": np.nan},
        {"prior__noise_strength": np.inf},
        {"prior__slope_scale": None},
        {"prior__centre_spread": 0.0},
        {"inference__n_restarts": 0},
        {"degree": 0},
        {"degree": 2.5},
        {"features": "cubic"},
        {"features": None},
        {"prior": 3.0},
        {"scaling": "standard"},
        {"calibration_share": 0.6},
        {"learn_residual": 1},
        {"inference__fit_scales": "inputs"},
        {"inference__fit_scales": None},
        {"inference__fit_scales": 1},
        {"inference__fit_concentration": "yes"},
        {"inference__fit_scales": np.ones(2)},
        {"features": np.array(["a", "b"])},
        {"inference__merge": "no"},
        {"inference__merge": None},
        {"inference": "online"},
        {"inference": np.array(["batch", "batch"])},
        {"inference__batch_size": 0},
        {"inference__step_delay": "a"},
        {"inference__step_delay": -1.0},
        {"inference__step_rate": 0.5},
        {"inference__step_rate": 1.5},
        {"forgetting_factor": 0.0},
        {"forgetting_factor": 1.5},
        {"global_model": "physics"},
        {"inference__max_iterations": 0},
        {"inference__tolerance": 0.0},
        {"inference__tolerance": "fine"},
        {"scaling__input_scale": [1.0, 0.0]},
        {"scaling__input_location": [1.0, 2.0, 3.0]},
        {"scaling__output_scale": -2.0},
        {"random_state": "seed"},
        {"random_state": -1},
    ],
    ids=str,
)
def test_parameters_out_of_range_are_refused_by_name_and_value(parameters):
    ((name, value),) = parameters.items()
    with pytest.raises(InvalidParameterError, match=name.rpartition("__")[2]) as caught:
        ILR(inference=scheme_with(name)).set_params(**parameters).fit(X, Y)
    assert repr(value) in str(caught.value)


@pytest.mark.parametrize(
    "parameters",
    [
        {"n_components": 0},
        {"degree": 0},
        {"features": "cubic"},
        {"forgetting_factor": 1.5},
        {"inference__step_delay": "a"},
        {"inference__step_rate": 2.0},
        {"inference__batch_size": 0.5},
        {"inference__merge": "no"},
        {"inference__fit_scales": np.ones(2)},
        {"global_model": 3.0},
        {"prior__noise_std": -1.0},
    ],
    ids=str,
)
def test_parameters_are_checked_before_learning_on_too(parameters):
    (name,) = parameters
    model = ILR(n_components=2, inference=scheme_with(name)).fit(X, Y)
    before = model.predict(X)
    with pytest.raises(InvalidParameterError, match=name.rpartition("__")[2]):
        model.set_params(**parameters).partial_fit(X, Y)
    np.testing.assert_array_equal(model.predict(X), before)


def test_switches_of_numpy_are_as_good_as_those_of_python():
    plain = ILR(n_components=3, inference=BatchInference(merge=True, fit_scales=False)).fit(X, Y)
    numpy = ILR(
        n_components=3, inference=BatchInference(merge=np.True_, fit_scales=np.False_)
    ).fit(X, Y)
    np.testing.assert_array_equal(plain.statistics_, numpy.statistics_)


def test_integers_and_lists_are_as_good_as_float_arrays():
    as_floats = ILR(n_components=3).fit([[1.0], [2.0], [4.0]], [[1.0], [3.0], [2.0]])
    as_integers = ILR(n_components=np.int64(3)).fit([[1], [2], [4]], [[1], [3], [2]])
    np.testing.assert_array_equal(as_floats.statistics_, as_integers.statistics_)


def test_one_sample_is_enough():
    model = ILR().fit([[1.0, 2.0]], [[5.0]])
    mean, std = model.predict([[1.0, 2.0]], return_std=True)
    assert mean[0, 0] == pytest.approx(5.0, abs=0.2)
    assert std[0, 0] > 0.0


@pytest.mark.parametrize("size", [1e-12, 1e9])
def test_weights_of_any_size_leave_a_model(size):
    model = ILR(n_components=4).fit(X, Y, np.full(20, size))
    assert np.sum(model.prior_.counts(model.statistics_)) == pytest.approx(20 * size, rel=0.9)
    assert np.all(np.isfinite(model.predict(X)))


def test_rounding_that_eats_the_prior_is_told_and_not_left_to_numpy():
    with pytest.raises(InvalidDataError, match="double precision"):
        ILR(scaling=Scaling(input_location=0.0, input_scale=1.0)).fit(X + 1e10, Y)


def test_weights_that_eat_the_prior_are_told():
    with pytest.raises(InvalidDataError, match="sample weights"):
        ILR().fit(X, Y, np.full(20, 1e12))


@pytest.mark.parametrize("size", [1e31, 1e100, 1e155, 1e308])
@pytest.mark.parametrize("features", ["linear", "polynomial"])
def test_queries_whose_squares_overflow_are_refused_by_size(size, features):
    model = ILR(n_components=2, features=features).fit(X, Y)
    x = [0.0, size]
    for ask in (model.predict, model.responsibilities, model.predict_components):
        with pytest.raises(InvalidDataError, match="scales from the location"):
            ask([x])
    with pytest.raises(InvalidDataError, match="scales from the location"):
        model.predictor()(x)


@pytest.mark.parametrize(("features", "size"), [("linear", 1e29), ("polynomial", 1e29)])
def test_queries_as_far_as_allowed_have_an_answer(features, size):
    model = ILR(n_components=2, features=features, scaling=Scaling(input_scale=1.0)).fit(X, Y)
    mean, std = model.predict([[0.0, size]], return_std=True)
    found = model.predictor()([0.0, size])
    assert np.all(np.isfinite([mean, std, found[0][None], found[1][None]]))


@pytest.mark.parametrize("coverage", [0.0, 1.0, -0.5, np.nan])
def test_coverage_must_lie_between_zero_and_one(model, coverage):
    with pytest.raises(InvalidParameterError, match="coverage"):
        model.predict_interval(X, coverage)


def test_unknown_modes_are_refused(model):
    with pytest.raises(InvalidParameterError, match="'median'"):
        model.predict(X, mode="median")
