# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ilr_dynamics.exceptions import InvalidParameterError
from ilr_dynamics.regression import ILR, BatchInference, Prior, Scaling, StochasticInference
from ilr_dynamics.regression.inference.initialization import assignment_statistics
from ilr_dynamics.regression.inference.state import initial_state
from ilr_dynamics.regression.mixture.mixture import extend

SEEDS = st.integers(0, 2**32 - 1)
PRIOR = Prior(
    concentration=0.5,
    input_spread=0.3,
    input_strength=2.0,
    centre_spread=1.0,
    noise_std=0.1,
    noise_strength=2.0,
    slope_scale=1.0,
).base_distribution(1, 0, 1)


class WholeSteps(StochasticInference):
    """Nothing is kept of earlier minibatches."""

    def step(self, index):
        return 1.0


class Problem:
    """Samples with weights, the state that learning begins in, and a way to learn from them."""

    def __init__(self, seed, n=120, n_components=6, with_previous=True):
        generator = np.random.default_rng(seed)
        X = generator.uniform(-2.0, 2.0, (n, 1))
        Z = extend(
            np.column_stack([X, np.ones(n)]),
            np.sin(2.0 * X) + 0.1 * generator.normal(size=X.shape),
        )
        weights = generator.uniform(0.2, 2.0, n)
        labels = generator.integers(0, n_components, n)
        statistics = assignment_statistics(Z, weights, labels, n_components)
        previous = 0.3 * statistics if with_previous else np.zeros_like(statistics)
        groups = np.arange(n_components)
        self.Z, self.weights, self.previous = Z, weights, previous
        self.state = initial_state(weights, PRIOR, PRIOR, previous, statistics, groups)

    def learn(self, inference, seed=0):
        return inference.run(self.Z, self.weights, self.state, np.random.default_rng(seed))


def batch(max_iterations):
    return BatchInference(max_iterations, tolerance=1e-13, fit_scales=False)


def minibatches(max_iterations, batch_size, step_delay=0.0, *, fit_scales=False):
    return StochasticInference(
        max_iterations,
        tolerance=1e-13,
        fit_scales=fit_scales,
        batch_size=batch_size,
        step_delay=step_delay,
        step_rate=0.7,
    )


def test_steps_fall_as_a_power_of_their_number():
    slow = StochasticInference(step_delay=3.0, step_rate=0.6)
    steps = [slow.step(index) for index in range(4)]
    np.testing.assert_allclose(steps, [4.0**-0.6, 5.0**-0.6, 6.0**-0.6, 7.0**-0.6])
    assert StochasticInference(step_delay=0.0, step_rate=0.9).step(0) == 1.0
    assert StochasticInference(step_delay=0.0, step_rate=1.0).step(9) == pytest.approx(0.1)


@settings(max_examples=10)
@given(SEEDS, st.booleans(), st.integers(1, 6))
def test_whole_steps_over_all_samples_are_iterations_of_batch_inference(seed, known, n_passes):
    problem = Problem(seed, with_previous=known)
    whole = WholeSteps(n_passes, tolerance=1e-13, fit_scales=False, batch_size=10**6)
    found, expected = problem.learn(whole), problem.learn(batch(n_passes))
    np.testing.assert_allclose(found.lower_bounds, expected.lower_bounds, rtol=1e-9, atol=1e-7)
    np.testing.assert_allclose(found.statistics, expected.statistics, rtol=1e-6, atol=1e-7)


def test_steps_over_minibatches_are_not_whole():
    problem = Problem(1)
    batch_size = problem.Z.shape[0] // 2
    found, expected = (problem.learn(i) for i in (minibatches(3, batch_size), batch(3)))
    assert found.lower_bounds[-1] != pytest.approx(expected.lower_bounds[-1], rel=1e-6)


def test_one_minibatch_of_all_samples_is_batch_inference():
    problem = Problem(1)
    found, expected = (problem.learn(i) for i in (minibatches(4, 10**6, 5.0), batch(4)))
    np.testing.assert_allclose(found.lower_bounds, expected.lower_bounds, rtol=1e-9)
    np.testing.assert_allclose(found.statistics, expected.statistics, rtol=1e-6, atol=1e-7)


def test_minibatches_are_drawn_at_random():
    problem, inference = Problem(2), minibatches(3, 20, 1.0)
    first, second, again = (problem.learn(inference, seed) for seed in (0, 1, 0))
    np.testing.assert_array_equal(first.lower_bounds, again.lower_bounds)
    assert np.all(np.abs(first.lower_bounds - second.lower_bounds) > 1e-3)


