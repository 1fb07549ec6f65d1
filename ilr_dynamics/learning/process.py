# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""A learner in a process of its own, watched without waiting."""

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

from ilr_dynamics.exceptions import LearnerError
from ilr_dynamics.learning.events import Event, Failed, Finished, Progressed, decode_event
from ilr_dynamics.learning.jobs import Job, encode_job
from ilr_dynamics.learning.pipe import Pipe

__all__ = ["CHRT", "LearnerLimits", "LearnerProcess"]

WORKER_COMMAND = (sys.executable, "-P", "-m", "ilr_dynamics.learning.worker")
LOG_TAIL = 4096
"""Bytes of the log kept to explain a crash."""
CANCEL_GRACE = 2.0
"""Time after which a learner that was asked to stop is killed, s."""
# A third of what others get where all want to run: a control loop runs beside it. With less, it
# would hardly come to an end on a machine that is busy with something else.
NICENESS = 5
# Gives a real-time priority back and becomes the program that follows.
CHRT = shutil.which("chrt")
"""None where it is not installed."""
THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


@dataclass(frozen=True)
class LearnerLimits:
    """
    What a learner may take.

    Attributes
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
    Run one job in a process of its own.

    No method waits for the learner, so a control loop may call them. The process has a low
    priority, whatever this one's, one thread, and a session of its own (Ctrl-C in a terminal does
    not reach it); it ends with the thread that made it.

    Parameters
    ----------
    job : Job
        What to do.
    command : sequence of str
        What runs the learner; the process id of the parent is appended.
    limits : LearnerLimits
        Beyond them the learner is ended, and a `Failed` says so.

    Raises
    ------
    LearnerError
        The process cannot be started.
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
        self._heard = time.monotonic()
        self._kill_due = math.inf
        self._output = Pipe(cast("IO[bytes]", self._process.stdout))
        self._log = Pipe(cast("IO[bytes]", self._process.stderr))
        self._log_tail = b""
        self._outcome: Finished | Failed | None = None
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
        elif events:
            self._heard = time.monotonic()
        else:
            self._watch()
        return events

    def cancel(self) -> None:
        """Ask the learner to stop; a `Failed` follows unless it was just done."""
        self._cancelled = True
        self._kill_due = min(self._kill_due, time.monotonic() + CANCEL_GRACE)
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

    def _watch(self) -> None:
        """Kill a learner that hangs or does not stop when asked to."""
        now = time.monotonic()
        if now - self._heard > self._timeout and self._outcome is None:
            self._outcome = Failed(
                f"the learner made no progress for {self._timeout:g} s and was killed; expected "
                "some more often, or a higher learning.timeout"
            )
            self._kill_due = now
        if now >= self._kill_due:
            self._signal(signal.SIGKILL)

    def _take(self, line: bytes, events: list[Event]) -> None:
        """Sort one line of output into the events."""
        try:
            event = decode_event(line)
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


def _lower_priority(pid: int) -> None:
    """
    Give way to other processes, from the first import on.

    Linux divides time among sessions before it looks at the priorities within one (autogroup), so
    that of the learner's own session is lowered too.
    """
    # A process that is gone already shows in the next poll; without autogroups nothing is lost.
    with contextlib.suppress(OSError):
        os.sched_setscheduler(pid, os.SCHED_OTHER, os.sched_param(0))
    with contextlib.suppress(OSError):
        own = os.getpriority(os.PRIO_PROCESS, 0)
        os.setpriority(os.PRIO_PROCESS, pid, min(own + NICENESS, 19))
    with contextlib.suppress(OSError):
        Path(f"/proc/{pid}/autogroup").write_text(str(NICENESS), encoding="ascii")


def _start(command: Sequence[str], job: Job) -> subprocess.Popen[bytes]:
    """Start the process; a file in memory is its stdin, as a pipe that is full would block us."""
    try:
        with open(os.memfd_create("job"), "w+b") as stdin:
            stdin.write(encode_job(job).encode() + b"\n")
            stdin.seek(0)
            return subprocess.Popen(
                [*_giving_priority_back(), *command, str(os.getpid())],
                stdin=stdin,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env={**os.environ, **dict.fromkeys(THREAD_VARIABLES, "1")},
                start_new_session=True,
            )
    except OSError as error:
        raise LearnerError(f"the learner cannot be started: {error}") from error


def _giving_priority_back() -> tuple[str, ...]:
    """
    Return what to put before a command if its process would inherit a real-time priority.

    The process must have it until its program is loaded, which we wait for, and not beyond. Taking
    it away from outside (`_lower_priority`) is too late where both share one core: as urgent as
    the process, we only get there again when Python has started.
    """
    inherited = os.sched_getscheduler(0) in (os.SCHED_FIFO, os.SCHED_RR)
    return (CHRT, "-o", "0") if inherited and CHRT else ()


def _confine(pid: int, memory: float) -> None:
    """Limit the memory of a process, and name it to the kernel as the first to be killed."""
    # A process that is gone already shows in the next poll, with its reason.
    if math.isfinite(memory):
        with contextlib.suppress(ProcessLookupError):
            resource.prlimit(pid, resource.RLIMIT_DATA, (int(memory), int(memory)))
    # Some containers forbid this: the limit alone then has to do.
    with contextlib.suppress(OSError):
        Path(f"/proc/{pid}/oom_score_adj").write_text("1000")
