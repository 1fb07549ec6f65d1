# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Inputs and outputs without unit."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ilr_dynamics.arrays import FloatArray

__all__ = ["Standardisation"]


@dataclass(frozen=True)
class Standardisation:
    """
    Mean and standard deviation of each column, one where a column is constant.

    Parameters
    ----------
    mean, std : (d,)
    """

    mean: FloatArray
    std: FloatArray

    @classmethod
    def of(cls, A: FloatArray) -> Standardisation:
        """Of the columns of `A`, (n, d)."""
        std = A.std(axis=0)
        return cls(A.mean(axis=0), np.where(std > 0.0, std, 1.0))

    def apply(self, A: FloatArray) -> FloatArray:
        """Without unit; `A` is (n, d) or (d,)."""
        return (A - self.mean) / self.std

    def undo(self, A: FloatArray) -> FloatArray:
        """In the units of the data; `A` is (n, d) or (d,)."""
        return A * self.std + self.mean
