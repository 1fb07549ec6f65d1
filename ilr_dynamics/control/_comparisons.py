# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""
Questions about one value per joint that are asked in every control cycle.

For a handful of values NumPy's comparisons and reductions take several times as long as Python's
own on plain floats, above all when other processes have pushed their code out of the caches.
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
    # A feed-forward that somebody else made may answer with a list.
    return all(map(math.isfinite, np.asarray(values).tolist()))


def within(values: FloatArray, bounds: FloatArray) -> bool:
    """Whether no magnitude of ``values`` (n,) is beyond its bound (n,); NaN counts as beyond."""
    return all(map(le, map(abs, values.tolist()), bounds.tolist()))
