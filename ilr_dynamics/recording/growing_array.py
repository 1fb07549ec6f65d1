# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Array that grows block by block without a second copy in memory."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

__all__ = ["GrowingArray"]

# Smallest growth of an array, in rows and as the divisor of its length. Growth is small because
# new rows are filled with zeros, which takes physical memory.
LEAST_ROWS, SHARE = 1 << 14, 32


class GrowingArray:
    """
    Array to which rows are appended block by block.

    Parameters
    ----------
    dtype : dtype
        Type of the numbers.
    n_columns : int or None
        Number of columns; None: the array is one-dimensional.
    expected : int
        Largest number of rows, if that is known. Until they are appended they take no physical
        memory.
    """

    def __init__(self, dtype: DTypeLike, n_columns: int | None = None, expected: int = 0) -> None:
        shape = (expected,) if n_columns is None else (expected, n_columns)
        self._rows = np.empty(shape, dtype=dtype)
        self._n = 0

    def __len__(self) -> int:
        """Number of rows appended."""
        return self._n

    @property
    def nbytes(self) -> int:
        """Memory taken, bytes."""
        return self._rows.nbytes

    @property
    def row_nbytes(self) -> int:
        """Memory of a row, bytes."""
        return self._rows.itemsize * int(np.prod(self._rows.shape[1:]))

    def append(self, values: NDArray[Any]) -> None:
        """Append rows, which are converted to the array's type."""
        end = self._n + len(values)
        if end > len(self._rows):
            # The kernel moves the pages of a large array rather than their content, so there is
            # never a second copy. No view may exist: the first one is that of `finish`.
            more = max(LEAST_ROWS, end // SHARE)
            self._rows.resize((end + more, *self._rows.shape[1:]), refcheck=False)
        self._rows[self._n : end] = values
        self._n = end

    def finish(self) -> NDArray[Any]:
        """Return the rows and release them."""
        rows, n = self._rows, self._n
        self._rows, self._n = np.empty((0, *rows.shape[1:]), dtype=rows.dtype), 0
        rows.resize((n, *rows.shape[1:]), refcheck=False)
        return rows
