# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Arrays whose length is not known before their rows are there."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

__all__ = ["GrowingArray"]

# Rows by which an array grows at least, and the share of those it has: each growth fills the new
# rows with zeros, which takes real memory.
LEAST_ROWS, SHARE = 1 << 14, 32


class GrowingArray:
    """
    Rows, appended block by block.

    Parameters
    ----------
    dtype
        Of the numbers.
    n_columns : int or None
        None: a row is one number.
    expected : int
        Rows that will come at most, if that is known: as long as they have not, they take no real
        memory.
    """

    def __init__(self, dtype: DTypeLike, n_columns: int | None = None, expected: int = 0) -> None:
        shape = (expected,) if n_columns is None else (expected, n_columns)
        self._rows = np.empty(shape, dtype=dtype)
        self._n = 0

    def __len__(self) -> int:
        """Rows appended."""
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
            # Of a large array the kernel moves the pages and not their content, so that the
            # array is never there twice. Nobody else may hold a view: `finish` gives the first.
            more = max(LEAST_ROWS, end // SHARE)
            self._rows.resize((end + more, *self._rows.shape[1:]), refcheck=False)
        self._rows[self._n : end] = values
        self._n = end

    def finish(self) -> NDArray[Any]:
        """Return the rows, and hold none any more."""
        rows, n = self._rows, self._n
        self._rows, self._n = np.empty((0, *rows.shape[1:]), dtype=rows.dtype), 0
        rows.resize((n, *rows.shape[1:]), refcheck=False)
        return rows
