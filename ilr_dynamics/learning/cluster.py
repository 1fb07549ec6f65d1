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
import os
import re
import signal
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from multiprocessing import resource_tracker
from pathlib import Path
from typing import Any, TypeVar

from ilr_dynamics.exceptions import IlrDynamicsError, InvalidParameterError, LearnerError
from ilr_dynamics.regression.shared.map_reduce import (
    Mapper,
    aligned_blocks,
    sum_of_items,
    tree_sum,
)
from ilr_dynamics.scratch_folder import ScratchFolder

__all__ = ["DaskMapper", "open_cluster"]

Item = TypeVar("Item")
Shared = TypeVar("Shared")
Result = TypeVar("Result")

LOCAL = re.compile(r"local:([1-9][0-9]{0,3})")
MISSING = (
    "the package distributed is not installed, which a cluster needs; install it by "
    "'pip install distributed', on all machines of the cluster"
)
# Processes for each processor of this machine at most: more would only wait for each other.
PER_PROCESSOR = 8
# Parts of a sum for each worker: as many as keep all busy if some are slower.
BLOCKS_PER_WORKER = 4
# Of workers of this machine. By default one tries for 30 s to reach another that was killed, and
# all wait for what it wanted from there.
WORKER_CONFIG = {"distributed.comm.timeouts.connect": "3s"}
# Beginning of the names of folders for samples.
OF_SAMPLES = "ilr_dynamics_samples_"
# Objection to a folder that is not there.
UNSEEN = "unseen"
# How long a scheduler may take to answer, s.
CONNECT_TIMEOUT = 15.0
# How often it is looked whether there are workers, s.
LOOK_PERIOD = 1.0
# For how long there may be none, s, until that is told and until it is an error.
TOLD_AFTER, GIVEN_UP_AFTER = 5.0, 60.0


