# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Real-time priority of the threads of a process."""

from __future__ import annotations

import contextlib
import os
import threading
from pathlib import Path

__all__ = ["take_realtime_priority"]


def take_realtime_priority(priority: int, *, inherited: bool = False) -> str:
    """
    Give the threads of this process a real-time priority (Linux).

    This includes the threads of the middleware, so call it after these were started. Processes
    and threads that are started later have normal priority, unless ``inherited`` is set.

    Parameters
    ----------
    priority : int
        Priority from 1 to 99; 0: change nothing.
    inherited : bool
        Whether children of the calling thread inherit the priority; they must then give it up
        themselves, as a learner does (`LearnerProcess`). The caller that starts a process blocks
        until the kernel has loaded its program, which takes a child of normal priority many
        milliseconds on busy cores.

    Returns
    -------
    str
        Reason why it cannot be done; empty on success or for priority 0.
    """
    if priority == 0:
        return ""
    # Set once: without privileges the flag cannot be removed later, when a process is started.
    heirs = {threading.get_native_id()} if inherited else set()
    try:
        for thread in Path("/proc/self/task").iterdir():
            number = int(thread.name)
            # A thread may have ended in the meantime.
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
        # The parent may have forbidden that this process passes a priority on (systemd:
        # CPUSchedulingResetOnFork). Without privileges it cannot change that, but can have one.
        with contextlib.suppress(PermissionError):
            os.sched_setscheduler(thread, policy, parameters)
            return
    os.sched_setscheduler(thread, policy | os.SCHED_RESET_ON_FORK, parameters)
