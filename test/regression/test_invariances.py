# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""What must not matter: the order of samples, columns and batches, the units, the restarts."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ilr_dynamics.regression import ILR, BatchInference, Prior
from ilr_dynamics.regression.inference.initialization import assignment_statistics
from ilr_dynamics.regression.inference.state import initial_state
from ilr_dynamics.regression.mixture.mixture import extend

SEEDS = st.integers(0, 2**32 - 1)
PRIOR = Prior(
    concentration=0.7,
    input_spread=0.4,
    input_strength=2.0,
    centre_spread=1.0,
    noise_std=0.1,
    noise_strength=2.0,
    slope_scale=1.0,
).base_distribution(2, 0, 2)


def labelled_samples(generator, n=80, n_components=4):
    X = generator.normal(size=(n, 2))
    Y = np.sin(2.0 * X) + 0.1 * generator.normal(size=X.shape)
    Z = extend(np.column_stack([X, np.ones(n)]), Y)
    return Z, generator.uniform(0.1, 3.0, n), generator.integers(0, n_components, n)


def assert_equal_posteriors(found, expected):
    for family in ("region", "regression"):
        for name, value in vars(getattr(expected, family)).items():
            np.testing.assert_allclose(
                getattr(getattr(found, family), name), value, rtol=1e-9, atol=1e-10
            )
    np.testing.assert_allclose(found.log_expected_weights, expected.log_expected_weights)
    np.testing.assert_allclose(found.expected_log_weights, expected.expected_log_weights)


@settings(max_examples=25)
@given(SEEDS, st.lists(st.integers(0, 80), max_size=6), st.booleans())
def test_with_fixed_labels_batches_add_up_to_all_samples_at_once(seed, cuts, weighted):
    generator = np.random.default_rng(seed)
    Z, weights, labels = labelled_samples(generator)
    weights = weights if weighted else np.ones(80)
    whole = assignment_statistics(Z, weights, labels, 4)
    parts = np.zeros_like(whole)
    for rows in np.split(generator.permutation(80), np.sort(cuts)):
        parts += assignment_statistics(Z[rows], weights[rows], labels[rows], 4)
    np.testing.assert_allclose(parts, whole, rtol=1e-11, atol=1e-11)
    order, groups = PRIOR.arrange(whole, np.arange(4), 4)
    assert_equal_posteriors(
        PRIOR.posterior(parts[order], groups), PRIOR.posterior(whole[order], groups)
    )
    assert PRIOR.log_evidence(parts, groups) == pytest.approx(PRIOR.log_evidence(whole, groups))


@settings(max_examples=20)
@given(SEEDS)
def test_with_fixed_labels_a_weight_counts_as_repetition(seed):
    generator = np.random.default_rng(seed)
    Z, _, labels = labelled_samples(generator)
    repeats = generator.integers(0, 4, 80)
    weighted = assignment_statistics(Z, repeats.astype(float), labels, 4)
    rows = np.repeat(np.arange(80), repeats)
    repeated = assignment_statistics(Z[rows], np.ones(rows.size), labels[rows], 4)
    np.testing.assert_allclose(weighted, repeated, rtol=1e-11, atol=1e-11)


@settings(max_examples=15)
@given(SEEDS, st.booleans())
def test_the_order_of_samples_makes_no_difference(seed, fit_scales):
    generator = np.random.default_rng(seed)
    Z, weights, labels = labelled_samples(generator)
    results = []
    for rows in (np.arange(80), generator.permutation(80)):
        initial = assignment_statistics(Z[rows], weights[rows], labels[rows], 4)
        state = initial_state(
            weights[rows], PRIOR, PRIOR, np.zeros_like(initial), initial, np.arange(4)
        )
        inference = BatchInference(12, tolerance=1e-12, fit_scales=fit_scales)
        results.append(inference.run(Z[rows], weights[rows], state, generator))
    here, there = results
    np.testing.assert_allclose(there.lower_bounds, here.lower_bounds, rtol=1e-9, atol=1e-7)
    np.testing.assert_allclose(there.statistics, here.statistics, rtol=1e-6, atol=1e-6)


def test_one_component_learns_the_same_from_samples_in_any_order(motion):
    X, Y = motion
    rows = np.random.default_rng(0).permutation(len(X))
    here, there = ILR(1).fit(X, Y), ILR(1).fit(X[rows], Y[rows])
    for a, b in zip(here.predict(X, True), there.predict(X, True), strict=True):
        np.testing.assert_allclose(b, a, rtol=1e-8, atol=1e-8)


