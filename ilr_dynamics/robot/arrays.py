# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Array type of the robot layer and its hand-out form."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

__all__ = ["FloatArray", "read_only"]

FloatArray = npt.NDArray[np.float64]


def read_only(values: npt.ArrayLike) -> FloatArray:
    """Copy values into an array that nobody can change.

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
