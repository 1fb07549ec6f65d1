# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""What the compiled mixture takes and refuses; what it answers is in the other files."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from ilr_dynamics.exceptions import InvalidDataError
from ilr_dynamics.regression import ILR, LinearGlobalModel
from ilr_dynamics.regression.prediction._mixture import Mixture

M, D = 3, 2


@pytest.fixture(scope="module")
def model():
    generator = np.random.default_rng(0)
    X = generator.normal(size=(400, M))
    Y = np.sin(2.0 * X[:, :D])
    return ILR(30, global_model=LinearGlobalModel(), learn_residual=True).fit(X, Y)


@pytest.fixture(scope="module")
def compiled(model):
    return model._predictive.compiled


def given_rows(model, n):
    return model._predictive._given(np.random.default_rng(1).normal(size=(n, M)))


def test_threads_that_ask_one_model_get_the_answers_of_one(model):
    X = np.random.default_rng(2).normal(size=(2000, M))
    expected = model.predict(X, return_std=True)
    predictor = model.predictor()
    one = [predictor.query(x).mean for x in X[:200]]

    def many(_):
        return model.predict(X, return_std=True)

    def single(_):
        return [predictor.query(x).mean for x in X[:200]]

    with ThreadPoolExecutor(4) as pool:
        batches, queries = pool.map(many, range(20)), pool.map(single, range(20))
        for mean, std in batches:
            np.testing.assert_array_equal(mean, expected[0])
            np.testing.assert_array_equal(std, expected[1])
        for means in queries:
            np.testing.assert_array_equal(means, one)


ANYTHING = st.one_of(
    st.none(),
    st.integers(),
    st.text(),
    arrays(
        st.sampled_from([np.float64, np.float32, np.intp]),
        array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=6),
    ),
    arrays(np.float64, (4, M)).map(lambda array: array[:, ::-1]),
)


@settings(max_examples=200, deadline=None)
@given(data=st.data())
def test_one_odd_argument_is_refused_or_asked_for_nothing_else(model, compiled, data):
    rows = list(given_rows(model, 4))
    answer = np.empty((4, 3 * D + 2))
    calls = {
        "moments": [*rows, False, answer],
        "components": [
            *rows, 0.1, np.empty((4, 5), np.intp), *np.empty((2, 4, 5)), *np.empty((2, 4, 5, D)),
        ],
    }  # fmt: skip
    name = data.draw(st.sampled_from(sorted(calls)))
    arguments = calls[name]
    arguments[data.draw(st.integers(0, len(arguments) - 1))] = data.draw(ANYTHING)
    try:
        getattr(compiled, name)(*arguments)
    except (TypeError, ValueError, BufferError):
        pass
    # And nothing is left of it.
    compiled.moments(*rows, False, answer)
    np.testing.assert_array_equal(answer, model._predictive.moments(rows[0]))


@pytest.mark.parametrize("name", ["moments", "components"])
def test_too_few_arguments_are_refused(compiled, name):
    with pytest.raises(TypeError, match="expected"):
        getattr(compiled, name)(np.zeros((1, M)))


@pytest.mark.parametrize("value", [1e200, np.nan, -np.inf])
def test_a_row_that_is_too_large_or_no_number_is_named(compiled, value):
    X = np.zeros((3, M))
    compiled.check(X)
    X[2, 0] = value
    with pytest.raises(InvalidDataError, match="row 2"):
        compiled.check(X)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("roots", lambda array: array[:-1]),
        ("roots", lambda array: array.astype(np.float32)),
        ("maps", lambda array: array[:, :, :2].copy()),
        ("boxes", lambda array: array[:0]),
        ("coordinates", lambda array: array.ravel()),
        ("numbers", lambda array: np.full_like(array, 1e9)),
        ("numbers", lambda array: array + 0.5),
        ("numbers", lambda array: np.full_like(array, np.nan)),
        ("splits", lambda array: np.full_like(array, -1.0)),
        ("variances", lambda array: None),
    ],
)
def test_arrays_that_do_not_fit_together_are_refused(model, name, change):
    parts = model._predictive._arrays()
    parts[name] = change(parts[name])
    with pytest.raises((ValueError, TypeError, BufferError)):
        Mixture(parts, True, 1.0)
    del parts[name]
    with pytest.raises(ValueError, match=name):
        Mixture(parts, True, 1.0)


def test_numbers_of_another_format_are_named_without_how_many(compiled):
    with pytest.raises(ValueError, match="X must hold numbers of format 'd', got 6 of 'f'"):
        compiled.check(np.zeros((2, 3), dtype=np.float32))
