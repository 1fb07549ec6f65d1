# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""
Fast checks of one value per joint, for the control cycle.

For a handful of values NumPy's comparisons and reductions take several times as long as Python's
own on plain floats, most of all when other processes have evicted their code from the caches.
"""

from __future__ import annotations

import math
from operator import le

import numpy as np
from numpy.typing import ArrayLike

from ilr_dynamics.arrays import FloatArray

__all__ = ["all_finite", "within"]


def all_finite(values: ArrayLike) -> bool:
    """Whether each of ``values`` (n,) is finite."""
    # A user's own feed-forward may return a list.
    return all(map(math.isfinite, np.asarray(values).tolist()))


def within(values: FloatArray, bounds: FloatArray) -> bool:
    """Whether each magnitude of ``values`` (n,) is at most its bound (n,); false for a NaN."""
    return all(map(le, map(abs, values.tolist()), bounds.tolist()))
