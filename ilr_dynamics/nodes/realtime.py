# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Real-time priority for a process that has a rate to keep."""

from __future__ import annotations

import contextlib
import os
import threading
from pathlib import Path

__all__ = ["take_realtime_priority"]


def take_realtime_priority(priority: int, *, inherited: bool = False) -> str:
    """
    Run the threads of this process before all of normal priority (Linux).

    Those of the middleware too, so call it when they are there. Processes and threads started
    later have normal priority again, unless asked for otherwise.

    Parameters
    ----------
    priority
        From 1 to 99; 0: leave everything as it is.
    inherited
        Whether what the calling thread starts has the priority too, and has to give it back
        itself, as a learner does (`LearnerProcess`). Who starts a process waits until the kernel
        has loaded its program: on busy cores a process of normal priority gets to that after many
        milliseconds only.

    Returns
    -------
    str
        Why it cannot be done; empty if it was, or was not asked for.
    """
    if priority == 0:
        return ""
    # Decided once: without privileges the flag cannot be taken back when a process is started.
    heirs = {threading.get_native_id()} if inherited else set()
    try:
        for thread in Path("/proc/self/task").iterdir():
            number = int(thread.name)
            # One that has ended meanwhile needs no priority.
            with contextlib.suppress(ProcessLookupError):
                _set_priority(number, priority, inherited=number in heirs)
    except OSError as error:
        return (
            f"no real-time priority {priority}: {error.strerror}; expected rtprio to be allowed "
            "in /etc/security/limits.conf"
        )
    return ""


def _set_priority(thread: int, priority: int, *, inherited: bool) -> None:
    policy, parameters = os.SCHED_FIFO, os.sched_param(priority)
    if inherited:
        # Who started this process may have forbidden it to pass a priority on (systemd:
        # CPUSchedulingResetOnFork). Unprivileged it cannot change that, but have one it can.
        with contextlib.suppress(PermissionError):
            os.sched_setscheduler(thread, policy, parameters)
            return
    os.sched_setscheduler(thread, policy | os.SCHED_RESET_ON_FORK, parameters)