class DaskMapper(Mapper):
    """
    Evaluation by the workers of a Dask cluster.

    Parameters
    ----------
    client : distributed.Client
        Connected to the cluster.
    tell : callable
        Called with what a person who waits should know.
    """

    def __init__(self, client: Any, tell: Callable[[str], None]) -> None:
        self.client = client
        self._tell = tell
        self._address = client.scheduler.address

    def map(
        self, function: Callable[[Item, Shared], Result], items: Sequence[Item], shared: Shared
    ) -> list[Result]:
        """As `Mapper.map`; LearnerError if the cluster fails."""
        with self._named_failures():
            given = self._given(shared)
            futures = [self._submit(_evaluated, function, item, given) for item in items]
            self._wait(futures)
            results: list[Result] = self.client.gather(futures)
        return results

    def sum(
        self, function: Callable[[Item, Shared], Result], items: Sequence[Item], shared: Shared
    ) -> Result:
        """As `Mapper.sum`; LearnerError if the cluster fails."""
        with self._named_failures():
            workers = sorted(self.client.nthreads())
            given = self._given(shared)
            blocks = aligned_blocks(items, BLOCKS_PER_WORKER * max(1, len(workers)))
            parts = []
            for number, block in enumerate(blocks):
                # Where it was last time, as a worker remembers what saves it work, if that is
                # free.
                usual = workers[len(workers) * number // len(blocks)] if workers else None
                parts.append(self._submit(sum_of_items, block, function, given, workers=usual))
            root = tree_sum(parts, lambda a, b: self._submit(operator.add, a, b))
            self._wait([root])
            total: Result = root.result()
        return total

    def _wait(self, futures: Sequence[Any]) -> None:
        """Wait until all are done or one has failed; LearnerError without a worker for long."""
        from distributed import wait

        last_seen, told = time.monotonic(), False
        while True:
            try:
                wait(futures, timeout=LOOK_PERIOD)
                return
            except TimeoutError:
                if any(future.status == "error" for future in futures):
                    return
            if self.client.nthreads():
                last_seen, told = time.monotonic(), False
                continue
            waited = time.monotonic() - last_seen
            if waited > GIVEN_UP_AFTER:
                raise LearnerError(
                    f"the cluster has had no workers for {waited:.0f} s; expected at least one"
                )
            if waited > TOLD_AFTER and not told:
                told = True
                self._tell(
                    f"the cluster has no workers left; waits up to {GIVEN_UP_AFTER:.0f} s for one"
                )

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
    def _named_failures(self) -> Iterator[None]:
        """Errors of the package as they are, all others of a cluster as LearnerError."""
        gone = LearnerError(
            f"the Dask scheduler at {self._address} is gone; expected one that runs until all is "
            "learned"
        )
        # Dask would wait for it; but one that comes back knows nothing of what it was asked.
        if self.client.status != "running":
            raise gone
        try:
            yield
        except IlrDynamicsError:
            raise
        except Exception as error:
            raise (_failure(error) if self.client.status == "running" else gone) from error

    @contextmanager
    def samples_folder(self, parent: Path) -> Iterator[Path]:
        """
        Make a folder for samples, which is removed at the end.

        Raises
        ------
        LearnerError
            If it cannot be made; if some workers lack this package, do not see the folder or
            cannot write to it; names these.
        """
        try:
            folder = ScratchFolder(OF_SAMPLES, parent.absolute())
        except OSError as error:
            raise LearnerError(
                f"no folder for samples can be made in {parent} ({error}); expected one that this "
                "process and all machines of the cluster may write to"
            ) from error
        with closing(folder):
            with self._named_failures():
                found: dict[str, str] = self.client.run(objection_to, str(folder.path))
            check_seen(folder.path, found)
            yield folder.path


def _failure(error: Exception) -> LearnerError:
    return LearnerError(
        f"the cluster failed: {type(error).__name__}: {error}; expected workers with the same "
        "version of ilr_dynamics, and memory enough for a file of samples each"
    )


def _same(value: Shared) -> Shared:
    return value


def _evaluated(function: Callable[[Item, Shared], Result], item: Item, shared: Shared) -> Result:
    return function(item, shared)


def objection_to(folder: str) -> str:
    """Return why this process cannot write to a folder; `UNSEEN` if it is not there."""
    if not Path(folder).is_dir():
        return UNSEEN
    try:
        tempfile.TemporaryFile(dir=folder).close()
    except OSError as error:
        return str(error)
    return ""


def check_seen(folder: Path, found: Mapping[str, str]) -> None:
    """Raise LearnerError that names the workers who have an objection to a folder (`found`)."""
    of_all = "that all machines of the cluster have under the same name and may write to"
    blind = [worker for worker, objection in found.items() if objection == UNSEEN]
    if blind:
        raise LearnerError(
            f"the workers {', '.join(blind)} do not see the folder {folder}; expected one {of_all}"
        )
    barred = [f"{worker} ({objection})" for worker, objection in found.items() if objection]
    if barred:
        raise LearnerError(
            f"the workers {', '.join(barred)} cannot write to the folder {folder}; expected one "
            f"{of_all}"
        )


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """
    Start threads and processes that Ctrl-C does not reach: it is for the one who has them work.

    A terminal sends it to all processes. What blocks a signal hands that down to what it starts.
    """
    # When this one starts, with the first process otherwise, the signal is no longer blocked.
    resource_tracker.ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def open_cluster(
    address: str, tell: Callable[[str], None] = lambda text: None
) -> Iterator[DaskMapper]:
    """
    Connect to a cluster, or run one on this machine meanwhile.

    Parameters
    ----------
    address : str
        That of a Dask scheduler, as tcp://machine:8786, or local:N for N processes here.
    tell : callable
        Called with what a person who waits should know.

    Yields
    ------
    DaskMapper

    Raises
    ------
    InvalidParameterError
        If local: is followed by something else than a number of processes, or by one far above
        that of the processors.
    LearnerError
        If the package distributed is missing, or no scheduler answers.
    """
    local = LOCAL.fullmatch(address)
    if local is None and (re.match("local(:|$)", address) or not address.strip()):
        raise InvalidParameterError(
            f"the cluster is {address!r}; expected local:N with 1 to 9999 processes, or the "
            "address of a Dask scheduler, as tcp://machine:8786"
        )
    n_processors = os.cpu_count() or 1
    if local is not None and int(local[1]) > PER_PROCESSOR * n_processors:
        raise InvalidParameterError(
            f"the cluster is {address!r}, processes of this machine with its {n_processors} "
            f"processors; expected at most {PER_PROCESSOR * n_processors}, or the address of a "
            "Dask scheduler, as tcp://machine:8786"
        )
    try:
        import distributed
    except ImportError as error:
        raise LearnerError(MISSING) from error
    # What a person should know of it is in the errors that are raised here.
    with distributed.utils.silence_logging_cmgr(logging.CRITICAL), ExitStack() as stack:
        client = _connected(address, stack) if local is None else _started(int(local[1]), stack)
        try:
            yield DaskMapper(client, tell)
        except KeyboardInterrupt:
            # Each question that was under way would be said to have an error nobody looked at.
            logging.getLogger("asyncio").setLevel(logging.CRITICAL)
            raise


def _connected(address: str, stack: ExitStack) -> Any:
    """Client of a cluster that is running, until the stack is closed."""
    import distributed

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
    return client


def _started(n_workers: int, stack: ExitStack) -> Any:
    """Client of a cluster of processes of this machine, which end when the stack is closed."""
    import distributed

    try:
        with _uninterrupted():
            workers = distributed.LocalCluster(
                n_workers=n_workers,
                threads_per_worker=1,
                processes=True,
                dashboard_address=None,
                silence_logs=logging.CRITICAL,
                config=WORKER_CONFIG,
            )
            stack.enter_context(workers)
            return stack.enter_context(distributed.Client(workers))
    except Exception as error:
        raise _failure(error) from error
