# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ilr_dynamics.regression.families.stick_breaking import (
    expected_log_weights,
    log_evidence,
    log_expected_weights,
)

COUNTS = st.lists(st.floats(0.0, 50.0), min_size=1, max_size=6).map(np.array)
CONCENTRATIONS = st.floats(0.05, 20.0)


def drawn_weights(counts, concentration, n_draws=50_000):
    """Weights (n_draws, K + 1), stick after stick; the last is what remains."""
    generator = np.random.default_rng(0)
    rest, weights = np.ones(n_draws), []
    for k, count in enumerate(counts):
        stick = generator.beta(1.0 + count, concentration + sum(counts[k + 1 :]), n_draws)
        weights.append(rest * stick)
        rest = rest * (1.0 - stick)
    return np.stack([*weights, rest], axis=1)


@pytest.mark.parametrize("concentration", [0.5, 8.0])
@pytest.mark.parametrize("counts", [[3.0], [7.5, 4.0, 0.3], [2.0, 9.0, 0.0, 5.0]])
def test_expectations_agree_with_draws(counts, concentration):
    draws = drawn_weights(counts, concentration)
    counts = np.array(counts)
    error = draws.std(axis=0) / np.sqrt(len(draws))
    expected = np.exp(log_expected_weights(counts, concentration))
    assert np.all(np.abs(draws.mean(axis=0) - expected) < 3.5 * error)
    logs = np.log(draws[:, :-1])
    error = logs.std(axis=0) / np.sqrt(len(draws))
    found = expected_log_weights(counts, concentration)
    assert np.all(np.abs(logs.mean(axis=0) - found) < 3.5 * error)


@settings(max_examples=30)
@given(COUNTS, CONCENTRATIONS)
def test_expected_weights_and_the_unseen_share_sum_to_one(counts, concentration):
    assert np.sum(np.exp(log_expected_weights(counts, concentration))) == pytest.approx(1.0)


@settings(max_examples=30)
@given(COUNTS, CONCENTRATIONS)
def test_unseen_share_falls_as_the_first_component_gains_samples(counts, concentration):
    more = counts + np.where(np.arange(counts.size) == 0, 1.0, 0.0)
    unseen = log_expected_weights(counts, concentration)[-1]
    assert log_expected_weights(more, concentration)[-1] < unseen


@settings(max_examples=30)
@given(st.lists(st.floats(0.0, 50.0), min_size=2, max_size=4), CONCENTRATIONS)
def test_no_order_has_more_evidence_than_falling_counts(counts, concentration):
    ordered = log_evidence(np.array(sorted(counts, reverse=True)), concentration)
    for order in permutations(counts):
        assert log_evidence(np.array(order), concentration) <= ordered + 1e-9 * abs(ordered)


@settings(max_examples=30)
@given(COUNTS, CONCENTRATIONS)
def test_components_without_samples_add_no_evidence_at_the_end(counts, concentration):
    padded = np.append(counts, [0.0, 0.0])
    found = log_evidence(padded, concentration)
    assert found == pytest.approx(log_evidence(counts, concentration), rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("labels", [[0, 0, 1, 0, 2], [1, 0, 0], [2, 2, 2, 1]])
def test_evidence_is_the_chance_of_drawing_the_labels_in_turn(labels):
    concentration, counts, log_chance = 1.7, np.zeros(3), 0.0
    for label in labels:
        log_chance += log_expected_weights(counts, concentration)[label]
        counts[label] += 1.0
    assert log_evidence(counts, concentration) == pytest.approx(log_chance, rel=1e-12)
