# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Memory and processor time of processes, from Linux's /proc."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

__all__ = ["children_peak_size", "processor_time", "resident_size"]


def resident_size(pid: int) -> float:
    """Memory that a process holds, MB."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def processor_time(pid: int) -> float:
    """Time for which a process and its threads have run, s."""
    # After the name in parentheses, which may hold spaces: utime and stime, in ticks.
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def children_peak_size(pid: int) -> float:
    """Most that the children of a process, those it has now, have ever held together, MB."""
    total = 0.0
    for children in Path(f"/proc/{pid}/task").glob("*/children"):
        # A process or thread may end meanwhile.
        with contextlib.suppress(OSError):
            total += sum(map(_peak_size, children.read_text().split()))
    return total


def _peak_size(pid: str) -> float:
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return float(line.split()[1]) * 1024 / 1e6
    return 0.0
