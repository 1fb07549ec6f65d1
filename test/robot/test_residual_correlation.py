# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from matern_process import correlation, states

from ilr_dynamics.robot.residual_correlation import ResidualCorrelation


def test_correlation_is_that_of_the_formula():
    X = states(12, 3, 2)
    found = ResidualCorrelation(0.3, 1.5, 0.4).between(X, X[:5])
    np.testing.assert_allclose(found, correlation(X, 0.3, 1.5)[:, :5], atol=1e-7)


@given(
    st.integers(1, 15),
    st.integers(0, 1000),
    st.floats(0.01, 10.0),
    st.floats(0.03, 50.0),
)
def test_correlations_are_those_of_a_process(n, seed, position_length, velocity_length):
    X = states(n, 2, seed)
    rho = ResidualCorrelation(position_length, velocity_length).between(X, X)
    np.testing.assert_allclose(np.diag(rho), 1.0, atol=1e-6)
    np.testing.assert_allclose(rho, rho.T, atol=1e-12)
    assert np.all((rho >= 0.0) & (rho <= 1.0))
    assert np.linalg.eigvalsh(rho).min() > -1e-6
