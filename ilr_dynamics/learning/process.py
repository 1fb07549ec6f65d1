# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""A learner in a process of its own, watched without waiting."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import IO, Any, cast

from ..exceptions import LearnerError
from .jobs import Job, encode_job

__all__ = ["Event", "Failed", "Finished", "LearnerProcess", "Progressed"]

WORKER_COMMAND = (sys.executable, "-P", "-m", "ilr_dynamics.learning.worker")
READ_SIZE = 65536
"""Bytes taken from a pipe by one poll."""
LOG_TAIL = 4096
"""Bytes of the log kept to explain a crash."""
MAX_LINE = 1 << 20
"""Bytes after which a line without an end is garbage."""
THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


@dataclass(frozen=True)
class Progressed:
    """
    The learner is at work.

    Attributes
    ----------
    stage : str
        "reading", "learning" or "saving".
    fraction : float
        Share of the stage that is done.
    lower_bound : float or None
        Lower bound of the newest iteration, nats per sample.
    """

    stage: str
    fraction: float
    lower_bound: float | None


@dataclass(frozen=True)
class Finished:
    """The job is done; `values` are what `worker.run_job` returns. Nothing follows."""

    values: Mapping[str, Any]


@dataclass(frozen=True)
class Failed:
    """
    The job is not done, and nothing has changed. Nothing follows.

    Attributes
    ----------
    message : str
        Why, for the user.
    """

    message: str


Event = Progressed | Finished | Failed


class LearnerProcess:
    """
    Run one job in a process of its own.

    No method waits for the learner, so a control loop may call them. The process has a low
    priority, one thread, and a process group of its own (Ctrl-C in a terminal does not reach it);
    it ends with the thread that made it.

    Parameters
    ----------
    job : Job
        What to do.
    command : sequence of str
        What runs the learner; the process id of the parent is appended.

    Raises
    ------
    LearnerError
        The process cannot be started.
    """

    def __init__(self, job: Job, command: Sequence[str] = WORKER_COMMAND) -> None:
        self._process = _start(command)
        self._output = _Pipe(cast("IO[bytes]", self._process.stdout))
        self._log = _Pipe(cast("IO[bytes]", self._process.stderr))
        self._log_tail = b""
        self._outcome: Finished | Failed | None = None
        self._cancelled = False
        self._ended = False
        self._send(job)

    @property
    def pid(self) -> int:
        """Process id."""
        return self._process.pid

    @property
    def ended(self) -> bool:
        """Whether the last event has been returned and the process is gone."""
        return self._ended

    def poll(self) -> list[Event]:
        """
        Return what happened since the last call.

        Returns
        -------
        list of Event
            Any number of `Progressed`; then, once, when the process is gone, `Finished` or
            `Failed`.
        """
        if self._ended:
            return []
        exit_code = self._process.poll()
        self._log_tail = (self._log_tail + self._log.read())[-LOG_TAIL:]
        events: list[Event] = []
        for line in self._output.lines():
            self._take(line, events)
        if exit_code is not None and self._output.at_end:
            events.append(self._conclude(exit_code))
        return events

    def cancel(self) -> None:
        """Ask the learner to stop; a `Failed` follows unless it was just done."""
        self._cancelled = True
        self._signal(signal.SIGTERM)

    def kill(self) -> None:
        """Stop the learner at once; a `Failed` follows unless it was just done."""
        self._cancelled = True
        self._signal(signal.SIGKILL)

    def close(self) -> None:
        """Kill the learner and wait until it is gone: for the end of the program only."""
        self.kill()
        self._process.wait()
        self._release()

    def _send(self, job: Job) -> None:
        """Hand over the job; it fits into the pipe's buffer, so this does not wait."""
        stdin = cast("IO[bytes]", self._process.stdin)
        # A process that is gone already shows in the next poll, with its reason.
        with contextlib.suppress(BrokenPipeError), stdin:
            stdin.write(encode_job(job).encode() + b"\n")

    def _take(self, line: bytes, events: list[Event]) -> None:
        """Sort one line of output into the events."""
        try:
            event = _decode_event(line)
        except ValueError:
            if self._outcome is None:
                self._outcome = Failed(f"the learner said {line[:80]!r}; expected a JSON event")
            self._signal(signal.SIGKILL)
            return
        if isinstance(event, Progressed):
            events.append(event)
        elif self._outcome is None:
            self._outcome = event

    def _conclude(self, exit_code: int) -> Event:
        """The last event: the outcome, once the process is gone."""
        self._release()
        if self._outcome is not None:
            return self._outcome
        if self._cancelled:
            return Failed("learning was cancelled")
        end = f"exit code {exit_code}"
        if exit_code < 0:
            end = f"signal {signal.Signals(-exit_code).name}"
        log = self._log_tail.decode(errors="replace").strip()
        last_line = log.splitlines()[-1] if log else "nothing in its log"
        return Failed(f"the learner ended without a result ({end}; {last_line})")

    def _signal(self, number: signal.Signals) -> None:
        if self._process.poll() is None:
            os.killpg(self._process.pid, number)

    def _release(self) -> None:
        self._ended = True
        self._output.close()
        self._log.close()


class _Pipe:
    """One end of a pipe, read without waiting."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self._buffer = b""
        self.at_end = False
        os.set_blocking(stream.fileno(), False)

    def read(self) -> bytes:
        """What has arrived, up to a limit."""
        try:
            data = os.read(self._stream.fileno(), READ_SIZE)
        except BlockingIOError:
            return b""
        self.at_end = not data
        return data

    def lines(self) -> list[bytes]:
        """Whole lines that have arrived; one that does not end is given as it is."""
        *lines, self._buffer = (self._buffer + self.read()).split(b"\n")
        if len(self._buffer) > MAX_LINE:
            lines.append(self._buffer)
            self._buffer = b""
        return lines

    def close(self) -> None:
        """Close this end."""
        self._stream.close()


def _start(command: Sequence[str]) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(
            [*command, str(os.getpid())],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, **dict.fromkeys(THREAD_VARIABLES, "1")},
            process_group=0,
        )
    except OSError as error:
        raise LearnerError(f"the learner cannot be started: {error}") from error


def _decode_event(line: bytes) -> Event:
    """Read one line of the worker; ValueError if it is none."""
    values = json.loads(line)
    if not isinstance(values, dict):
        raise ValueError("not an event")
    kind = values.pop("event", None)
    try:
        if kind == "progress":
            return Progressed(**values)
        if kind == "error":
            return Failed(**values)
    except TypeError as error:
        raise ValueError("not an event") from error
    if kind == "result":
        return Finished(MappingProxyType(values))
    raise ValueError("not an event")
