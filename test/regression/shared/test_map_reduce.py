# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Sums along a tree: it depends on the number of terms alone, not on who adds up which part."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ilr_dynamics.regression.shared.map_reduce import (
    OneProcess,
    aligned_blocks,
    sum_of_items,
    tree_sum,
)


def bracket(first, second):
    return f"({first}{second})"


def test_the_tree_is_that_of_the_docstring():
    assert tree_sum("a", bracket) == "a"
    assert tree_sum("abcde", bracket) == "(((ab)(cd))e)"
    assert tree_sum("abcdefg", bracket) == "(((ab)(cd))((ef)g))"


@given(st.integers(1, 200), st.integers(1, 50))
def test_blocks_do_not_change_the_tree(n_items, n_blocks):
    items = [f"{index}," for index in range(n_items)]
    blocks = aligned_blocks(items, n_blocks)
    assert [item for block in blocks for item in block] == items
    assert len(blocks) >= min(n_blocks, n_items)
    # Not many more than asked for: the rest is added up where it is computed.
    assert len(blocks) <= 2 * n_blocks
    of_blocks = (tree_sum(block, bracket) for block in blocks)
    assert tree_sum(of_blocks, bracket) == tree_sum(items, bracket)


@given(st.lists(st.integers(), min_size=1, max_size=40), st.integers())
def test_one_process_evaluates_and_sums_up_in_order(items, shared):
    def shifted(item, by):
        return item + by

    expected = [item + shared for item in items]
    assert OneProcess().map(shifted, items, shared) == expected
    assert OneProcess().sum(shifted, items, shared) == sum(expected)


def test_nothing_has_no_sum():
    with pytest.raises(ValueError, match="expected at least one"):
        sum_of_items([], bracket, "")
