# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
import naive_hilr as naive
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.signal import sawtooth

from ilr_dynamics.regression import (
    HILR,
    BatchInference,
    Scaling,
    StochasticInference,
    TwoLevelPrior,
    load_snapshot,
)
from ilr_dynamics.regression.families.matrix_normal_wishart import MatrixNormalWishart
from ilr_dynamics.regression.families.normal_wishart import NormalWishart
from ilr_dynamics.regression.inference.initialization import assignment_statistics
from ilr_dynamics.regression.inference.state import initial_state
from ilr_dynamics.regression.mixture.hierarchy import HierarchicalPrior

SEEDS = st.integers(0, 2**32 - 1)
STANDARD = Scaling(input_location=0.0, input_scale=1.0, output_location=0.0, output_scale=1.0)
GROUPS = np.array([0, 0, 1, 2, 2])
N_DRAWS = 20_000
SMALLEST_SHARE = 0.003


def wave(n, m=1, d=1, seed=0):
    """Pieces of two slopes along the first input."""
    generator = np.random.default_rng(seed)
    X = generator.uniform(-2.0, 2.0, (n, m))
    Y = np.abs(X[:, :1] % 2.0 - 1.0) * np.arange(1.0, d + 1.0) + 0.3 * X.sum(axis=1, keepdims=True)
    return X, Y + 0.05 * generator.normal(size=Y.shape)


@pytest.fixture(scope="module")
def hierarchy(motion):
    return HILR(n_components=20, random_state=3, inference=BatchInference(max_iterations=60)).fit(
        *motion
    )


class Problem:
    """A prior far from zero, old statistics in order, and new samples shared at random."""

    def __init__(self, seed, m, d, n=12):
        generator = np.random.default_rng(seed)
        self.h = naive.random_hyperparameters(generator, m, d, m)
        region, regression = naive.prior_arrays(self.h)
        self.prior = HierarchicalPrior(
            NormalWishart(*region),
            MatrixNormalWishart(*regression),
            self.h.concentration,
            self.h.upper_concentration,
            self.h.upper_strength,
        )
        self.Z = self.extended(generator, n, m, d)
        self.samples = [(z[:m], z[:m], z[m + 1 :]) for z in self.Z]
        self.weights = generator.uniform(0.2, 2.0, n)
        self.initial = assignment_statistics(
            self.Z, self.weights, generator.integers(0, 5, n), len(GROUPS)
        )
        # Far more samples each time, so that new ones do not change the order.
        labels = np.repeat(np.arange(5), 8)
        self.previous = assignment_statistics(
            self.extended(generator, 40, m, d), 10.0 * 3.0 ** (4 - labels), labels, 5
        )

    @staticmethod
    def extended(generator, n, m, d):
        X = 2.0 * generator.normal(size=(n, m))
        Y = X @ generator.normal(size=(m, d)) + generator.normal(size=(n, d))
        return np.column_stack([X, np.ones(n), Y])

    def learn(self, rows=slice(None), weights=None, previous=None, max_iterations=1):
        weights = self.weights[rows] if weights is None else weights
        previous = self.previous if previous is None else previous
        state = initial_state(weights, self.prior, self.prior, previous, self.initial, GROUPS)
        inference = BatchInference(max_iterations, tolerance=1e-12, fit_scales=False)
        return inference.run(self.Z[rows], weights, state, np.random.default_rng(0))

    def naive_groups(self, scatter):
        """Groups and the counts in each after the samples that the statistics came from."""
        m, d = len(self.h.location), len(self.h.offset)
        samples, weights = naive.samples_of(scatter, m, m)
        assert all(len(y) == d for _, _, y in samples)
        members = [weights[:, GROUPS == g] for g in range(3)]
        groups = [self.h.group(w.shape[1]).updated(samples, w) for w in members]
        return groups, [w.sum(axis=0) for w in members]


@settings(max_examples=10)
@given(SEEDS, st.integers(1, 3), st.integers(1, 2))
def test_bound_agrees_with_the_sum_of_its_terms(seed, m, d):
    problem = Problem(seed, m, d)
    h, samples, weights = problem.h, problem.samples, problem.weights
    (bound,) = problem.learn().lower_bounds
    groups, counts = problem.naive_groups(problem.previous + problem.initial)
    log_weights = naive.expected_log_weights(h, counts)
    logs = [naive.log_responsibilities(groups, log_weights, sample)[1] for sample in samples]
    r = [np.exp([of_groups[g] for of_groups in logs]) for g in range(3)]
    priors, prior_counts = problem.naive_groups(problem.previous)
    posteriors = [p.updated(samples, weights[:, None] * r[g]) for g, p in enumerate(priors)]
    counts = [c + weights @ r[g] for g, c in enumerate(prior_counts)]
    expected = naive.lower_bound(h, priors, posteriors, prior_counts, counts, r, samples, weights)
    assert bound == pytest.approx(expected, rel=1e-9, abs=1e-6)


