# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""The posterior of a pseudo-inertia is a mode among real bodies, with an honest evidence."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from payloads import box
from scipy.stats import wishart

from ilr_dynamics.robot.dynamics_terms import N_INERTIAL
from ilr_dynamics.robot.pseudo_inertia import inertial_parameters, pseudo_inertia
from ilr_dynamics.robot.pseudo_inertia_prior import DOF, PseudoInertiaPrior

PRIOR = PseudoInertiaPrior(mass=1.0, size=0.15)
SCALE = np.diag([0.15**2] * 3 + [1.0]) / DOF


def log_posterior(parameters, A, b):
    density = wishart(DOF, SCALE).logpdf(pseudo_inertia(parameters))
    return density + b @ parameters - 0.5 * parameters @ A @ parameters


def likelihood(payload, std, rank=N_INERTIAL, seed=0):
    """A and b of `rank` measurements with that deviation, in units of the prior's scale."""
    rows = np.random.default_rng(seed).normal(size=(rank, N_INERTIAL)) / PRIOR.scale / std
    return rows.T @ rows, rows.T @ (rows @ payload.parameters)


def test_mean_is_that_of_the_wishart():
    np.testing.assert_allclose(PRIOR.mean, inertial_parameters(wishart(DOF, SCALE).mean()))


@given(st.integers(0, 10), st.sampled_from([1e-3, 0.03, 10.0]), st.integers(0, 1000))
def test_mode_is_a_real_body_beside_which_nothing_is_likelier(rank, std, seed):
    A, b = likelihood(box(0.5, [0.02, 0.0, 0.05], [0.05, 0.1, 0.1]), std, rank, seed)
    # Torques that no body explains: the mode is the nearest that can exist.
    b = b + A @ (PRIOR.scale * np.random.default_rng(seed).normal(size=N_INERTIAL))
    mode = PRIOR.mode(A, b, PRIOR.mean)
    assert np.linalg.eigvalsh(pseudo_inertia(mode.parameters)).min() > 0.0
    best = log_posterior(mode.parameters, A, b)
    # At the edge of what can exist the smallest variances are rounding.
    variances, directions = np.linalg.eigh(mode.covariance)
    root = directions * np.sqrt(np.maximum(variances, 0.0))
    for step in np.random.default_rng(seed).normal(size=(20, N_INERTIAL)):
        beside = mode.parameters + 0.3 * root @ step
        if np.linalg.eigvalsh(pseudo_inertia(beside)).min() > 0.0:
            # Of a likelihood of millions of nats rounding leaves a hundred-millionth.
            assert log_posterior(beside, A, b) < best + 1e-3 + 1e-8 * abs(best)


def test_many_measurements_leave_the_truth_and_their_own_deviation():
    payload = box(0.5, [0.02, 0.0, 0.05], [0.05, 0.1, 0.1])
    A, b = likelihood(payload, 1e-3, rank=200)
    mode = PRIOR.mode(A, b, PRIOR.mean)
    np.testing.assert_allclose(mode.parameters, payload.parameters, atol=1e-3)
    units = np.outer(PRIOR.scale, PRIOR.scale) * 1e-6
    np.testing.assert_allclose(mode.covariance / units, np.linalg.inv(A) / units, atol=1e-3)


def test_evidence_is_the_mean_of_the_likelihood_under_the_prior():
    A, b = likelihood(box(0.8, [0.0, 0.0, 0.05], [0.1, 0.1, 0.2]), 1.0)
    draws = wishart(DOF, SCALE).rvs(100_000, random_state=0)
    parameters = np.array([inertial_parameters(draw) for draw in draws])
    values = parameters @ b - 0.5 * np.einsum("ni,ij,nj->n", parameters, A, parameters)
    expected = np.log(np.mean(np.exp(values - values.max()))) + values.max()
    # Laplace's approximation: a nat or so in ten dimensions.
    assert PRIOR.mode(A, b, PRIOR.mean).log_evidence == pytest.approx(expected, abs=1.5)
