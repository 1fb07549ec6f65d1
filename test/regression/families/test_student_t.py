# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest
from scipy.stats import multivariate_t

from ilr_dynamics.regression.families import student_t


@pytest.mark.parametrize("d", [1, 3])
def test_densities_are_those_of_scipy(d):
    generator = np.random.default_rng(d)
    A = generator.normal(size=(4, d, d))
    shapes, dofs = A @ np.swapaxes(A, 1, 2) + np.eye(d), np.array([0.5, 3.0, 40.0, 1e6])
    deviations, widening = 3.0 * generator.normal(size=(4, d)), np.array([1.0, 1.5, 7.0, 1e3])
    solved = np.linalg.solve(shapes, deviations[:, :, None])[:, :, 0]
    distances = np.sum(deviations * solved, axis=1) / widening
    constants = student_t.log_constants(np.linalg.cholesky(shapes), dofs)
    found = student_t.log_densities(constants, dofs, d, widening, distances)
    expected = [
        multivariate_t(shape=factor * shape, df=dof).logpdf(deviation)
        for factor, shape, dof, deviation in zip(widening, shapes, dofs, deviations, strict=True)
    ]
    np.testing.assert_allclose(found, expected, rtol=1e-9)