@settings(max_examples=10)
@given(
    SEEDS,
    st.floats(0.1, 10.0),
    st.floats(0.1, 10.0),
    st.floats(0.05, 1.0),
    st.floats(0.1, 3.0),
    st.floats(0.02, 0.5),
    st.booleans(),
    st.booleans(),
)
def test_bound_never_falls_in_fit_and_partial_fit(
    seed, concentration, upper_concentration, spread, upper_spread, noise, fit_scales, merge
):
    X, Y = wave(200, 2, 2, seed)
    weights = np.random.default_rng(seed).uniform(0.2, 3.0, 200)
    model = HILR(
        n_components=10,
        prior=TwoLevelPrior(
            concentration=concentration,
            upper_concentration=upper_concentration,
            input_spread=spread,
            upper_centre_spread=upper_spread,
            noise_std=noise,
        ),
        inference=BatchInference(
            fit_scales=fit_scales, merge=merge, tolerance=1e-4, max_iterations=40
        ),
    )
    for rows in (slice(0, 140), slice(140, 200)):
        model.partial_fit(X[rows], Y[rows], weights[rows])
        bounds = model.lower_bounds_
        assert np.all(np.diff(bounds) >= -1e-9 * np.maximum(np.abs(bounds[1:]), 100.0))


def fitted_with_draws(m, d):
    """A model in standard units, its prior, and draws of all that it integrates over."""
    model = HILR(
        n_components=6,
        prior=TwoLevelPrior(
            concentration=3.0,
            upper_concentration=3.0,
            input_spread=0.5,
            input_strength=10.0,
            centre_spread=0.6,
            upper_centre_spread=0.8,
            noise_std=0.05,
            noise_strength=10.0,
        ),
        inference=BatchInference(30, fit_scales=False, merge=True),
        scaling=STANDARD,
    ).fit(*wave(150, m, d, seed=m))
    h = naive.hyperparameters_of(model.prior_)
    samples, weights = naive.samples_of(model.statistics_, m, m)
    members = [weights[:, model.groups_ == g] for g in range(model.n_upper_)]
    groups = [naive.posterior_of_group(h, samples, w) for w in members]
    counts = [w.sum(axis=0) for w in members]
    draws = naive.draw_components(h, groups, counts, np.random.default_rng(m), N_DRAWS)
    return model, h.group(1), draws


def gaussian_densities(values, means, precisions):
    r = values - means
    distance = np.einsum("ni,nij,nj->n", r, precisions, r)
    return np.sqrt(np.linalg.det(precisions / (2.0 * np.pi))) * np.exp(-0.5 * distance)


@pytest.mark.parametrize("sizes", [(1, 1), (2, 2), (3, 1)], ids=str)
def test_predictions_are_averages_over_draws_from_the_posterior(sizes):
    m, d = sizes
    model, prior, draws = fitted_with_draws(m, d)
    assert model.n_upper_ >= 2
    near, between = wave(1, m, d, seed=5)[0][0], np.full(m, 0.1)
    for x in (near, between, np.full(m, 3.0)):
        u = np.append(x, 1.0)
        (mean,), (std,) = model.predict([x], return_std=True)
        (shares,), (means,), (covariances,) = model.predict_components([x])
        assert len(draws) == len(shares)
        masses = np.array([w * gaussian_densities(x, mu, L) for w, mu, L, _, _ in draws])
        total = masses.sum(axis=0)

        def assert_ratio(numerator, expected, total=total):
            # Mean over draws of the numerator divided by that of the total.
            excess = numerator - np.multiply.outer(total, expected)
            error = excess.std(axis=0) / np.sqrt(N_DRAWS)
            # Of some hundred means, which are skewed, none is so far off by chance.
            assert np.all(np.abs(excess.mean(axis=0)) < 5.0 * error + 1e-12 * total.mean())

        # Of components with less, few draws decide.
        assert_ratio(masses[shares > SMALLEST_SHARE].T, shares[shares > SMALLEST_SHARE])
        of_components = np.array([maps @ u for _, _, _, maps, _ in draws])
        assert_ratio(np.einsum("kn,kni->ni", masses, of_components), mean)
        # The unseen component's map may be anything: hardly any draw of it comes near an output.
        design = prior.output_design(0, x)
        unseen_mean = (prior.regression.mean @ design)[None]
        unseen_factor = 1.0 + prior.regression.variance(design)
        noises = np.array([np.linalg.inv(V) for *_, V in draws])
        steps = of_components - mean
        spread = noises + steps[:, :, :, None] * steps[:, :, None, :]
        between_components = means - mean
        covariance = np.einsum("k,kij->ij", shares, covariances)
        covariance += np.einsum("k,ki,kj->ij", shares, between_components, between_components)
        assert_ratio(np.einsum("kn,knij->nij", masses, spread), covariance)
        np.testing.assert_allclose(std**2, np.diag(covariance), rtol=1e-8)
        for y in (mean, mean + 1.5 * std):
            densities = np.array(
                [
                    gaussian_densities(y, of_component, V)
                    for of_component, (*_, V) in zip(of_components, draws, strict=True)
                ]
            )
            densities[-1] = gaussian_densities(y, unseen_mean, draws[-1][-1] / unseen_factor)
            expected = np.exp(model.log_predictive_density([x], [y])[0])
            assert_ratio(np.sum(masses * densities, axis=0), expected)


