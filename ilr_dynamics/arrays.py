# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Array types of the package, and copies of arrays that cannot be written to."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["BoolArray", "FloatArray", "IndexArray", "read_only"]

FloatArray = NDArray[np.float64]
IndexArray = NDArray[np.intp]
BoolArray = NDArray[np.bool_]


def read_only(values: ArrayLike) -> FloatArray:
    """
    Copy values into an array that cannot be written to.

    Parameters
    ----------
    values : array_like
        Numbers of any shape.

    Returns
    -------
    ndarray
        A float64 copy with its write flag cleared.
    """
    array = np.array(values, dtype=np.float64)
    array.setflags(write=False)
    return array
