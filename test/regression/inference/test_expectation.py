# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
import naive_ilr as naive
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from scipy.special import logsumexp, xlogy

from ilr_dynamics.regression import Prior
from ilr_dynamics.regression.families.matrix_normal_wishart import MatrixNormalWishart
from ilr_dynamics.regression.families.normal_wishart import NormalWishart
from ilr_dynamics.regression.inference._expectation import expect
from ilr_dynamics.regression.inference.expectation import LEAF_SIZE, Expectation
from ilr_dynamics.regression.inference.initialization import assignment_statistics
from ilr_dynamics.regression.mixture.mixture import MixturePrior, extend

SEEDS = st.integers(0, 2**32 - 1)


def extended(X, Y):
    return extend(np.column_stack([X, np.ones(len(X))]), Y)


def log_joint(zeta, posterior):
    """All samples by all components."""
    constants, R_x, R_y = posterior.expected_log_joint()
    m, one = R_x.shape[1], posterior.regression.n_regressors - 1
    inputs = np.column_stack([zeta[:, :m], zeta[:, one]])
    of_inputs, of_outputs = (
        np.einsum("kij,nj->nki", R_x, inputs),
        np.einsum("kij,nj->nki", R_y, zeta),
    )
    return constants - 0.5 * (np.sum(of_inputs**2, axis=2) + np.sum(of_outputs**2, axis=2))


def dense(zeta, weights, posterior):
    """Entropy and statistics from all samples by all components."""
    log_rho = log_joint(zeta, posterior)
    r = np.exp(log_rho - logsumexp(log_rho, axis=1)[:, None])
    entropy = -weights @ np.sum(xlogy(r, r), axis=1)
    return entropy, np.einsum("n,nk,ni,nj->kij", weights, r, zeta, zeta, optimize=True)


class ManyComponents:
    """Far more samples than fit a leaf, along a curve, and components that lie along it."""

    def __init__(self, seed, n=700, n_components=30, n_features=0):
        generator = np.random.default_rng(seed)
        t = generator.uniform(0.0, 6.0, n)
        X = np.column_stack([np.cos(t), np.sin(2.0 * t), 0.3 * t])
        X += 0.02 * generator.normal(size=X.shape)
        U = np.column_stack([X, *(X[:, i] ** 2 for i in range(n_features))])
        self.zeta = extended(U, np.sin(3.0 * t)[:, None] + 0.05 * generator.normal(size=(n, 2)))
        self.weights = generator.uniform(0.2, 2.0, n)
        self.prior = Prior(
            concentration=5.0,
            input_spread=0.1,
            input_strength=5.0,
            centre_spread=1.0,
            noise_std=0.1,
            noise_strength=2.0,
            slope_scale=1.0,
        ).base_distribution(3, n_features, 2)
        labels = (t / 6.0 * n_components).astype(int)
        self.statistics = assignment_statistics(self.zeta, self.weights, labels, n_components)
        self.posterior = self.prior.posterior(self.statistics, self.names)

    @property
    def names(self):
        return np.arange(len(self.statistics))

    def expected(self, rows=slice(None)):
        return Expectation(self.zeta[rows], self.weights[rows], 3)(self.posterior, self.names)


def assert_same(found, expected):
    assert found[0] == pytest.approx(expected[0], rel=1e-9, abs=1e-9)
    np.testing.assert_allclose(found[1], expected[1], rtol=1e-9, atol=1e-9)


@settings(max_examples=15)
@given(SEEDS, st.integers(1, 3), st.integers(1, 2))
def test_agrees_with_loops_over_samples_and_components(seed, m, d):
    generator = np.random.default_rng(seed)
    region, regression = naive.region_and_regression([naive.random_component(generator, m, d)])
    prior = MixturePrior(NormalWishart(*region), MatrixNormalWishart(*regression), 2.5)
    X, Y = 2.0 * generator.normal(size=(15, m)), generator.normal(size=(15, d))
    zeta, weights = extended(X, Y), generator.uniform(0.2, 2.0, 15)
    statistics = assignment_statistics(zeta, weights, generator.integers(0, 3, 15), 3)
    posterior = prior.posterior(statistics, np.arange(3))
    entropy, found = Expectation(zeta, weights, m)(posterior, np.arange(3))

    components = naive.components_of(posterior.region, posterior.regression)
    r = naive.responsibilities(components, naive.sticks(list(prior.counts(statistics)), 2.5), X, Y)
    expected = np.einsum("n,nk,ni,nj->kij", weights, r, zeta, zeta)
    np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-9)
    assert entropy == pytest.approx(-weights @ np.sum(xlogy(r, r), axis=1), rel=1e-7, abs=1e-7)


