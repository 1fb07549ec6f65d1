# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ilr_dynamics.recording.receipts import Receipts

near = st.integers(1_700_000_000_000_000_000, 1_700_000_003_000_000_000)
times = st.lists(near | st.integers(-(2**63), 2**63 - 1), max_size=20)


@given(st.lists(times, max_size=4))
def test_times_of_any_64_bits_come_back(blocks):
    receipts = Receipts()
    for block in blocks:
        receipts.append(block)
    received = np.array(sum(blocks, []), dtype=np.int64)
    assert receipts.in_order == (received[1:] >= received[:-1]).all()
    np.testing.assert_array_equal(receipts.times(), received)


def test_times_of_a_recorder_take_four_bytes_each():
    receipts = Receipts()
    receipts.append(range(10**18, 10**18 + 10**6 * 200_000, 10**6))
    assert receipts.nbytes < 4.2 * 200_000 + 300_000