@settings(max_examples=10)
@given(SEEDS, st.integers(1, 200), st.booleans(), st.booleans())
def test_each_sample_is_counted_once_in_the_end(seed, batch_size, known, fit_scales):
    problem = Problem(seed, with_previous=known)
    result = problem.learn(minibatches(3, batch_size, 1.0, fit_scales=fit_scales))
    total = problem.previous.sum(axis=0) + (problem.weights * problem.Z.T) @ problem.Z
    np.testing.assert_allclose(result.statistics.sum(axis=0), total, rtol=1e-6, atol=1e-5)
    counts = PRIOR.counts(result.statistics)
    assert np.all(np.diff(counts) <= 0.0)


@pytest.fixture(scope="module")
def large():
    generator = np.random.default_rng(2)
    X = generator.uniform(-3.0, 3.0, (4000, 1))
    return X, np.sin(2.0 * X) + 0.1 * generator.normal(size=X.shape)


def test_minibatches_come_close_to_what_all_samples_at_once_give(large):
    X, Y = large
    batch = ILR(12).fit(X, Y)
    stochastic = ILR(12, inference=StochasticInference(batch_size=200, max_iterations=20)).fit(
        X, Y
    )
    assert stochastic.lower_bounds_[-1] > batch.lower_bounds_[-1] - 0.03 * len(X)
    assert stochastic.score(X, Y) == pytest.approx(batch.score(X, Y), abs=0.01)
    assert np.sum(stochastic.prior_.counts(stochastic.statistics_)) == pytest.approx(len(X))


def test_the_bound_reported_last_is_exact_and_the_others_estimate_it(large):
    X, Y = large
    model = ILR(
        12, inference=StochasticInference(batch_size=200, max_iterations=8, tolerance=1e-12)
    )
    bounds = model.fit(X, Y).lower_bounds_
    assert bounds.shape == (8,)
    # Another batch iteration from there can only raise it.
    assert abs(bounds[-2] - bounds[-1]) < 0.02 * len(X)
    assert bounds[-1] > bounds[0]


def test_learning_goes_on_from_earlier_samples(large):
    X, Y = large
    order = np.argsort(X[:, 0])
    model = ILR(
        12,
        inference=StochasticInference(batch_size=100),
        scaling=Scaling(input_location=0.0, input_scale=2.0),
    ).fit(X[order[:2000]], Y[order[:2000]])
    known = model.predict(X[order[:2000:100]])
    model.partial_fit(X[order[2000:]], Y[order[2000:]])
    assert model.score(X, Y) > 0.9
    assert np.max(np.abs(model.predict(X[order[:2000:100]]) - known)) < 0.2
    assert np.sum(model.prior_.counts(model.statistics_)) == pytest.approx(len(X))


def test_passes_end_when_the_bound_has_settled(large):
    heard = []
    model = ILR(8, inference=StochasticInference(30, tolerance=0.1, batch_size=500))
    model.fit(*large, callback=lambda *arguments: heard.append(arguments))
    assert model.converged_
    assert len(model.lower_bounds_) < 30
    assert [h[:2] for h in heard] == [(k, 30) for k in range(1, len(heard) + 1)]
    np.testing.assert_allclose([h[2] * 4000 for h in heard], model.lower_bounds_[:-1])
    model.set_params(inference__tolerance=1e-12, inference__max_iterations=3)
    assert not model.fit(*large).converged_


def test_one_pass_is_one_iteration_of_batch_inference(large):
    X, Y = large[0][:300], large[1][:300]
    batch, stochastic = (
        ILR(8, inference=inference).set_params(inference__max_iterations=1).fit(X, Y)
        for inference in ("batch", "stochastic")
    )
    np.testing.assert_array_equal(batch.statistics_, stochastic.statistics_)


def test_the_same_seed_draws_the_same_minibatches(large):
    inference = StochasticInference(max_iterations=4, batch_size=300)
    first, second = (ILR(6, random_state=3, inference=inference).fit(*large) for _ in range(2))
    np.testing.assert_array_equal(first.statistics_, second.statistics_)


@pytest.mark.parametrize(
    "parameters",
    [
        {"batch_size": 0},
        {"batch_size": 2.5},
        {"step_delay": -1.0},
        {"step_delay": np.nan},
        {"step_rate": 0.5},
        {"step_rate": 1.01},
        {"step_rate": "slow"},
    ],
    ids=str,
)
def test_schedules_that_do_not_converge_are_refused_by_name_and_value(parameters):
    ((name, value),) = parameters.items()
    with pytest.raises(InvalidParameterError, match=name) as caught:
        StochasticInference(**parameters)
    assert str(value) in str(caught.value)
