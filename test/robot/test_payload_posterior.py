# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Friction is integrated out as the joint posterior says; noise is found beside the payload."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from payloads import box
from scipy.stats import multivariate_normal

from ilr_dynamics.robot.dynamics_terms import N_INERTIAL
from ilr_dynamics.robot.payload_change import log_odds_of_change
from ilr_dynamics.robot.payload_posterior import PayloadPosterior, PayloadPrior
from ilr_dynamics.robot.payload_sums import N_UNKNOWN, PayloadSums, reduced, rows
from ilr_dynamics.robot.pseudo_inertia_prior import PseudoInertiaPrior

BODY = PseudoInertiaPrior(mass=1.0, size=0.15)
PRIOR = PayloadPrior(BODY, np.array([[2.0, 3.0], [1.0, 2.0], [0.5, 1.0]]))
STD = np.array([0.3, 0.2, 0.1])
PAYLOAD = box(0.6, [0.02, -0.01, 0.05], [0.05, 0.1, 0.1])
NO_FRICTION = np.zeros((3, 2))


def drawn(n, seed, parameters, friction=NO_FRICTION, noise=1.0):
    """Samples (n, 3, 13) of three joints, of which each column has a size of its own."""
    random = np.random.default_rng(seed)
    found = []
    for _ in range(n):
        columns = random.normal(size=(3, N_INERTIAL)) / BODY.scale
        velocity = random.normal(size=3)
        row = rows(columns, velocity, np.zeros(3))
        torque = columns @ parameters + np.sum(row[:, N_INERTIAL:N_UNKNOWN] * friction, axis=1)
        found.append(rows(columns, velocity, torque + noise * STD * random.normal(size=3)))
    return np.array(found)


def sums_of(samples, weight=1.0):
    sums = PayloadSums.none(3)
    for row in samples:
        sums = sums.with_sample(row, STD, np.full(3, weight))
    return sums


def posterior_of(samples):
    return PayloadPosterior.before_samples(PRIOR).updated(sums_of(samples), PRIOR, iterations=20)


@given(st.integers(0, 10_000), st.integers(1, 6))
def test_reduced_likelihood_is_that_with_friction_integrated_out(seed, n):
    samples = drawn(n, seed, PAYLOAD.parameters)
    precision = np.array([0.5, 1.0, 2.0])
    left = reduced(sums_of(samples), precision, PRIOR.friction)
    parameters = np.random.default_rng(seed).normal(size=N_INERTIAL) * BODY.scale

    def log_likelihood(parameters):
        total = 0.0
        for joint in range(3):
            of_joint = samples[:, joint]
            rubs = of_joint[:, N_INERTIAL:N_UNKNOWN] * PRIOR.friction[joint]
            noise = STD[joint] ** 2 / precision[joint]
            covariance = rubs @ rubs.T + noise * np.eye(n)
            mean = of_joint[:, :N_INERTIAL] @ parameters
            density = multivariate_normal(mean, covariance).logpdf(of_joint[:, N_UNKNOWN])
            total += density + 0.5 * n * np.log(2.0 * np.pi * noise)
        return total

    quadratic = left.b @ parameters - 0.5 * parameters @ left.A @ parameters
    expected = log_likelihood(parameters)
    assert quadratic + left.log_constant == pytest.approx(expected, rel=1e-6, abs=1e-6)


def test_payload_is_found_beside_changed_friction_and_wrong_noise():
    friction = np.array([[1.0, 2.0], [-0.5, 1.0], [0.3, 0.0]])
    found = posterior_of(drawn(200, 1, PAYLOAD.parameters, friction, noise=3.0))
    off = (found.parameters - PAYLOAD.parameters) / np.sqrt(np.diag(found.covariance))
    assert np.abs(off).max() < 4.0
    assert found.log_odds > 100.0
    np.testing.assert_allclose(found.friction, friction, atol=0.3)
    # The noise was three times what the model expected.
    np.testing.assert_allclose(1.0 / np.sqrt(found.precision), 3.0, rtol=0.2)


def test_friction_alone_is_no_payload():
    friction = np.array([[1.0, 2.0], [-0.5, 1.0], [0.3, 0.0]])
    found = posterior_of(drawn(200, 2, np.zeros(N_INERTIAL), friction))
    assert found.log_odds < 0.0
    assert found.parameters[0] < 0.1


def test_nothing_is_known_without_samples():
    before = PayloadPosterior.before_samples(PRIOR)
    after = before.updated(PayloadSums.none(3), PRIOR)
    np.testing.assert_allclose(after.parameters, before.parameters, rtol=1e-2)
    np.testing.assert_allclose(after.precision, 1.0)
    # Laplace's approximation of a Wishart distribution falls short of its integral.
    assert -3.0 < after.log_odds < 0.0


@given(st.integers(0, 10_000))
def test_sums_do_not_depend_on_the_order(seed):
    samples = drawn(6, seed, PAYLOAD.parameters)
    one, other = sums_of(samples), sums_of(samples[:2]) + sums_of(samples[:1:-1])
    np.testing.assert_allclose(one.products, other.products, atol=1e-6)
    np.testing.assert_allclose(one.count, other.count)


def test_change_is_told_from_more_of_the_same():
    precision = np.ones(3)
    bare, more = (sums_of(drawn(40, seed, np.zeros(N_INERTIAL))) for seed in (3, 4))
    loaded = sums_of(drawn(40, 5, PAYLOAD.parameters))
    rubbing = sums_of(drawn(40, 6, np.zeros(N_INERTIAL), np.full((3, 2), 1.0)))
    assert log_odds_of_change(bare, more, precision, PRIOR) < 0.0
    assert log_odds_of_change(bare, loaded, precision, PRIOR) > 20.0
    assert log_odds_of_change(loaded, bare, precision, PRIOR) > 20.0
    assert log_odds_of_change(bare, rubbing, precision, PRIOR) > 20.0
