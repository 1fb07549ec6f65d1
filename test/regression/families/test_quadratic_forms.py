# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from ilr_dynamics.regression.families.quadratic_forms import (
    form_coefficients,
    pairwise_products,
    scatter_matrices,
)

SAMPLES = st.integers(1, 6).flatmap(
    lambda p: arrays(float, (5, p), elements=st.floats(-1e3, 1e3, width=32))
)


@settings(max_examples=30)
@given(SAMPLES)
def test_products_are_the_upper_triangle_of_each_outer_product(Z):
    rows, columns = np.triu_indices(Z.shape[1])
    expected = np.stack([np.outer(z, z)[rows, columns] for z in Z])
    np.testing.assert_array_equal(pairwise_products(Z), expected)


@settings(max_examples=30)
@given(SAMPLES, st.integers(0, 2**32 - 1))
def test_products_times_coefficients_are_the_quadratic_forms(Z, seed):
    A = np.random.default_rng(seed).normal(size=(3, Z.shape[1], Z.shape[1]))
    forms = A + np.swapaxes(A, 1, 2)
    values = pairwise_products(Z) @ form_coefficients(forms).T
    expected = np.array([[z @ Q @ z for Q in forms] for z in Z])
    size = np.array([[np.abs(z) @ np.abs(Q) @ np.abs(z) for Q in forms] for z in Z])
    assert np.all(np.abs(values - expected) <= 1e-13 * size)


@settings(max_examples=30)
@given(SAMPLES, st.integers(0, 2**32 - 1))
def test_weighted_sums_of_products_unpack_to_scatter_matrices(Z, seed):
    R = np.random.default_rng(seed).uniform(size=(Z.shape[0], 2))
    S = scatter_matrices(R.T @ pairwise_products(Z), Z.shape[1])
    for k in range(2):
        expected = sum(r * np.outer(z, z) for r, z in zip(R[:, k], Z, strict=True))
        np.testing.assert_allclose(S[k], expected, rtol=1e-12, atol=1e-9)
        np.testing.assert_array_equal(S[k], S[k].T)


@pytest.mark.parametrize("p", [1, 2, 7])
def test_forms_survive_packing(p):
    A = np.random.default_rng(p).normal(size=(4, p, p))
    forms = A + np.swapaxes(A, 1, 2)
    rows, columns = np.triu_indices(p)
    packed = form_coefficients(forms) / np.where(rows == columns, 1.0, 2.0)
    np.testing.assert_array_equal(scatter_matrices(packed, p), forms)
