# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest

from ilr_dynamics.control._comparisons import all_finite, within

BOUNDS = np.array([1.0, 2.0])


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_one_value_that_is_not_finite_is_found(bad):
    assert all_finite(np.array([1e308, 1e308]))
    assert not all_finite(np.array([0.0, bad]))


@pytest.mark.parametrize(
    ("values", "inside"),
    [
        ([-1.0, 2.0], True),
        ([np.nextafter(-1.0, -2.0), 0.0], False),
        ([0.0, 2.5], False),
        ([0.0, np.nan], False),
        ([-np.inf, 0.0], False),
    ],
)
def test_magnitudes_up_to_their_bounds_are_within(values, inside):
    assert within(np.array(values), BOUNDS) is inside
