# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""
Dask cluster that computes what learning sums up: of this machine, or one that is running.

Workers hold nothing that cannot be computed again: they read samples from files. Dask gives the
work of one that is lost to others.
"""

from __future__ import annotations

import logging
import operator
import re
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, TypeVar

from ilr_dynamics.exceptions import IlrDynamicsError, InvalidParameterError, LearnerError
from ilr_dynamics.regression.shared.map_reduce import (
    Mapper,
    aligned_blocks,
    sum_of_items,
    tree_sum,
)

__all__ = ["DaskMapper", "open_cluster"]

Item = TypeVar("Item")
Shared = TypeVar("Shared")
Result = TypeVar("Result")

LOCAL = re.compile(r"local:([1-9][0-9]{0,3})")
MISSING = (
    "the package distributed is not installed, which a cluster needs; install it by "
    "'pip install distributed', on all machines of the cluster"
)
# Parts of a sum for each worker: as many as keep all busy if some are slower.
BLOCKS_PER_WORKER = 4
# How long a scheduler may take to answer, s.
CONNECT_TIMEOUT = 15.0


class DaskMapper(Mapper):
    """
    Evaluation by the workers of a Dask cluster.

    Parameters
    ----------
    client : distributed.Client
        Connected to the cluster.
    """

    def __init__(self, client: Any) -> None:
        self.client = client

    def map(
        self, function: Callable[[Item, Shared], Result], items: Sequence[Item], shared: Shared
    ) -> list[Result]:
        """As `Mapper.map`; LearnerError if the cluster fails."""
        given = self._given(shared)
        futures = [self._submit(_evaluated, function, item, given) for item in items]
        with _named_failures():
            results: list[Result] = self.client.gather(futures)
        return results

    def sum(
        self, function: Callable[[Item, Shared], Result], items: Sequence[Item], shared: Shared
    ) -> Result:
        """As `Mapper.sum`; LearnerError if the cluster fails."""
        workers = sorted(self.client.nthreads())
        given = self._given(shared)
        blocks = aligned_blocks(items, BLOCKS_PER_WORKER * max(1, len(workers)))
        parts = []
        for number, block in enumerate(blocks):
            # Where it was last time, as a worker remembers what saves it work, if that is free.
            usual = workers[len(workers) * number // len(blocks)] if workers else None
            parts.append(self._submit(sum_of_items, block, function, given, workers=usual))
        root = tree_sum(parts, lambda first, second: self._submit(operator.add, first, second))
        with _named_failures():
            total: Result = root.result()
        return total

    def _given(self, shared: Any) -> Any:
        """What all need, sent to the cluster once. As a result it is made anew if it is lost."""
        return self._submit(_same, shared)

    def _submit(self, function: Any, *arguments: Any, workers: str | None = None) -> Any:
        return self.client.submit(
            function,
            *arguments,
            workers=workers,
            allow_other_workers=workers is not None,
            pure=False,
        )

    @contextmanager
    def samples_folder(self, parent: Path) -> Iterator[Path]:
        """
        Make a folder for samples, which is removed at the end.

        Raises
        ------
        LearnerError
            If some workers lack this package or do not see the folder; names these.
        """
        with tempfile.TemporaryDirectory(prefix="samples-", dir=parent.absolute()) as name:
            with _named_failures():
                found: dict[str, bool] = self.client.run(_exists, name)
            blind = [worker for worker, sees in found.items() if not sees]
            if blind:
                raise LearnerError(
                    f"the workers {', '.join(blind)} do not see the folder {name}; expected one "
                    "that all machines of the cluster have under the same name"
                )
            yield Path(name)


def _same(value: Shared) -> Shared:
    return value


def _evaluated(function: Callable[[Item, Shared], Result], item: Item, shared: Shared) -> Result:
    return function(item, shared)


def _exists(path: str) -> bool:
    return Path(path).exists()


@contextmanager
def _named_failures() -> Iterator[None]:
    """Errors of the package as they are, all others of a cluster as LearnerError."""
    try:
        yield
    except IlrDynamicsError:
        raise
    except Exception as error:
        raise LearnerError(
            f"the cluster failed: {type(error).__name__}: {error}; expected workers with the same "
            "version of ilr_dynamics, and memory enough for a file of samples each"
        ) from error


@contextmanager
def open_cluster(address: str) -> Iterator[DaskMapper]:
    """
    Connect to a cluster, or run one on this machine meanwhile.

    Parameters
    ----------
    address : str
        That of a Dask scheduler, as tcp://machine:8786, or local:N for N processes here.

    Yields
    ------
    DaskMapper

    Raises
    ------
    InvalidParameterError
        If local: is followed by something else than a number of processes.
    LearnerError
        If the package distributed is missing, or no scheduler answers.
    """
    local = LOCAL.fullmatch(address)
    if local is None and (re.match("local(:|$)", address) or not address.strip()):
        raise InvalidParameterError(
            f"the cluster is {address!r}; expected local:N with 1 to 9999 processes, or the "
            "address of a Dask scheduler, as tcp://machine:8786"
        )
    try:
        import distributed
    except ImportError as error:
        raise LearnerError(MISSING) from error
    with ExitStack() as stack:
        if local is None:
            try:
                client = stack.enter_context(distributed.Client(address, timeout=CONNECT_TIMEOUT))
            # An address of a kind that Dask does not know, or cannot use, is an error of any kind.
            except Exception as error:
                raise LearnerError(
                    f"no Dask scheduler answers at {address}; expected one that runs: {error}"
                ) from error
            try:
                client.wait_for_workers(1, timeout=CONNECT_TIMEOUT)
            except TimeoutError as error:
                raise LearnerError(
                    f"the Dask scheduler at {address} has no workers; expected at least one"
                ) from error
        else:
            with _named_failures():
                workers = distributed.LocalCluster(
                    n_workers=int(local.group(1)),
                    threads_per_worker=1,
                    processes=True,
                    dashboard_address=None,
                    silence_logs=logging.CRITICAL,
                )
                stack.enter_context(workers)
                client = stack.enter_context(distributed.Client(workers))
        yield DaskMapper(client)
