# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
from math import exp, log, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2, multivariate_normal

from ilr_dynamics.robot.representative_samples import RepresentativeSamples
from ilr_dynamics.robot.residual_correlation import (
    JITTER,
    LEAST_NOISE,
    ResidualCorrelation,
    TorqueCovariance,
    _Likelihood,
)

USUAL = np.array([log(0.05), log(0.5), log(9.0)])


def states(n, n_joints, seed, width=(1.0, 2.0)):
    generator = np.random.default_rng(seed)
    return generator.uniform(0.0, 1.0, (n, 2 * n_joints)) * np.repeat(width, n_joints)


def correlation(X, position_length, velocity_length):
    """Matern's with exponent 3/2, state by state."""
    scale = np.repeat([position_length, velocity_length], X.shape[1] // 2)
    rho = np.empty((len(X), len(X)))
    for i, x in enumerate(X):
        for j, y in enumerate(X):
            r = sqrt(3.0) * np.linalg.norm((x - y) / scale)
            rho[i, j] = (1.0 + r) * exp(-r)
    return rho


def covariance(X, parameters, torque):
    """Covariance of a joint's torques, from logarithms of lengths, odds and variance."""
    s = 1.0 / (1.0 + exp(-parameters[2]))
    rho = correlation(X, *np.exp(parameters[:2]))
    scale = np.mean(torque.deviation**2) or 1.0
    own = np.diag(1.0 / torque.informative - s)
    total = torque.of_parameters + scale * exp(parameters[3]) * (s * rho + own)
    rounding = JITTER * np.trace(total) / len(X) + LEAST_NOISE * scale
    return total + rounding * np.eye(len(X))


def drawn(X, lengths, share, n_joints, seed, n_terms=3):
    """Torques of some joints with a few uncertain terms and residuals of variance 1."""
    generator = np.random.default_rng(seed)
    residual = share * correlation(X, *lengths) + (1.0 - share) * np.eye(len(X))
    torques = []
    for _ in range(n_joints):
        phi = generator.normal(size=(len(X), n_terms))
        of_parameters = phi @ phi.T
        root = np.linalg.cholesky(of_parameters + residual)
        deviation = root @ generator.normal(size=len(X))
        torques.append(TorqueCovariance(deviation, of_parameters, np.ones(len(X))))
    return torques


@pytest.fixture(scope="module")
def problem():
    """States and torques of two joints, one of which sticks now and then, and parameters."""
    X = states(25, 2, 0)
    torques = drawn(X, (0.3, 1.0), 0.7, 2, 1)
    informative = np.where(np.arange(25) % 4, 1.0, 0.02)
    torques[1] = TorqueCovariance(torques[1].deviation, torques[1].of_parameters, informative)
    return X, torques, np.array([log(0.2), log(0.9), 0.4, log(0.3), log(0.05)])


def test_correlation_is_that_of_the_formula():
    X = states(12, 3, 2)
    found = ResidualCorrelation(0.3, 1.5, 0.4).between(X, X[:5])
    np.testing.assert_allclose(found, correlation(X, 0.3, 1.5)[:, :5], atol=1e-7)


def test_likelihood_is_that_of_the_normal_distribution(problem):
    X, torques, parameters = problem
    search = _Likelihood(X, torques)
    for shift in (0.0, 0.5, -0.8):
        at = parameters + shift
        expected = 0.5 * np.sum((at[:3] - USUAL) ** 2)
        for joint, torque in enumerate(torques):
            law = multivariate_normal(cov=covariance(X, [*at[:3], at[3 + joint]], torque))
            expected -= law.logpdf(torque.deviation) + 0.5 * len(X) * log(2.0 * np.pi)
        assert search(at)[0] == pytest.approx(expected, rel=1e-9)


def test_gradient_is_that_of_finite_differences(problem):
    X, torques, parameters = problem
    search, step = _Likelihood(X, torques), 1e-5
    for shift in (0.0, 0.5, -0.8):
        at = parameters + shift
        found = [
            (search(at + step * unit)[0] - search(at - step * unit)[0]) / (2.0 * step)
            for unit in np.eye(len(at))
        ]
        np.testing.assert_allclose(search(at)[1], found, rtol=1e-5, atol=1e-5)


def information(X, parameters, torques):
    """Fisher's information of the parameters, and of the prior of the first three."""
    n_shared, step = 3, 1e-4
    found = np.zeros((n_shared + len(torques),) * 2)
    for joint, torque in enumerate(torques):
        at = np.append(parameters[:n_shared], parameters[n_shared + joint])
        inverse = np.linalg.inv(covariance(X, at, torque))
        slopes = [
            inverse
            @ (covariance(X, at + step * unit, torque) - covariance(X, at - step * unit, torque))
            / (2.0 * step)
            for unit in np.eye(4)
        ]
        own = [0, 1, 2, n_shared + joint]
        found[np.ix_(own, own)] += [[0.5 * np.sum(a * b.T) for b in slopes] for a in slopes]
    found[:n_shared, :n_shared] += np.eye(n_shared)
    return found


@pytest.mark.parametrize("lengths", [(0.1, 0.4), (0.4, 1.5)], ids=str)
@pytest.mark.parametrize("seed", range(3))
def test_lengths_and_share_of_a_process_are_found(lengths, seed):
    """As closely as the information in the samples allows, of which the prior is one."""
    X, share = states(120, 1, seed), 0.8
    torques = drawn(X, lengths, share, 3, 10 + seed)
    found = ResidualCorrelation().fitted(X, torques)
    truth = np.append(np.log([*lengths, share / (1.0 - share)]), np.zeros(3))
    scales = [np.mean(torque.deviation**2) for torque in torques]
    knowledge = information(X, np.append(truth[:3], -np.log(scales)), torques)
    spread = np.linalg.inv(knowledge)[:3, :3]
    # Known at all: to a factor, not for the prior's sake alone.
    assert np.all(np.sqrt(np.diag(spread)) < 0.7)
    odds = found.share / (1.0 - found.share)
    error = np.log([found.position_length, found.velocity_length, odds]) - truth[:3]
    # A pull of the prior, and a chance of 1e-4 to be farther off.
    error += spread @ (truth[:3] - USUAL)
    assert error @ np.linalg.solve(spread, error) < chi2.ppf(1.0 - 1e-4, 3)


@pytest.mark.parametrize("seed", range(3))
def test_independent_noise_is_no_correlation(seed):
    """
    Many neighbours, of which each tells something new.

    Between lengths of their own, n samples of J joints tell the share s with a deviation of
    1 / sqrt(J / 2 sum rho^2) over all pairs; an s of x of these costs x^2 / 2, while the prior of
    the odds pulls by less than its distance of about 6 there: x^2 < 6, and four for chance.
    """
    X = states(150, 1, seed, width=(0.1, 1.0))
    generator = np.random.default_rng(20 + seed)
    torques = [
        TorqueCovariance(generator.normal(size=150), np.zeros((150, 150)), np.ones(150))
        for _ in range(32)
    ]
    found = ResidualCorrelation().fitted(X, torques)
    pairs = np.sum(found.between(X, X) ** 2) - 150.0
    assert found.share < (sqrt(6.0) + 4.0) / sqrt(0.5 * 32.0 * pairs)
    samples = RepresentativeSamples(X, X[:, :1], np.ones(150), np.ones(150))
    usual, counted = (np.sum(samples.weighed(c).worth) for c in (ResidualCorrelation(), found))
    assert usual < 15.0
    assert counted > 5.0 * usual


def test_torques_that_the_terms_explain_exactly_leave_the_usual_correlation():
    X, generator = states(150, 2, 3), np.random.default_rng(4)
    phi = generator.normal(size=(150, 6))
    # An offset is a term: what the residuals have in common everywhere is not seen apart from it.
    phi[:, 0] = 1.0
    exact = TorqueCovariance(phi @ generator.normal(size=6), phi @ phi.T, np.ones(150))
    found = ResidualCorrelation().fitted(X, [exact])
    assert found.share == pytest.approx(0.9, abs=0.02)
    np.testing.assert_allclose(
        [found.position_length, found.velocity_length], [0.05, 0.5], rtol=0.2
    )


@pytest.mark.parametrize("value", [1e200, np.inf, np.nan])
@pytest.mark.parametrize("part", ["deviation", "of_parameters"])
def test_numbers_that_overflow_leave_it_as_it_was(problem, part, value):
    X, (torque, _), _ = problem
    parts = {"deviation": torque.deviation.copy(), "of_parameters": torque.of_parameters.copy()}
    parts[part][..., 0] = value
    before = ResidualCorrelation(0.2, 0.7, 0.5)
    with np.errstate(over="ignore", invalid="ignore"):
        found = before.fitted(X, [TorqueCovariance(**parts, informative=torque.informative)])
    assert found == before


def test_one_state_without_any_torque_is_no_failure():
    nothing = TorqueCovariance(np.zeros(30), np.zeros((30, 30)), np.ones(30))
    found = ResidualCorrelation().fitted(np.zeros((30, 4)), [nothing])
    assert np.all(np.isfinite([found.position_length, found.velocity_length, found.share]))
    assert 0.0 < found.share < 1.0


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
