# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Sums over stretches of samples, of which the oldest can be forgotten."""

from __future__ import annotations

import numpy as np

from ilr_dynamics.robot.payload_sums import PayloadSums

__all__ = ["PayloadStretches"]


class PayloadStretches:
    """
    Several sums for each of the newest stretches, in memory that is used again.

    Parameters
    ----------
    n_kinds : int
        Number of sums for each stretch.
    most : int
        Number of stretches that are kept.
    n_joints : int
        Number of joints.
    """

    def __init__(self, n_kinds: int, most: int, n_joints: int) -> None:
        one = PayloadSums.none(n_joints)
        self._products = np.empty((n_kinds, most, *one.products.shape))
        self._counts = np.empty((n_kinds, most, *one.count.shape))
        self._n = 0

    def __len__(self) -> int:
        """Return the number of stretches."""
        return self._n

    @property
    def is_full(self) -> bool:
        """Whether one has to be forgotten before another one fits."""
        return self._n == self._counts.shape[1]

    def append(self, sums: tuple[PayloadSums, ...]) -> None:
        """Add the newest stretch."""
        for kind, of_kind in enumerate(sums):
            self._products[kind, self._n] = of_kind.products
            self._counts[kind, self._n] = of_kind.count
        self._n += 1

    def forget(self, n: int) -> None:
        """Forget the n oldest."""
        for values in (self._products, self._counts):
            values[:, : self._n - n] = values[:, n : self._n].copy()
        self._n -= n

    def replace(self, kind: int, by: int) -> None:
        """Let one kind of sums be what another kind is."""
        for values in (self._products, self._counts):
            values[kind, : self._n] = values[by, : self._n]

    def total(self, kind: int, first: int = 0, last: int | None = None) -> PayloadSums:
        """Return the sums of one kind over stretches from `first` to before `last`."""
        chosen = slice(first, self._n if last is None else last)
        return PayloadSums(
            self._products[kind, chosen].sum(axis=0), self._counts[kind, chosen].sum(axis=0)
        )
