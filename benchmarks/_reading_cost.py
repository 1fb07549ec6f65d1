# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""
Time and memory of the inspection of a large recording, in a process of its own on one core.

As a program it inspects the recording of an arm and prints seconds, peak memory and the findings.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from _fault_arms import load_arm
from _fault_motions import periodic_motion
from _fault_recordings import NANOSECONDS, draw_setup, record, room_of, write_streams
from tqdm import tqdm

from ilr_dynamics.inspection import inspect_recording
from ilr_dynamics.recording import RecordingWriter

__all__ = ["reading_cost", "write_large"]

# The motion repeats itself after, s.
PERIOD = 20.0
ARM, STORAGE, RATE = "wam4", "mcap", 500.0


def reading_cost(folder: Path, gigabytes: float, bar: bool = True) -> dict[str, Any]:
    """
    Inspect a sound recording of a size.

    Returns
    -------
    dict
        `seconds_per_gb` of its own size, `peak_mb` of the whole process, and `reading_error` if
        the recording was not read, whereupon the figures say nothing.
    """
    bag = folder / "large"
    size = write_large(bag, gigabytes, bar)
    process = subprocess.run(
        [sys.executable, __file__, str(bag)], stdout=subprocess.PIPE, text=True, check=False
    )
    if process.returncode:
        error = f"exit status {process.returncode}"
        return {"seconds_per_gb": None, "peak_mb": None, "reading_error": error}
    figures = json.loads(process.stdout.splitlines()[-1])
    if figures["unreadable"]:
        error = figures["unreadable"]
        return {"seconds_per_gb": None, "peak_mb": None, "reading_error": error}
    return {
        "seconds_per_gb": float(f"{figures['seconds'] / size:.3g}"),
        "peak_mb": round(figures["peak_mb"]),
    }


def write_large(bag: Path, gigabytes: float, bar: bool = True) -> float:
    """Write a motion again and again, up to a size of the files, and return that, GB."""
    arm, random = load_arm(ARM), np.random.default_rng(0)
    setup = draw_setup(random, arm, STORAGE, ("multisine",), commanded=1.0, velocities=1.0)
    setup = replace(
        setup,
        motion=periodic_motion(random, room_of(arm), PERIOD),
        rate=RATE,
        duration=PERIOD,
        jitter=0.0,
    )
    turn = record(setup)
    with (
        RecordingWriter(bag, STORAGE) as writer,
        tqdm(total=round(1e3 * gigabytes), unit="MB", desc="large", disable=not bar) as progress,
    ):
        while (size := _size(bag)) < gigabytes:
            progress.update(round(1e3 * size) - progress.n)
            write_streams(writer, turn)
            for stream in turn.streams:
                stream.stamp += round(PERIOD * NANOSECONDS)
                stream.received += round(PERIOD * NANOSECONDS)
    return _size(bag)


def _size(folder: Path) -> float:
    return sum(file.stat().st_size for file in folder.iterdir()) / 1e9


def main() -> None:
    """Inspect one recording."""
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    settings = load_arm(ARM).settings
    start = time.perf_counter()
    findings = inspect_recording(sys.argv[1], settings).findings
    seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6
    unreadable = "; ".join(found.text for found in findings if found.kind == "unreadable")
    print(json.dumps({"seconds": seconds, "peak_mb": peak, "unreadable": unreadable}))


if __name__ == "__main__":
    main()
