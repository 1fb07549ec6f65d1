# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""
One thread of BLAS while many small matrix products are computed.

The wheels of NumPy and of SciPy bring an OpenBLAS each. After a product its threads wait for the
next one without sleeping, for some milliseconds: those of the one hold the core that those of the
other need, or that another program has. The products of this package are small, and there are
thousands of them: a second thread saves little on a quiet machine, and costs a multiple beside
other programs. `make bench NAME=fit ARGS="--only beside"` measures what these do to learning.
"""

from __future__ import annotations

import os
import threading
import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ContextDecorator
from functools import cache
from types import TracebackType
from typing import Any, Self, TypeVar

# Loaded first, so that the libraries of both are found.
import numpy.linalg  # noqa: F401
import scipy.linalg  # noqa: F401

try:
    import threadpoolctl
except ImportError:  # rosdep has no key for it.
    threadpoolctl = None

__all__ = ["map_on_threads", "one_blas_thread"]

Item = TypeVar("Item")
Result = TypeVar("Result")


class _OneBlasThread(ContextDecorator):
    """
    A block, or a function, in which BLAS uses one thread; it may be entered again inside.

    OpenBLAS has one number of threads for the process: while one Python thread is inside, the
    products of all others have one thread too. The first to enter notes what was set, the last to
    leave sets it again. To enter takes some 10 us, and hardly anything inside a block.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._depth = 0
        self._before: list[int] = []

    def __enter__(self) -> Self:
        """Set one thread if nobody has yet."""
        with self._lock:
            if self._depth == 0:
                self._before = [library.num_threads for library in _libraries()]
                for library in _libraries():
                    _set_threads(library, 1)
            self._depth += 1
        return self

    @property
    def spared(self) -> int:
        """Threads that BLAS would have outside; one where nobody is inside."""
        with self._lock:
            return max(self._before, default=1) if self._depth > 0 else 1

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Set again what was set before if nobody else is inside."""
        with self._lock:
            self._depth -= 1
            if self._depth > 0:
                return
            for library, before in zip(_libraries(), self._before, strict=True):
                # Another number is the wish of somebody else meanwhile.
                if library.num_threads == 1:
                    _set_threads(library, before)


one_blas_thread = _OneBlasThread()
"""The one such block of this process: ``with one_blas_thread:`` or ``@one_blas_thread``."""


def map_on_threads(function: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
    """
    Results of a function of each item, in order, from as many threads as BLAS is spared inside.

    These sleep when they wait. What is worth it takes a millisecond or more an item, nearly all of
    it in NumPy, which lets other threads run meanwhile. Results do not depend on their number.
    """
    n_threads = min(one_blas_thread.spared, len(os.sched_getaffinity(0)), len(items))
    if n_threads < 2:
        return [function(item) for item in items]
    with ThreadPoolExecutor(n_threads) as pool:
        return list(pool.map(function, items))


@cache
def _libraries() -> list[Any]:
    """Libraries of BLAS, found once: to look through all that is loaded takes 10 ms."""
    if threadpoolctl is None:
        warnings.warn(
            "threadpoolctl is not installed (Debian: python3-threadpoolctl): learning is several "
            "times slower beside other programs unless OPENBLAS_NUM_THREADS=1 is set",
            RuntimeWarning,
            stacklevel=4,
        )
        return []
    return list(threadpoolctl.ThreadpoolController().select(user_api="blas").lib_controllers)


def _set_threads(library: Any, number: int) -> None:
    """Set the number from whatever Python thread: the last to leave may not be the first."""
    # From threadpoolctl 3.8 on only the first thread to set a number may, until it is released.
    release = getattr(library, "clear_controlling_thread", None)
    if release is None:
        library.set_num_threads(number)
        return
    release(force=True)
    library.set_num_threads(number)
    release(force=True)
