# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""
Map and reduce: sums over items, computed by one process or by many.

A sum of floating-point numbers depends on the order of the additions. Here that is a binary tree
over the items in their order, which the number of items alone determines: who computes which part
of it changes nothing, to the last bit.
"""

from __future__ import annotations

import operator
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

__all__ = ["Mapper", "OneProcess", "aligned_blocks", "sum_of_items", "tree_sum"]

Item = TypeVar("Item")
Shared = TypeVar("Shared")
Result = TypeVar("Result")
Term = TypeVar("Term")


class Mapper(ABC):
    """Evaluation of a function over items, which must not depend on when, where and how often."""

    @abstractmethod
    def map(
        self, function: Callable[[Item, Shared], Result], items: Sequence[Item], shared: Shared
    ) -> list[Result]:
        """Return function(item, shared) of each item, in order."""

    @abstractmethod
    def sum(
        self, function: Callable[[Item, Shared], Result], items: Sequence[Item], shared: Shared
    ) -> Result:
        """Return their sum (`tree_sum`), of at least one item; results know how to add up."""


class OneProcess(Mapper):
    """Evaluation here, one item after the other; few results are in memory at a time."""

    def map(
        self, function: Callable[[Item, Shared], Result], items: Sequence[Item], shared: Shared
    ) -> list[Result]:
        """As `Mapper.map`."""
        return [function(item, shared) for item in items]

    def sum(
        self, function: Callable[[Item, Shared], Result], items: Sequence[Item], shared: Shared
    ) -> Result:
        """As `Mapper.sum`."""
        return sum_of_items(items, function, shared)


def sum_of_items(
    items: Sequence[Item], function: Callable[[Item, Shared], Result], shared: Shared
) -> Result:
    """Sum of function(item, shared) over the items, along the tree."""
    return tree_sum(function(item, shared) for item in items)


def tree_sum(terms: Iterable[Term], add: Callable[[Term, Term], Term] | None = None) -> Term:
    """
    Sum of at least one term: of the first 2^j and of those that follow, each summed up likewise.

    2^j is the largest power of two below the number of terms. At most log2 of it are kept.
    """
    plus: Callable[[Any, Any], Any] = operator.add if add is None else add
    kept: list[tuple[int, Term]] = []
    for term in terms:
        level = 0
        while kept and kept[-1][0] == level:
            term = plus(kept.pop()[1], term)
            level += 1
        kept.append((level, term))
    if not kept:
        raise ValueError("a sum over no items; expected at least one")
    _, total = kept.pop()
    while kept:
        total = plus(kept.pop()[1], total)
    return total


def aligned_blocks(items: Sequence[Item], n_blocks: int) -> list[Sequence[Item]]:
    """
    Cut items into blocks, each of which is a part of the tree: the sum of their sums is the same.

    They have the largest power of two of items that leaves at least `n_blocks`, or one.
    """
    size = 1
    while 2 * size * n_blocks <= len(items):
        size *= 2
    return [items[start : start + size] for start in range(0, len(items), size)]
