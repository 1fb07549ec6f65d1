# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""What torques tell of the correlation of their residuals and of the scales of the prior."""

from dataclasses import replace
from math import exp, log, sqrt

import numpy as np
import pytest
from matern_process import correlation, states
from scipy.stats import chi2, multivariate_normal

from ilr_dynamics.robot.representative_samples import RepresentativeSamples
from ilr_dynamics.robot.residual_correlation import ResidualCorrelation
from ilr_dynamics.robot.torque_evidence import (
    JITTER,
    LEAST_NOISE,
    Hypothesis,
    JointTorques,
    TorqueEvidence,
    most_probable,
)

USUAL = np.array([log(0.05), log(0.5), log(9.0)])
AS_DESCRIBED, ANY = np.ones(1), np.array([[1e-3, 1e3]])


def covariance(X, parameters, torque, scales=AS_DESCRIBED):
    """Covariance of a joint's torques, from logarithms of lengths, odds and variance."""
    s = 1.0 / (1.0 + exp(-parameters[2]))
    rho = correlation(X, *np.exp(parameters[:2]))
    scale = np.mean(torque.deviation**2) or 1.0
    own = np.diag(1.0 / torque.informative - s)
    columns = torque.columns * scales[torque.groups]
    total = columns @ columns.T + scale * exp(parameters[3]) * (s * rho + own)
    rounding = JITTER * np.trace(total) / len(X) + LEAST_NOISE * scale
    return total + rounding * np.eye(len(X))


def drawn(X, lengths, share, n_joints, seed, scales=AS_DESCRIBED, n_terms=3):
    """Torques of some joints with a few terms of each scale and residuals of variance 1."""
    generator = np.random.default_rng(seed)
    residual = share * correlation(X, *lengths) + (1.0 - share) * np.eye(len(X))
    torques = []
    for _ in range(n_joints):
        groups = np.repeat(np.arange(len(scales)), n_terms)
        phi = generator.normal(size=(len(X), len(groups)))
        scaled = phi * scales[groups]
        root = np.linalg.cholesky(scaled @ scaled.T + residual)
        deviation = root @ generator.normal(size=len(X))
        torques.append(JointTorques(deviation, phi, groups, np.ones(len(X))))
    return torques


def nothing_known(n):
    """Columns of a term that has no effect, its scale, and torques that all inform."""
    return np.zeros((n, 1)), np.zeros(1, int), np.ones(n)


def found_of(X, torques):
    """Correlation found from the usual one on, with one scale for all terms."""
    return most_probable(X, torques, first(len(torques), AS_DESCRIBED), ANY).correlation


def first(n_joints, scales):
    return Hypothesis(ResidualCorrelation(), scales, np.full(n_joints, 0.1))


@pytest.fixture(scope="module")
def problem():
    """States and torques of two joints, one of which sticks now and then, and parameters."""
    X, scales = states(25, 2, 0), np.array([0.5, 3.0])
    torques = drawn(X, (0.3, 1.0), 0.7, 2, 1, scales)
    informative = np.where(np.arange(25) % 4, 1.0, 0.02)
    torques[1] = replace(torques[1], informative=informative)
    return X, torques, np.log([0.2, 0.9, 1.5, 0.3, 0.05, *scales])


def test_it_is_that_of_the_normal_distribution(problem):
    X, torques, parameters = problem
    search = TorqueEvidence(X, torques, 2)
    for shift in (0.0, 0.5, -0.8):
        at = parameters + shift
        expected = 0.5 * np.sum((at[:3] - USUAL) ** 2) + 0.5 * np.sum(at[5:] ** 2)
        for joint, torque in enumerate(torques):
            own = covariance(X, [*at[:3], at[3 + joint]], torque, np.exp(at[5:]))
            law = multivariate_normal(cov=own)
            expected -= law.logpdf(torque.deviation) + 0.5 * len(X) * log(2.0 * np.pi)
        assert search(at)[0] == pytest.approx(expected, rel=1e-9)


def test_a_hypothesis_is_that_of_its_logarithms(problem):
    _, _, parameters = problem
    found = Hypothesis.of_logarithms(parameters, 2).logarithms
    np.testing.assert_allclose(found, parameters, rtol=1e-12)


def test_gradient_is_that_of_finite_differences(problem):
    X, torques, parameters = problem
    search, step = TorqueEvidence(X, torques, 2), 1e-5
    for shift in (0.0, 0.5, -0.8):
        at = parameters + shift
        found = [
            (search(at + step * unit)[0] - search(at - step * unit)[0]) / (2.0 * step)
            for unit in np.eye(len(at))
        ]
        np.testing.assert_allclose(search(at)[1], found, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("seed", range(3))
def test_scales_of_the_prior_are_found(seed):
    """
    One group is far off, another as good as absent.

    A scale's logarithm is known to 1 / sqrt(2 n) from n parameters that the torques tell well;
    those of the second group are hidden by the noise, so that it may be smaller still.
    """
    X, scales, n_joints, n_terms = states(120, 1, 30 + seed), np.array([20.0, 0.02, 1.0]), 6, 8
    torques = drawn(X, (0.1, 0.4), 0.8, n_joints, 40 + seed, scales, n_terms)
    start = first(n_joints, np.ones(3))
    found = most_probable(X, torques, start, np.tile(ANY, (3, 1))).scales
    spread = 1.0 / sqrt(2.0 * n_joints * n_terms)
    # The prior pulls by log(20) times the variance; four deviations for chance.
    assert np.abs(log(found[0] / 20.0)) < 4.0 * spread + log(20.0) * spread**2
    assert np.abs(log(found[2])) < 5.0 * spread
    assert found[1] < 0.15


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
    found = found_of(X, torques)
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
    torques = [JointTorques(generator.normal(size=150), *nothing_known(150)) for _ in range(32)]
    found = found_of(X, torques)
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
    exact = JointTorques(phi @ generator.normal(size=6), phi, np.zeros(6, int), np.ones(150))
    found = found_of(X, [exact])
    assert found.share == pytest.approx(0.9, abs=0.02)
    np.testing.assert_allclose(
        [found.position_length, found.velocity_length], [0.05, 0.5], rtol=0.2
    )


@pytest.mark.parametrize("value", [1e200, np.inf, np.nan])
@pytest.mark.parametrize("part", ["deviation", "columns"])
def test_numbers_that_overflow_leave_all_as_it_was(problem, part, value):
    X, (torque, _), _ = problem
    wrong = getattr(torque, part).copy()
    wrong[0] = value
    before = Hypothesis(ResidualCorrelation(0.2, 0.7, 0.5), np.array([0.5, 2.0]), np.full(1, 0.1))
    bounds = np.tile(ANY, (2, 1))
    with np.errstate(over="ignore", invalid="ignore"):
        found = most_probable(X, [replace(torque, **{part: wrong})], before, bounds)
    assert found is before


def test_one_state_without_any_torque_is_no_failure():
    nothing = JointTorques(np.zeros(30), *nothing_known(30))
    found = found_of(np.zeros((30, 4)), [nothing])
    assert np.all(np.isfinite([found.position_length, found.velocity_length, found.share]))
    assert 0.0 < found.share < 1.0
