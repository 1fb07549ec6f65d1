# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Learner process: started, limited and monitored without blocking the caller."""

from __future__ import annotations

import contextlib
import math
import os
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, cast

from ilr_dynamics.exceptions import IlrDynamicsError, LearnerError
from ilr_dynamics.learning.protocol import (
    Event,
    Failed,
    Job,
    Progressed,
    decode_event,
    encode_job,
)
from ilr_dynamics.learning.report import LearningReport

__all__ = ["CHRT", "LearnerLimits", "LearnerProcess"]

WORKER_COMMAND = (sys.executable, "-P", "-m", "ilr_dynamics.learning.worker")
READ_SIZE = 65536
"""Largest number of bytes read from a pipe at a time."""
MAX_LINE = 1 << 20
"""Length in bytes from which an unfinished line counts as garbage."""
LOG_TAIL = 4096
"""Length of the end of the log kept to explain a crash, bytes."""
CANCEL_GRACE = 2.0
"""Time after which a cancelled learner is killed, s."""
# On a busy machine it gives a third of the time of a normal process, so that the control loop is
# not disturbed. With a lower priority the learner would hardly finish on a busy machine.
NICENESS = 5
CHRT = shutil.which("chrt")
"""Program that sets the scheduling policy and then runs another; None where not installed."""
THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


@dataclass(frozen=True)
class LearnerLimits:
    """
    Limits on the time and memory of a learner.

    Parameters
    ----------
    timeout : float
        Longest time without progress, s.
    memory : float
        Largest private memory, bytes.
    """

    timeout: float = math.inf
    memory: float = math.inf


NO_LIMITS = LearnerLimits()


class LearnerProcess:
    """
    Process that runs one job.

    No method except `close` waits for the learner, so a control loop may call them. The process
    has a low priority, whatever the caller's, one thread, and its own session (Ctrl-C in a
    terminal does not reach it). It ends with the thread that started it.

    Parameters
    ----------
    job : Job
        Job to run.
    command : sequence of str
        Command of the learner; the process id of the parent is appended.
    limits : LearnerLimits
        Limits beyond which the learner is killed; the event is then `Failed`.

    Raises
    ------
    LearnerError
        If the process cannot be started.
    """

    def __init__(
        self,
        job: Job,
        command: Sequence[str] = WORKER_COMMAND,
        limits: LearnerLimits = NO_LIMITS,
    ) -> None:
        self._process = _start(command, job)
        _lower_priority(self._process.pid)
        _confine(self._process.pid, limits.memory)
        self._timeout = limits.timeout
        self._last_event = time.monotonic()
        self._kill_due = math.inf
        self._output = _Pipe(cast("IO[bytes]", self._process.stdout))
        self._log = _Pipe(cast("IO[bytes]", self._process.stderr))
        self._log_tail = b""
        self._outcome: LearningReport | Failed | None = None
        self._cancelled = False
        self._ended = False

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
        Return the events since the last call.

        Returns
        -------
        list of Event
            Any number of `Progressed`, and a `LearningReport` or `Failed` once the process has
            ended.
        """
        if self._ended:
            return []
        exit_code = self._process.poll()
        self._log_tail = (self._log_tail + self._log.read())[-LOG_TAIL:]
        events: list[Event] = []
        for line in self._output.lines():
            self._add_event(line, events)
        if exit_code is not None and self._output.at_end:
            events.append(self._conclude(exit_code))
        elif events:
            self._last_event = time.monotonic()
        else:
            self._enforce_timeout()
        return events

    def cancel(self) -> None:
        """Request the learner to stop; `Failed` follows unless it has just finished."""
        self._cancelled = True
        self._kill_due = min(self._kill_due, time.monotonic() + CANCEL_GRACE)
        self._signal(signal.SIGTERM)

    def kill(self) -> None:
        """Kill the learner; `Failed` follows unless it has just finished."""
        self._cancelled = True
        self._signal(signal.SIGKILL)

    def close(self) -> None:
        """Kill the learner and wait until it has ended: for the end of the program only."""
        self.kill()
        self._process.wait()
        self._release()

    def _enforce_timeout(self) -> None:
        """Kill a learner that hangs, or that does not stop when cancelled."""
        now = time.monotonic()
        if now - self._last_event > self._timeout and self._outcome is None:
            self._outcome = Failed(
                f"the learner made no progress for {self._timeout:g} s and was killed; expected "
                "some more often, or a higher learning.timeout"
            )
            self._kill_due = now
        if now >= self._kill_due:
            self._signal(signal.SIGKILL)

    def _add_event(self, line: bytes, events: list[Event]) -> None:
        """Decode one line of output: append progress to the events, keep the outcome."""
        try:
            event = decode_event(line)
        except IlrDynamicsError:
            if self._outcome is None:
                self._outcome = Failed(f"the learner printed {line[:80]!r}; expected a JSON event")
            self._signal(signal.SIGKILL)
            return
        if isinstance(event, Progressed):
            events.append(event)
        elif self._outcome is None:
            self._outcome = event

    def _conclude(self, exit_code: int) -> Event:
        """Return the last event, once the process has ended: the outcome."""
        self._release()
        if self._outcome is not None:
            return self._outcome
        if self._cancelled:
            return Failed("learning was cancelled")
        end = f"exit code {exit_code}"
        if exit_code < 0:
            end = f"signal {signal.Signals(-exit_code).name}"
        if exit_code == -signal.SIGKILL:
            end += ", as the kernel sends when memory is short"
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
    """Reading end of a pipe, which never blocks."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self._buffer = b""
        self.at_end = False
        os.set_blocking(stream.fileno(), False)

    def read(self) -> bytes:
        """Return the bytes that have arrived, at most `READ_SIZE`."""
        try:
            data = os.read(self._stream.fileno(), READ_SIZE)
        except BlockingIOError:
            return b""
        self.at_end = not data
        return data

    def lines(self) -> list[bytes]:
        """Return complete lines that have arrived, and an unfinished one beyond `MAX_LINE`."""
        *lines, self._buffer = (self._buffer + self.read()).split(b"\n")
        if len(self._buffer) > MAX_LINE:
            lines.append(self._buffer)
            self._buffer = b""
        return lines

    def close(self) -> None:
        """Close this end."""
        self._stream.close()