def test_the_order_of_queries_makes_no_difference(model, motion):
    X = motion[0]
    rows = np.random.default_rng(1).permutation(len(X))
    for a, b in zip(model.predict(X, True), model.predict(X[rows], True), strict=True):
        np.testing.assert_allclose(b, a[rows], rtol=1e-9)


SCALES = st.lists(st.floats(1e-3, 1e3), min_size=4, max_size=4).map(np.array)
SIGNS = st.lists(st.sampled_from([-1.0, 1.0]), min_size=4, max_size=4).map(np.array)
# In units of the scale: farther away, rounding of the data themselves would show.
SHIFTS = st.lists(st.floats(-10.0, 10.0), min_size=4, max_size=4).map(np.array)


@pytest.mark.parametrize("features", ["linear", "polynomial"])
@settings(max_examples=6)
@given(scales=SCALES, signs=SIGNS, shifts=SHIFTS)
def test_units_zeros_and_signs_of_inputs_and_outputs_make_no_difference(
    motion, features, scales, signs, shifts
):
    X, Y = motion
    spread = np.concatenate([X.std(axis=0), Y.std(axis=0)])
    factors = signs * scales / spread
    x_factor, y_factor = factors[:2], factors[2:]
    x_shift, y_shift = (shifts * scales)[:2], (shifts * scales)[2:]
    settings = {
        "n_components": 6,
        "features": features,
        "degree": 2,
        "inference": BatchInference(max_iterations=6),
    }
    here = ILR(**settings).fit(X, Y)
    there = ILR(**settings).fit(X * x_factor + x_shift, Y * y_factor + y_shift)
    queries = np.concatenate([X[::40], [[6.0, 700.0]]])
    mean, std = here.predict(queries, return_std=True)
    other_mean, other_std = there.predict(queries * x_factor + x_shift, return_std=True)
    np.testing.assert_allclose(
        (other_mean - y_shift) / y_factor / spread[2:], mean / spread[2:], rtol=1e-6, atol=1e-6
    )
    np.testing.assert_allclose(other_std / np.abs(y_factor), std, rtol=1e-6)
    assert there.lower_bounds_[-1] == pytest.approx(here.lower_bounds_[-1], rel=1e-6)


def test_the_order_of_columns_makes_no_difference(motion):
    X, Y = motion
    settings = {"n_components": 6, "inference": BatchInference(max_iterations=6)}
    here, there = ILR(**settings).fit(X, Y), ILR(**settings).fit(X[:, ::-1], Y[:, ::-1])
    for a, b in zip(here.predict(X, True), there.predict(X[:, ::-1], True), strict=True):
        np.testing.assert_allclose(b[:, ::-1], a, rtol=1e-6, atol=1e-6)


def test_of_several_starts_the_best_is_kept(motion):
    settings = {"n_components": 6, "inference": BatchInference(max_iterations=8)}
    generator = np.random.default_rng(29)
    one_by_one = [ILR(random_state=generator, **settings).fit(*motion) for _ in range(4)]
    bounds = [model.lower_bounds_[-1] for model in one_by_one]
    assert 0 < np.argmax(bounds) < 3
    assert np.argmax(bounds) != np.argmax([model.lower_bounds_[0] for model in one_by_one])
    best = ILR(random_state=np.random.default_rng(29), **settings)
    best.set_params(inference__n_restarts=4).fit(*motion)
    assert best.lower_bounds_[-1] == max(bounds)
    np.testing.assert_array_equal(best.statistics_, one_by_one[np.argmax(bounds)].statistics_)


def test_of_several_starts_on_top_of_what_is_known_the_best_is_kept(motion):
    X, Y = motion
    settings = {"n_components": 6, "inference": BatchInference(max_iterations=8)}
    bounds = []
    generator = np.random.default_rng(5)
    for _ in range(3):
        model = ILR(random_state=0, **settings).fit(X[:100], Y[:100])
        model.set_params(random_state=generator).partial_fit(X[100:], Y[100:])
        bounds.append(model.lower_bounds_[-1])
    model = ILR(random_state=0, **settings).fit(X[:100], Y[:100])
    model.set_params(random_state=np.random.default_rng(5), inference__n_restarts=3)
    assert model.partial_fit(X[100:], Y[100:]).lower_bounds_[-1] == max(bounds)
    assert len(set(bounds)) == 3
