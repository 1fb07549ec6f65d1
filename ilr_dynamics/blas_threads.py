# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""
Limit of BLAS to one thread while many small matrix products are computed.

The wheels of NumPy and of SciPy bring an OpenBLAS each. After a product the threads of one spin
for some milliseconds while they wait for the next product, on cores that the other library or
another program needs. This package computes thousands of small products: a second thread saves
little on an idle machine, and makes them several times slower while other programs run.
`make bench NAME=fit ARGS="--only beside"` measures learning next to other programs.
"""

from __future__ import annotations

import threading
import warnings
from contextlib import ContextDecorator
from functools import cache
from types import TracebackType
from typing import Any, Self

# Imported first, so that the BLAS libraries of both are loaded and found.
import numpy.linalg  # noqa: F401
import scipy.linalg  # noqa: F401

try:
    import threadpoolctl
except ImportError:  # rosdep has no key for it.
    threadpoolctl = None

__all__ = ["one_blas_thread"]


class _OneBlasThread(ContextDecorator):
    """
    Reentrant context, or decorator, in which BLAS uses one thread.

    OpenBLAS has one number of threads for the whole process: while one Python thread is inside,
    the products of all others use one thread too. The first to enter saves the number, the last to
    leave restores it, also if a signal's handler raises on the way. Who sets another number
    meanwhile keeps it; who saves the number meanwhile, as threadpoolctl's limits do in another
    thread, saves one. Entering takes some 10 us, and next to nothing inside another such context.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._depth = 0
        self._before: list[int] = []

    def __enter__(self) -> Self:
        """Set one thread, if this is the outermost context."""
        entered = False
        try:
            with self._lock:
                if self._depth == 0:
                    self._limit()
                self._depth += 1
                entered = True
            return self
        except BaseException:
            # The with statement will not leave what was not entered.
            with self._lock:
                self._depth -= entered
                self._restore()
            raise

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Restore the number of threads, if no other context is left."""
        left = False
        try:
            with self._lock:
                self._depth -= 1
                left = True
                self._restore()
        except BaseException:
            with self._lock:
                self._depth -= not left
                self._restore()
            raise

    def _limit(self) -> None:
        # What was saved and not yet restored, as two signals came, is what was set before.
        if not self._before:
            self._before = [library.num_threads for library in _libraries()]
        for library in _libraries():
            _set_threads(library, 1)

    def _restore(self) -> None:
        """Restore the numbers if no context is left; once more does no harm."""
        if self._depth > 0:
            return
        for library, before in zip(_libraries(), self._before, strict=False):
            # Another number was set on purpose in the meantime: keep it.
            if library.num_threads == 1:
                _set_threads(library, before)
        self._before = []


one_blas_thread = _OneBlasThread()
"""The one such context of this process: ``with one_blas_thread:`` or ``@one_blas_thread``."""


@cache
def _libraries() -> list[Any]:
    """BLAS libraries of the process, found once: the search takes 10 ms."""
    if threadpoolctl is None:
        warnings.warn(
            "threadpoolctl is not installed (Debian: python3-threadpoolctl): learning is several "
            "times slower next to other programs unless OPENBLAS_NUM_THREADS=1 is set",
            RuntimeWarning,
            stacklevel=4,
        )
        return []
    return list(threadpoolctl.ThreadpoolController().select(user_api="blas").lib_controllers)


def _set_threads(library: Any, number: int) -> None:
    """Set the number of threads from any Python thread: the last to leave may not be the first."""
    # From threadpoolctl 3.8 on, only the thread that set the number first may change it, until it
    # is released.
    release = getattr(library, "clear_controlling_thread", None)
    if release is None:
        library.set_num_threads(number)
        return
    release(force=True)
    library.set_num_threads(number)
    release(force=True)
