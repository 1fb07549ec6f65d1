# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ilr_dynamics.exceptions import InvalidDataError
from ilr_dynamics.robot.consistent_parameters import (
    BARRIER_WEIGHT,
    DESCRIPTION_WEIGHT,
    consistent_parameters,
)
from ilr_dynamics.robot.pseudo_inertia import (
    inertial_parameters,
    made_definite,
    pseudo_inertia,
)

POSITIVE = np.array([20, 21])


def problem(seed, size=1.0):
    """Two bodies, two positive parameters and a free one; data that ask for what no body has."""
    random = np.random.default_rng(seed)
    bodies = []
    for _ in range(2):
        root = random.normal(size=(4, 4)) + np.eye(4)
        bodies.append(inertial_parameters(root @ root.T))
    described = made_definite(np.array(bodies))
    mean = np.append(described.ravel(), [0.1, -0.1, 0.5]) + size * random.normal(size=23)
    root = random.normal(size=(23, 23))
    return mean, 10.0 * root @ root.T + np.eye(23), described


def objective(theta, mean, precision, described):
    """As the module's docstring has it; infinite outside."""
    J, J_described = (pseudo_inertia(p.reshape(2, 10)) for p in (theta[:20], described.ravel()))
    if np.min(np.linalg.eigvalsh(J)) <= 0.0 or np.min(theta[POSITIVE]) <= 0.0:
        return np.inf
    bodies = sum(
        np.trace(np.linalg.solve(b, a)) - np.linalg.slogdet(a)[1]
        for a, b in zip(J, J_described, strict=True)
    )
    off = theta - mean
    barrier = np.sum(np.log(theta[POSITIVE]))
    return 0.5 * off @ precision @ off + DESCRIPTION_WEIGHT * bodies - BARRIER_WEIGHT * barrier


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_no_other_parameters_are_better(seed):
    mean, precision, described = problem(seed)
    found = consistent_parameters(mean, precision, described, POSITIVE)
    least = objective(found, mean, precision, described)
    assert np.isfinite(least)
    random = np.random.default_rng(seed)
    # Along the directions of the posterior, from next to it to far away.
    directions = np.linalg.solve(np.linalg.cholesky(precision).T, random.normal(size=(23, 60)))
    for step in (1e-3, 1e-2, 0.1, 1.0):
        for direction in directions.T:
            assert objective(found + step * direction, mean, precision, described) > least - 1e-7


def test_the_objective_is_flat_there():
    mean, precision, described = problem(3)
    found = consistent_parameters(mean, precision, described, POSITIVE)
    # In units of the standard deviations given all other parameters.
    steps = np.diag(1e-4 / np.sqrt(np.diagonal(precision)))

    def rise(step):
        return objective(found + step, mean, precision, described)

    slopes = [(rise(step) - rise(-step)) / 2e-4 for step in steps]
    np.testing.assert_allclose(slopes, 0.0, atol=1e-3)


def test_what_a_body_has_is_hardly_changed():
    _, precision, described = problem(4)
    mean = np.append(described.ravel(), [1.0, 1.0, -2.0])
    found = consistent_parameters(mean, 1e4 * precision, described, POSITIVE)
    np.testing.assert_allclose(found, mean, atol=0.01)


def test_bodies_stay_away_from_having_no_mass():
    mean, precision, described = problem(5)
    mean[:20] = -described.ravel()
    found = consistent_parameters(mean, 100.0 * precision, described, POSITIVE)
    assert np.min(np.linalg.eigvalsh(pseudo_inertia(found[:20].reshape(2, 10)))) > 0.0
    assert np.all(found[POSITIVE] > 0.0)


def test_a_precision_that_is_none_is_refused():
    mean, precision, described = problem(6)
    precision = precision - 1e3 * np.outer(mean, mean)
    precision[np.diag_indices(23)] = np.abs(np.diagonal(precision))
    with pytest.raises(InvalidDataError, match="positive definite"):
        consistent_parameters(mean, precision, described, POSITIVE)
