# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Child processes that end with the process that started them."""

from __future__ import annotations

import ctypes
import os
import signal
import sys

__all__ = ["die_with_parent"]

PR_SET_PDEATHSIG = 1


def die_with_parent(parent: int, number: int = signal.SIGKILL) -> None:
    """
    Have the kernel signal this process when its parent ends (Linux).

    Parameters
    ----------
    parent : int
        Process id of the parent. If it has ended already, this process exits.
    number : int
        Number of the signal.
    """
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, number)
    if os.getppid() != parent:
        sys.exit("the process that started this one has ended")
