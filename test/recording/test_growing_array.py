# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ilr_dynamics.recording.growing_array import GrowingArray


@given(st.lists(st.integers(0, 30_000), max_size=8))
def test_rows_come_back_as_they_were_appended(lengths):
    array = GrowingArray(np.int64, 2)
    rows = np.arange(2 * sum(lengths)).reshape(-1, 2)
    for block in np.split(rows, np.cumsum(lengths))[: len(lengths)]:
        array.append(block)
    assert len(array) == len(rows)
    assert array.nbytes >= rows.nbytes
    np.testing.assert_array_equal(array.finish(), rows)
    assert array.nbytes == 0 and len(array.finish()) == 0


def test_little_more_is_taken_than_is_there():
    array = GrowingArray(np.float32)
    for _ in range(1000):
        array.append(np.ones(1000))
    assert array.nbytes <= 1.05 * 4 * 1_000_000