def test_predictive_density_integrates_to_one():
    X, Y = wave(200)
    model = HILR(n_components=12, inference=BatchInference(max_iterations=40)).fit(
        X, 5.0 + 30.0 * Y
    )
    for x in (-1.5, 0.0, 4.0, 50.0):
        mean, std = model.predict([[x]], return_std=True)

        def density(y, x=x):
            return np.exp(model.log_predictive_density([[x]], [[y]])[0])

        edges = mean[0, 0] + std[0, 0] * np.array([-300.0, -10.0, -1.0, 0.0, 1.0, 10.0, 300.0])
        mass = sum(
            quad(density, low, high, epsabs=1e-6, limit=100)[0]
            for low, high in zip(edges[:-1], edges[1:], strict=True)
        )
        assert mass == pytest.approx(1.0, abs=1e-3)


def test_one_component_is_bayesian_linear_regression(motion):
    X, Y = motion
    model = HILR(
        n_components=1,
        prior=TwoLevelPrior(
            noise_std=0.3,
            slope_scale=2.0,
            noise_strength=4.0,
            input_strength=3.0,
            centre_spread=0.5,
            upper_centre_spread=0.8,
        ),
        inference=BatchInference(fit_scales=False),
    ).fit(X, Y)
    assert model.statistics_.shape[0] == model.n_upper_ == 1
    A, B = model.regressors_.scaling.transform(X), model.output_scaling_.transform(Y)
    U = np.column_stack([A, np.ones(len(A))])
    # Ridge regression with the penalties that the settings stand for.
    penalty = np.diag([2 * (0.3 / 2.0) ** 2, 2 * (0.3 / 2.0) ** 2, 0.3**2])
    ridge = np.linalg.solve(U.T @ U + penalty, U.T @ B)
    residuals = B - U @ ridge
    noise = 4.0 * 0.3**2 * np.eye(2) + residuals.T @ residuals + ridge.T @ penalty @ ridge
    regression, region = model.posterior_.regression, model.posterior_.region
    np.testing.assert_allclose(regression.mean[0], ridge.T, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(regression.column_precision[0], U.T @ U + penalty, atol=1e-9)
    np.testing.assert_allclose(regression.inverse_scale[0], noise, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(regression.dof, 2 + 1 + 4.0 + len(X))
    # Its centre is expected within both spreads of the location, which here is that of the data.
    np.testing.assert_allclose(region.kappa, 0.2**2 / (0.5**2 + 0.8**2) + len(X), rtol=1e-9)
    np.testing.assert_allclose(region.mean, 0.0, atol=1e-10)
    np.testing.assert_allclose(
        region.inverse_scale[0], 3.0 * 0.2**2 * np.eye(2) + A.T @ A, rtol=1e-9
    )


def test_the_order_of_samples_makes_no_difference():
    problem = Problem(6, 2, 2, n=40)
    rows = np.random.default_rng(0).permutation(40)
    first, second = (problem.learn(r, max_iterations=20) for r in (slice(None), rows))
    np.testing.assert_allclose(second.statistics, first.statistics, rtol=1e-7, atol=1e-7)
    np.testing.assert_array_equal(second.groups, first.groups)
    np.testing.assert_allclose(second.lower_bounds, first.lower_bounds, rtol=1e-9)


def test_weights_of_samples_are_repetitions():
    problem = Problem(7, 2, 2, n=30)
    repeats = np.random.default_rng(0).integers(1, 4, 30)
    rows = np.repeat(np.arange(30), repeats)
    weighted = problem.learn(weights=repeats.astype(float), max_iterations=20)
    repeated = problem.learn(rows, np.ones(rows.size), max_iterations=20)
    np.testing.assert_allclose(repeated.statistics, weighted.statistics, rtol=1e-7, atol=1e-7)
    np.testing.assert_allclose(repeated.lower_bounds, weighted.lower_bounds, rtol=1e-9)


def test_predictions_follow_translated_and_scaled_inputs_and_outputs(hierarchy, motion):
    X, Y = motion
    a, b = np.array([4.0, 0.125]), np.array([-3.0, 70.0])
    c, e = np.array([0.5, -64.0]), np.array([9.0, -2.0])
    other = HILR(**hierarchy.get_params()).fit(a * X + b, c * Y + e)
    assert other.n_upper_ == hierarchy.n_upper_
    places = np.concatenate([X[::20], [[4.5, 400.0]]])
    mean, std = hierarchy.predict(places, return_std=True)
    other_mean, other_std = other.predict(a * places + b, return_std=True)
    tolerance = 1e-5 * Y.std(axis=0)
    assert np.all(np.abs((other_mean - e) / c - mean) < tolerance)
    assert np.all(np.abs(other_std / np.abs(c) - std) < tolerance)
    np.testing.assert_allclose(
        other.log_predictive_density(a * X + b, c * Y + e) + np.log(np.abs(c)).sum(),
        hierarchy.log_predictive_density(X, Y),
        atol=1e-4,
    )


def test_a_loaded_model_says_the_same_bits_and_learns_on_to_the_same_bits(motion, tmp_path):
    X, Y = motion
    model = HILR(n_components=10, random_state=2, inference=BatchInference(max_iterations=20)).fit(
        X[:200], Y[:200]
    )
    model.save(tmp_path / "model.npz")
    loaded = load_snapshot(tmp_path / "model.npz")
    assert isinstance(loaded, HILR)
    for _ in range(2):
        for a, b in zip(model.predict(X, True), loaded.predict(X, True), strict=True):
            np.testing.assert_array_equal(a, b)
        np.testing.assert_array_equal(
            model.log_predictive_density(X, Y), loaded.log_predictive_density(X, Y)
        )
        np.testing.assert_array_equal(model.groups_, loaded.groups_)
        np.testing.assert_array_equal(model.statistics_, loaded.statistics_)
        for m in (model, loaded):
            m.partial_fit(X[200:], Y[200:])


@pytest.mark.parametrize(
    "x", [(3.2, 150.0), (3.9, -20.0), (2.0, 500.0), (-40.0, 9e3), (1e6, -1e8)], ids=str
)
def test_predictor_agrees_with_predict_near_and_far(hierarchy, x):
    (mean,), (std,) = hierarchy.predict([x], return_std=True)
    found = hierarchy.predictor().query(x)
    scale = hierarchy.output_scaling_.scale
    assert np.all(np.abs(found.mean - mean) < 1e-6 * (scale + np.abs(mean)))
    assert np.all(np.abs(found.std - std) < 1e-6 * (scale + std))
    weights = hierarchy.responsibilities([x])[0]
    assert found.unseen_weight == pytest.approx(weights[-1], rel=1e-8)
    best = int(weights.argmax())
    assert found.component == (-1 if best == weights.size - 1 else best)


def test_far_queries_return_to_the_prior(hierarchy, motion):
    X, Y = motion
    far = np.array([[1e4, 0.0], [3.0, -1e6], [-1e5, 1e6]])
    mean, std = hierarchy.predict(far, return_std=True)
    assert np.all(hierarchy.responsibilities(far)[:, -1] > 0.9)
    assert np.all(np.abs(mean - Y.mean(axis=0)) < 0.2 * Y.std(axis=0) + 0.2 * std)
    _, at_data = hierarchy.predict(X[::10], return_std=True)
    assert np.all(np.median(std, axis=0) > 10.0 * np.median(at_data, axis=0))


def test_with_one_component_batches_add_up_to_one_fit():
    generator = np.random.default_rng(1)
    X, Y = generator.normal(size=(90, 2)), generator.normal(size=(90, 1))
    weights = generator.uniform(0.1, 3.0, 90)
    settings = {
        "n_components": 1,
        "prior": TwoLevelPrior(concentration=1e-6, upper_concentration=1e-6, input_spread=2.0),
        "inference": BatchInference(fit_scales=False, merge=True),
        "scaling": STANDARD,
    }
    whole = HILR(**settings).fit(X, Y, weights)
    parts = HILR(**settings)
    for rows in (slice(0, 30), slice(30, 70), slice(70, 90)):
        parts.partial_fit(X[rows], Y[rows], weights[rows])
    np.testing.assert_allclose(parts.statistics_, whole.statistics_, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(parts.predict(X), whole.predict(X), rtol=1e-8, atol=1e-10)


def test_every_sample_is_counted_once(motion):
    X, Y = motion
    model = HILR(n_components=10, random_state=1, inference=BatchInference(max_iterations=20))
    for first in range(0, 400, 100):
        model.partial_fit(X[first : first + 100], Y[first : first + 100])
    Z = np.column_stack([model.regressors_(X), model.output_scaling_.transform(Y)])
    np.testing.assert_allclose(model.statistics_.sum(axis=0), Z.T @ Z, rtol=1e-9, atol=1e-9)
    assert model.n_samples_ == 400
    # Sorted on both levels.
    counts = model.prior_.counts(model.statistics_)
    totals = np.bincount(model.groups_, weights=counts)
    assert model.n_upper_ == totals.size
    assert np.all(np.diff(totals) <= 0.0)
    assert np.all(np.diff(counts)[np.diff(model.groups_) == 0] <= 0.0)


def test_what_opens_later_begins_apart_from_the_slopes_that_are_known():
    generator = np.random.default_rng(5)
    X = np.linspace(0.0, 1.0, 100)[:, None]
    noise = 0.05 * generator.normal(size=X.shape)
    model = HILR(n_components=1, scaling=Scaling(input_scale=1.0)).fit(X, 3.0 * X + noise)
    model.partial_fit(X + 10.0, -3.0 * X + noise)
    # With another slope: were it begun in the group of the first, it would share its slope.
    assert model.n_upper_ == 2
    np.testing.assert_allclose(np.diff(model.predict([[10.2], [10.8]]), axis=0), -1.8, rtol=0.1)


@pytest.mark.parametrize(
    "inference",
    [StochasticInference(batch_size=100), BatchInference(max_iterations=6)],
    ids=["minibatches", "stopped early"],
)
def test_slopes_are_shared_however_learning_ends(inference):
    generator = np.random.default_rng(3)
    X = np.linspace(-4.0, 4.0, 400)[:, None]
    Y = 2.0 * sawtooth(np.pi * X, 0.5) + 0.1 * generator.normal(size=X.shape)
    model = HILR(n_components=30, inference=inference).fit(X, Y)
    assert model.n_upper_ < 0.6 * model.groups_.size
    before = model.n_upper_
    model.partial_fit(X, Y)
    assert model.n_upper_ <= before + 2


def test_components_without_data_are_not_felt_at_the_data():
    generator = np.random.default_rng(0)
    X = generator.uniform(-2.0, 2.0, (300, 1))
    Y = np.sin(2.0 * X) + 0.05 * generator.normal(size=X.shape)
    model = HILR(n_components=50).fit(X, Y)
    assert np.median(model.predict(X, return_std=True)[1]) < 0.08
    model.partial_fit(X + 20.0, Y + 5.0)
    assert np.median(model.predict(X, return_std=True)[1]) < 0.08


@pytest.mark.parametrize("seed", [0, 1])
def test_a_triangle_wave_has_two_slopes(seed):
    generator = np.random.default_rng(seed)
    X = np.linspace(-4.0, 4.0, 650)[:, None]
    Y = 2.0 * sawtooth(np.pi * X, 0.5) + 0.1 * generator.normal(size=X.shape)
    model = HILR(
        n_components=50,
        random_state=seed,
        inference=BatchInference(merge=True, max_iterations=1000),
    ).fit(X, Y)
    assert model.n_upper_ == 2
    # Up and down, four times each.
    np.testing.assert_array_equal(np.bincount(model.groups_), [4, 4])
    places = np.linspace(-4.0, 4.0, 1000)[:, None]
    error = model.predict(places, mode="mode") - 2.0 * sawtooth(np.pi * places, 0.5)
    assert np.mean(error**2) / np.var(Y) < 5e-3
