# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ilr_dynamics.exceptions import InvalidDataError
from ilr_dynamics.regression.families import _linear_algebra
from ilr_dynamics.regression.families.linear_algebra import (
    cholesky,
    inverse_from_cholesky,
    inverse_triangular,
)

SEEDS, SIZES = st.integers(0, 2**32 - 1), st.integers(1, 20)


def definite(seed, n, p):
    """Matrices (n, p, p) of sizes between 1e-6 and 1e6."""
    generator = np.random.default_rng(seed)
    roots = generator.normal(size=(n, p, p + 2))
    return roots @ np.swapaxes(roots, 1, 2) * 10.0 ** generator.uniform(-6.0, 6.0, (n, 1, 1))


@settings(max_examples=40)
@given(SEEDS, st.integers(0, 20), SIZES)
def test_factors_and_inverses_are_those_of_lapack(seed, n, p):
    A = definite(seed, n, p)
    factors, size = cholesky(A), np.sqrt(np.max(A, axis=(1, 2), keepdims=True))
    np.testing.assert_allclose(factors / size, np.linalg.cholesky(A) / size, rtol=0.0, atol=1e-9)
    inverses = inverse_triangular(factors)
    np.testing.assert_array_equal(inverses, np.tril(inverses))
    expected = np.linalg.inv(factors)
    scale = np.abs(expected).max(axis=(1, 2), keepdims=True)
    np.testing.assert_allclose(inverses / scale, expected / scale, rtol=0.0, atol=1e-9)
    np.testing.assert_allclose(
        inverse_from_cholesky(factors) @ A, np.tile(np.eye(p), (n, 1, 1)), atol=1e-6
    )


def test_only_the_lower_triangle_is_read_wherever_it_lies():
    A = definite(0, 9, 5)
    upper = A + np.triu(np.full((5, 5), np.nan), 1)
    np.testing.assert_array_equal(cholesky(upper), cholesky(A))
    np.testing.assert_array_equal(cholesky(A[::2, :3, :3]), cholesky(A[::2, :3, :3].copy()))
    np.testing.assert_array_equal(cholesky(A[4]), cholesky(A)[4])
    np.testing.assert_array_equal(cholesky(A.reshape(3, 3, 5, 5)).reshape(9, 5, 5), cholesky(A))


@pytest.mark.parametrize("value", [0.0, -1.0, np.nan, -np.inf])
@pytest.mark.parametrize("number", [0, 7, 8, 10])
def test_one_that_is_not_definite_is_refused(number, value):
    A = definite(1, 11, 4)
    A[number, 2, 2] = value
    with pytest.raises(InvalidDataError, match="not positive definite"):
        cholesky(A)


@pytest.mark.parametrize("name", ["cholesky", "inverse_triangular"])
@pytest.mark.parametrize(
    ("matrices", "triangles"),
    [
        (np.zeros((2, 3, 4)), np.zeros((2, 3, 4))),
        (np.zeros((3, 3)), np.zeros((3, 3))),
        (np.eye(3)[None], np.zeros((1, 3, 2))),
        (np.eye(3, dtype=np.float32)[None], np.zeros((1, 3, 3))),
        (np.eye(4)[None, ::2, ::2], np.zeros((1, 2, 2))),
        (None, np.zeros((1, 2, 2))),
    ],
)
def test_arrays_of_other_kinds_are_refused(name, matrices, triangles):
    with pytest.raises((TypeError, ValueError, BufferError)):
        getattr(_linear_algebra, name)(matrices, triangles)
    with pytest.raises(TypeError, match="expected 2"):
        getattr(_linear_algebra, name)(matrices)
