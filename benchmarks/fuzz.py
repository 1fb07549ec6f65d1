# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""
Odd files through everything that loads files: snapshots, predictor files, bags in both storages.

Each input is a valid file, changed at random: as bytes, or inside, behind sound checksums, sizes
and compression. Loading must either succeed, and what was loaded be of use, or raise an error of
the package. A fault is anything else: another exception, the death of the process, more than
TIME_LIMIT for an input, or memory running out below MEMORY_LIMIT. An input depends on its target
and number alone: ``--target snapshot --first 17 --inputs 1`` makes that of a fault again.
"""

from __future__ import annotations

import argparse
import json
import mmap
import multiprocessing
import resource
import signal
import struct
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
from _fuzz_bags import Bags, RosbagsBags
from _fuzz_models import PredictorFiles, Snapshots
from tqdm import tqdm

from ilr_dynamics.exceptions import IlrDynamicsError

TARGETS: dict[str, Callable[[Path], Any]] = {
    "snapshot": Snapshots,
    "predictor": PredictorFiles,
    "mcap": lambda folder: Bags(folder, "mcap"),
    "sqlite3": lambda folder: Bags(folder, "sqlite3"),
}
# What other readers do with the same bags; only by name.
PEERS: dict[str, Callable[[Path], Any]] = {
    "rosbags-mcap": lambda folder: RosbagsBags(folder, "mcap"),
    "rosbags-sqlite3": lambda folder: RosbagsBags(folder, "sqlite3"),
}
LOADERS = TARGETS | PEERS
TIME_LIMIT = 10.0
# Address space on top of what the process has when it starts to load, bytes.
MEMORY_LIMIT = 512 * 1024**2
BATCH = 500
SHOWN_FAULTS = 20


class Hang(BaseException):
    """An input took longer than TIME_LIMIT; not an Exception, which some code might catch."""


def address_space() -> int:
    """Address space of this process, bytes."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    return pages * resource.getpagesize()


def peak_memory() -> int:
    """Most memory this process has had, bytes."""
    return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def ran_out_of_memory(error: BaseException | None) -> bool:
    """Whether an error, or one that led to it, is a lack of memory."""
    while error is not None:
        if isinstance(error, MemoryError):
            return True
        error = error.__cause__ or error.__context__
    return False


def outcome(target: Any) -> tuple[str, str]:
    """Load the input; answer with the kind of outcome and, for a fault, its story."""
    try:
        target.load()
    except IlrDynamicsError as error:
        if ran_out_of_memory(error):
            return "fault", f"out of memory: {traceback.format_exc()}"
        return type(error).__name__, ""
    except Hang:
        return "fault", f"more than {TIME_LIMIT:g} s: {traceback.format_exc()}"
    except Exception:
        return "fault", traceback.format_exc()
    return "loaded", ""


def run_batch(name: str, first: int, count: int, progress: mmap.mmap, channel: Any) -> None:
    """Load inputs, in a process of its own; send what came of them."""

    def on_alarm(number: int, frame: FrameType | None) -> None:
        raise Hang

    signal.signal(signal.SIGALRM, on_alarm)
    outcomes: Counter[str] = Counter()
    faults: list[tuple[int, str, str]] = []
    slowest = (0.0, first)
    with tempfile.TemporaryDirectory() as folder:
        target = LOADERS[name](Path(folder))
        before = peak_memory()
        limit = address_space() + MEMORY_LIMIT
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
        for number in range(first, first + count):
            progress[:8] = struct.pack("<q", number)
            kind = target.write(np.random.default_rng([list(LOADERS).index(name), number]))
            start = time.perf_counter()
            signal.setitimer(signal.ITIMER_REAL, TIME_LIMIT)
            # In code that never comes back to Python, the default action ends the process.
            signal.setitimer(signal.ITIMER_VIRTUAL, 2.0 * TIME_LIMIT)
            try:
                result, story = outcome(target)
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0.0)
                signal.setitimer(signal.ITIMER_VIRTUAL, 0.0)
            slowest = max(slowest, (time.perf_counter() - start, number))
            outcomes[result] += 1
            if story:
                faults.append((number, kind, story))
    channel.send((outcomes, faults, slowest, peak_memory() - before))


def fuzz(name: str, first: int, count: int, bar: tqdm) -> dict[str, Any]:
    """Load `count` inputs of a target, from number `first` on."""
    # Forked, as what a loader imports is there then: a batch takes seconds, imports would too.
    context = multiprocessing.get_context("fork")
    progress = mmap.mmap(-1, 8)
    outcomes: Counter[str] = Counter()
    faults: list[tuple[int, str, str]] = []
    slowest, growth, number = (0.0, first), 0, first
    end = min(first + BATCH, first + count)
    while number < first + count:
        receiver, sender = context.Pipe(duplex=False)
        arguments = (name, number, end - number, progress, sender)
        process = context.Process(target=run_batch, args=arguments)
        process.start()
        sender.close()
        try:
            of_batch = receiver.recv()
        except EOFError:
            of_batch = None
        process.join()
        if of_batch is not None:
            outcomes += of_batch[0]
            faults += of_batch[1]
            slowest, growth = max(slowest, of_batch[2]), max(growth, of_batch[3])
            bar.update(end - number)
            number, end = end, min(end + BATCH, first + count)
            continue
        (deadly,) = struct.unpack("<q", progress[:8])
        if deadly > number:
            # Without it once more: what came of those before it died with the process.
            end = deadly
            continue
        faults.append((deadly, "deadly", f"the process died: exit code {process.exitcode}"))
        outcomes["fault"] += 1
        bar.update(1)
        number, end = deadly + 1, min(deadly + 1 + BATCH, first + count)
    return {"outcomes": outcomes, "faults": faults, "slowest": slowest, "growth": growth}


def main() -> int:
    """Run the inputs; 1 if there was a fault."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[1])
    parser.add_argument("--inputs", type=int, default=2000, help="of each target (%(default)s)")
    parser.add_argument("--first", type=int, default=0, help="number of the first (%(default)s)")
    parser.add_argument("--target", choices=LOADERS, help="only this one")
    options = parser.parse_args()
    names = [options.target] if options.target else list(TARGETS)
    start = time.perf_counter()
    results = {}
    with tqdm(total=len(names) * options.inputs, disable=None) as bar:
        for name in names:
            results[name] = fuzz(name, options.first, options.inputs, bar)
    seconds = time.perf_counter() - start
    n_faults = 0
    for name, result in results.items():
        counts = ", ".join(f"{count} {kind}" for kind, count in result["outcomes"].most_common())
        took, number = result["slowest"]
        print(f"{name}: {counts}")
        print(f"    slowest {took:.2f} s (number {number}); memory +{result['growth'] >> 20} MB")
        for at, kind, story in result["faults"][:SHOWN_FAULTS]:
            print(f"    fault at {name} {at} ({kind}): {story}")
        n_faults += len(result["faults"])
    summary = {
        "benchmark": "fuzz",
        "inputs": sum(result["outcomes"].total() for result in results.values()),
        "loaded": sum(result["outcomes"]["loaded"] for result in results.values()),
        "faults": n_faults,
        "seconds": round(seconds, 1),
        "slowest_s": round(max(result["slowest"][0] for result in results.values()), 3),
        "memory_growth_mb": max(result["growth"] for result in results.values()) >> 20,
    }
    print(json.dumps(summary))
    return 1 if n_faults else 0


if __name__ == "__main__":
    sys.exit(main())
