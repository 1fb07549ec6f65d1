# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Sums over stretches are those of what was added and not forgotten."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ilr_dynamics.robot.payload_stretches import PayloadStretches
from ilr_dynamics.robot.payload_sums import PayloadSums


def sums(value):
    return PayloadSums(np.full((2, 13, 13), value), np.full(2, 10.0 * value))


@given(st.lists(st.floats(0.0, 1.0), min_size=1, max_size=8), st.data())
def test_totals_are_sums_of_what_is_kept(values, data):
    kept = PayloadStretches(2, 8, 2)
    for value in values:
        kept.append((sums(value), sums(-value)))
    assert kept.is_full == (len(values) == 8)
    n_forgotten = data.draw(st.integers(0, len(values)))
    kept.forget(n_forgotten)
    left = values[n_forgotten:]
    assert len(kept) == len(left)
    for kind, sign in ((0, 1.0), (1, -1.0)):
        total = kept.total(kind)
        np.testing.assert_allclose(total.products, sign * sum(left), atol=1e-12)
        np.testing.assert_allclose(total.count, sign * 10.0 * sum(left), atol=1e-12)
    first = data.draw(st.integers(0, len(left)))
    np.testing.assert_allclose(
        kept.total(0, 0, first).products + kept.total(0, first).products, sum(left), atol=1e-12
    )
    kept.replace(0, 1)
    np.testing.assert_allclose(kept.total(0).products, -sum(left), atol=1e-12)
