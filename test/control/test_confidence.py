# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ilr_dynamics.control import ConfidenceGate
from ilr_dynamics.exceptions import InvalidParameterError

GATE = ConfidenceGate(0.2, 0.8, [1.0, 2.0], [3.0, 4.0])


@pytest.mark.parametrize(
    ("unseen", "std", "share"),
    [
        (0.0, [0.0, 0.0], 1.0),
        (0.2, [1.0, 2.0], 1.0),
        (0.5, [0.0, 0.0], 0.5),
        (0.8, [0.0, 0.0], 0.0),
        (0.0, [2.0, 0.0], 0.5),
        (0.0, [0.0, 3.5], 0.25),
        (0.5, [0.0, 3.5], 0.25),
        (0.0, [3.0, 0.0], 0.0),
    ],
)
def test_smaller_of_both_ramps_counts(unseen, std, share):
    assert GATE.bound(unseen, np.array(std)) == pytest.approx(share)


@given(st.floats(0.0, 1.0), st.floats(0.0, 1e9), st.floats(0.0, 1e9))
def test_share_is_a_share(unseen, first, second):
    std = np.array([first, second])
    assert 0.0 <= GATE.bound(unseen, std) <= 1.0
    shares = GATE.shares(unseen, std, 0.7 * std, np.array([1.0, 2.0]))
    assert np.all((shares >= 0.0) & (shares <= GATE.bound(unseen, std)))


def test_shares_are_those_that_err_least():
    doubt, error = np.array([0.4, 1.0]), np.array([0.8, 0.5])
    shares = GATE.shares(0.0, np.array([0.5, 1.0]), doubt, error)
    np.testing.assert_allclose(shares, [0.8, 0.2])

    def expected_square(g):
        return (g * doubt) ** 2 + ((1.0 - g) * error) ** 2

    for change in (-0.01, 0.01):
        assert np.all(expected_square(shares + change) > expected_square(shares))
    # Without doubt the model is used alone, and without a known error up to the bound.
    assert GATE.shares(0.0, np.zeros(2), np.zeros(2), error).tolist() == [1.0, 1.0]
    assert GATE.shares(0.5, np.zeros(2), doubt, None).tolist() == [0.5, 0.5]


@pytest.mark.parametrize(
    ("unseen", "std", "doubt", "error", "trusted"),
    [
        (np.nan, [0.1, 0.1], [0.1, 0.1], [1.0, 1.0], [False, False]),
        (0.0, [np.nan, 0.1], [0.1, 0.1], [1.0, 1.0], [False, False]),
        (0.0, [0.1, 0.1], [np.nan, 0.1], [1.0, 1.0], [False, True]),
        (0.0, [0.1, 0.1], [0.1, 0.1], [1.0, np.nan], [True, False]),
        (np.nan, [0.1, 0.1], [0.1, 0.1], None, [False, False]),
    ],
)
def test_what_is_not_known_is_not_trusted(unseen, std, doubt, error, trusted):
    error = None if error is None else np.array(error)
    shares = GATE.shares(unseen, np.array(std), np.array(doubt), error)
    np.testing.assert_array_equal(shares > 0.9, trusted)
    np.testing.assert_array_equal(shares == 0.0, np.logical_not(trusted))


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ((0.5, 0.5, [1.0], [2.0]), "expected 0 <= unseen_trusted < unseen_refused <= 1"),
        ((0.0, 1.1, [1.0], [2.0]), "got 0 and 1.1"),
        ((0.1, 0.5, [2.0], [2.0]), "std_trusted must be below std_refused"),
        ((0.1, 0.5, [1.0, 1.0], [2.0]), "std_refused must hold 2 values"),
    ],
)
def test_unordered_bounds_are_refused(arguments, text):
    with pytest.raises(InvalidParameterError, match=text):
        ConfidenceGate(*arguments)
