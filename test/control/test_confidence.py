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
    assert GATE.share(unseen, np.array(std)) == pytest.approx(share)


@given(st.floats(0.0, 1.0), st.floats(0.0, 1e9), st.floats(0.0, 1e9))
def test_share_is_a_share(unseen, first, second):
    assert 0.0 <= GATE.share(unseen, np.array([first, second])) <= 1.0


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