@pytest.mark.parametrize("n", [1, LEAF_SIZE - 1, LEAF_SIZE, LEAF_SIZE + 1, 700])
@pytest.mark.parametrize("n_components", [1, 2, 30])
@pytest.mark.parametrize("n_features", [0, 2])
def test_leaving_components_out_changes_nothing_but_rounding(n, n_components, n_features):
    problem = ManyComponents(1, n_components=n_components, n_features=n_features)
    rows = slice(n)
    expected = dense(problem.zeta[rows], problem.weights[rows], problem.posterior)
    assert_same(problem.expected(rows), expected)


def test_samples_far_from_all_components_belong_to_the_least_unlikely():
    problem = ManyComponents(2)
    problem.zeta[::50, :3] *= 1e4
    problem.zeta[1::50, -2:] += 1e5
    expected = dense(problem.zeta, problem.weights, problem.posterior)
    entropy, statistics = problem.expected()
    # Distances of 1e12 know log rho to 1e-4.
    assert entropy == pytest.approx(expected[0], rel=1e-3)
    np.testing.assert_allclose(statistics, expected[1], rtol=1e-3, atol=1e-3)
    total = np.einsum("n,ni,nj->ij", problem.weights, problem.zeta, problem.zeta)
    np.testing.assert_allclose(statistics.sum(axis=0), total, rtol=1e-12)


def test_components_far_from_all_samples_get_nothing():
    problem = ManyComponents(3)
    near = problem.zeta[:, 0] > 0.5
    _, statistics = problem.expected(near)
    counts, expected = (
        statistics[:, 3, 3],
        dense(problem.zeta[near], problem.weights[near], problem.posterior)[1][:, 3, 3],
    )
    np.testing.assert_allclose(counts, expected, rtol=1e-9, atol=1e-15)
    assert np.any(counts == 0.0) and np.any(counts > 1.0)


def test_what_was_best_before_changes_nothing_but_rounding():
    problem = ManyComponents(4)
    expectation = Expectation(problem.zeta, problem.weights, 3)
    expectation(problem.posterior, problem.names + 7)
    # Others are now where those were, some have gone, and some are new.
    order = np.random.default_rng(4).permutation(problem.names)[:-2]
    posterior = problem.prior.posterior(problem.statistics[order], order)
    names = np.where(order % 5 == 0, order + 100, order + 7)
    for _ in range(2):
        assert_same(expectation(posterior, names), dense(problem.zeta, problem.weights, posterior))


def test_samples_without_weight_change_nothing():
    problem = ManyComponents(4)
    problem.weights[::3] = 0.0
    kept = problem.weights > 0.0
    assert_same(problem.expected(), problem.expected(kept))


def arguments_of(problem):
    n, (K, p, _) = len(problem.zeta), problem.statistics.shape
    log_joint = problem.posterior.expected_log_joint()
    return [problem.zeta, problem.weights, *log_joint, np.empty((K, p, p)), np.full(n, -1), 4]


@pytest.mark.parametrize("value", [np.nan, np.inf, 1e200])
def test_what_is_no_number_or_overflows_is_no_number_in_the_statistics(value):
    problem = ManyComponents(5)
    problem.zeta[3, 1] = value
    arguments = arguments_of(problem)
    expect(*arguments)
    assert not np.all(np.isfinite(arguments[5]))


@pytest.mark.parametrize("best", [-(2**62), -1, 0, 29, 30, 2**62])
def test_any_number_may_stand_for_what_was_best(best):
    problem = ManyComponents(6)
    arguments = arguments_of(problem)
    arguments[6][:] = best
    entropy = expect(*arguments)
    assert_same((entropy, arguments[5]), dense(problem.zeta, problem.weights, problem.posterior))
    np.testing.assert_array_equal(
        arguments[6], np.argmax(log_joint(problem.zeta, problem.posterior), axis=1)
    )


ODD = st.one_of(
    st.none(),
    st.text(),
    st.integers(-3, 3) | st.integers(7) | st.just(2**70),
    arrays(np.float32, array_shapes(min_dims=0, max_dims=3, max_side=6)),
    arrays(np.float64, array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=5)),
    arrays(np.float64, (9, 6)).map(lambda array: array[:, ::-1]),
)


@settings(max_examples=100)
@given(number=st.integers(0, 7), odd=ODD)
def test_one_odd_argument_is_refused(few, number, odd):
    arguments = few.copy()
    arguments[number] = odd
    with pytest.raises((TypeError, ValueError, BufferError, OverflowError)):
        expect(*arguments)


@pytest.fixture(scope="module")
def few():
    return arguments_of(ManyComponents(7, n=9, n_components=7))


def test_too_few_arguments_are_refused():
    with pytest.raises(TypeError, match="expected 8"):
        expect(np.zeros((1, 2)))