def _lower_priority(pid: int) -> None:
    """
    Lower the priority of a process and of its session.

    Linux divides time among sessions first (autogroup), and among the processes of a session by
    their priorities only then.
    """
    # A process that has ended already shows in the next poll; without autogroups nothing is lost.
    with contextlib.suppress(OSError):
        os.sched_setscheduler(pid, os.SCHED_OTHER, os.sched_param(0))
    with contextlib.suppress(OSError):
        own = os.getpriority(os.PRIO_PROCESS, 0)
        os.setpriority(os.PRIO_PROCESS, pid, min(own + NICENESS, 19))
    with contextlib.suppress(OSError):
        Path(f"/proc/{pid}/autogroup").write_text(str(NICENESS), encoding="ascii")


def _start(command: Sequence[str], job: Job) -> subprocess.Popen[bytes]:
    """Start the process, with a file in memory as stdin: a full pipe would block the caller."""
    try:
        with open(os.memfd_create("job"), "w+b") as stdin:
            stdin.write(encode_job(job).encode() + b"\n")
            stdin.seek(0)
            return subprocess.Popen(
                [*_without_realtime_priority(), *command, str(os.getpid())],
                stdin=stdin,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env={**os.environ, **dict.fromkeys(THREAD_VARIABLES, "1")},
                start_new_session=True,
            )
    except OSError as error:
        raise LearnerError(f"the learner cannot be started: {error}") from error


def _without_realtime_priority() -> tuple[str, ...]:
    """
    Return the prefix of a command whose process would inherit a real-time priority.

    The child keeps the priority until its program is loaded, as the caller waits for that, and the
    prefix gives it up then. Lowering it from outside (`_lower_priority`) is too late where both
    processes share a core: at equal priority the caller runs again only when Python has started.
    """
    inherited = os.sched_getscheduler(0) in (os.SCHED_FIFO, os.SCHED_RR)
    return (CHRT, "-o", "0") if inherited and CHRT else ()


def _confine(pid: int, memory: float) -> None:
    """Limit the memory of a process, and make it the first to be killed if memory is short."""
    # A process that has ended already shows in the next poll, with its reason.
    if math.isfinite(memory):
        with contextlib.suppress(ProcessLookupError):
            resource.prlimit(pid, resource.RLIMIT_DATA, (int(memory), int(memory)))
    # Some containers forbid this: there only the limit applies.
    with contextlib.suppress(OSError):
        Path(f"/proc/{pid}/oom_score_adj").write_text("1000")
