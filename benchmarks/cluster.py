# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""
Learning from more samples than fit into memory, by one process and by Dask workers.

Smooth motions of an arm of four joints, made up, in files of 20,000 samples. Measured are

- max_difference: that of predictions, mean and deviation, between the models of one process and
  of two workers, relative to the largest prediction;
- time_ratio: an iteration by two workers over one by one worker;
- survived_kill: whether the model is the same if a worker is killed amid an iteration;
- peak_gb_1e7_rows: the most memory that one process holds while it learns 1e7 samples, one
  iteration.

From what the parts take a simulation tells what an iteration takes on a large cluster.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from _cluster_runs import (
    N_JOINTS,
    TimedMapper,
    WatchedProcess,
    learn,
    other_inputs,
    task_time,
    worker_killer,
    write_motion,
)
from _reduction_tree import Constants, Network, simulated_iteration

from ilr_dynamics.arrays import FloatArray
from ilr_dynamics.cli.table import format_table
from ilr_dynamics.learning.cluster import open_cluster
from ilr_dynamics.learning.joint_training import FILE_ROWS
from ilr_dynamics.regression import ILR, SampleFile

# Of a simulated network: one of 1 Gbit/s, as between the machines of a lab.
NETWORK = Network(bandwidth=1.25e8, latency=2e-4)
SIMULATED_ROWS = 10**9
SIMULATED_WORKERS = (1, 4, 16, 100, 400)
# Times are of the later iterations: the first ones look longer for the components that matter.
FIRST_TIMED = 3


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=400_000)
    parser.add_argument("--components", type=int, default=300)
    parser.add_argument("--iterations", type=int, default=11)
    parser.add_argument("--peak-rows", type=int, default=10**7, help="0: do not measure memory")
    parser.add_argument("--repeats", type=int, default=3, help="of each time; the least counts")
    parser.add_argument("--peak-of", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.peak_of is not None:
        print(json.dumps(peak_of(options.peak_of, options.peak_rows, options.components)))
        return
    with tempfile.TemporaryDirectory(prefix="ilr_cluster_") as folder:
        results, constants = measured(options, Path(folder))
    print(simulation_table(constants))
    if options.peak_rows:
        with tempfile.TemporaryDirectory(prefix="ilr_cluster_") as folder:
            results |= peak(Path(folder), options)
    print(json.dumps({"benchmark": "cluster", **results}))


def measured(options: argparse.Namespace, folder: Path) -> tuple[dict[str, Any], Constants]:
    """Differences and times of one process, one worker and two."""
    files = write_motion(folder, options.rows, FILE_ROWS)
    sizes = options.components, options.iterations
    watched = WatchedProcess()
    one, one_ends = learn(files, watched, *sizes)
    client_time = np.median(np.diff(one_ends)[FIRST_TIMED:]) - np.median(
        [sum(of_files) for of_files in watched.durations[1 + FIRST_TIMED :]]
    )
    times: dict[int, list[float]] = {1: [], 2: []}
    differences = []
    for _ in range(options.repeats):
        for n_workers in times:
            with open_cluster(f"local:{n_workers}") as workers:
                timed = TimedMapper(workers)
                model, ends = learn(files, timed, *sizes)
                of_task = task_time(workers)
            times[n_workers].append(float(np.median(np.diff(ends)[FIRST_TIMED:])))
            differences.append(difference(model, one))
    with open_cluster("local:2") as workers:
        callback, killed = worker_killer(workers, FIRST_TIMED + 1, 0.3 * times[2][-1])
        survivor, _ = learn(files, workers, *sizes, callback)
    whole = options.rows // FILE_ROWS
    of_files = np.array(watched.durations[1 + FIRST_TIMED][:whole])
    constants = Constants(
        file_rows=FILE_ROWS,
        file_time=float(np.mean(of_files)),
        file_spread=float(np.std(of_files) / np.mean(of_files)),
        file_bytes=Path(files[0].path).stat().st_size,
        add_time=add_time(timed.newest),
        task_time=of_task,
        client_time=float(client_time),
        request_bytes=timed.request_bytes,
        sums_bytes=timed.sums_bytes,
    )
    least = {n_workers: min(of_all) for n_workers, of_all in times.items()}
    print(
        format_table(
            ["who", "iteration [s]", "samples/s"],
            [
                [who, f"{seconds:.3f}", f"{options.rows / seconds:,.0f}"]
                for who, seconds in (
                    ("one process, no cluster", float(np.median(np.diff(one_ends)[FIRST_TIMED:]))),
                    ("one worker", least[1]),
                    ("two workers", least[2]),
                )
            ],
        )
    )
    of_kill = difference(survivor, one)
    print(f"killed worker: process {killed[0]}; difference of predictions {of_kill:.1e}")
    return {
        "rows": options.rows,
        "components": one.n_active_,
        "max_difference": max(differences),
        "time_ratio": least[2] / least[1],
        "survived_kill": bool(killed) and of_kill <= 1e-8,
        **{name: getattr(constants, name) for name in constants.__dataclass_fields__},
    }, constants


def difference(model: ILR, expected: ILR) -> float:
    """Largest difference of predictions, means and deviations, relative to the largest one."""

    def predictions(of: ILR) -> FloatArray:
        return np.stack(of.predict(other_inputs(), return_std=True))

    wanted = predictions(expected)
    return float(np.max(np.abs(predictions(model) - wanted)) / np.max(np.abs(wanted)))


def add_time(sums: Any, n: int = 50) -> float:
    """What it takes to add two results, s."""
    start = time.perf_counter()
    for _ in range(n):
        sums + sums
    return (time.perf_counter() - start) / n


def simulation_table(constants: Constants) -> str:
    """What an iteration takes on clusters of several sizes."""
    rows = []
    for n_workers in SIMULATED_WORKERS:
        found = simulated_iteration(constants, NETWORK, SIMULATED_ROWS, n_workers)
        n_files = SIMULATED_ROWS / constants.file_rows
        rows.append(
            [
                n_workers,
                f"{found.total:,.1f}",
                f"{found.computing / found.total:.0%}",
                f"{found.sending:.2f}",
                f"{found.reducing:.2f}",
                f"{found.moved / 1e6:,.0f}",
                f"{n_files / n_workers * constants.file_bytes / 1e9:,.1f}",
            ]
        )
    return format_table(
        [
            f"workers, {SIMULATED_ROWS:.0e} samples",
            "iteration [s]",
            "computing",
            "sending [s]",
            "reducing [s]",
            "moved [MB]",
            "files of a worker [GB]",
        ],
        rows,
    )


def peak(folder: Path, options: argparse.Namespace) -> dict[str, Any]:
    """Most memory of a process that learns from many files, one iteration."""
    write_motion(folder, options.peak_rows, FILE_ROWS, seed=2)
    command = [sys.executable, __file__, "--peak-of", str(folder)]
    command += ["--peak-rows", str(options.peak_rows), "--components", str(options.components)]
    found = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    results: dict[str, Any] = json.loads(found.splitlines()[-1])
    print(
        f"{options.peak_rows:.0e} samples in one process: {results['peak_gb']:.2f} GB at most, "
        f"{results['seconds']:.0f} s"
    )
    name = f"peak_gb_{options.peak_rows:.0e}_rows".replace("e+0", "e")
    return {name: results["peak_gb"], "peak_seconds": results["seconds"]}


def peak_of(folder: Path, n_rows: int, n_components: int) -> dict[str, float]:
    """Learn the files of a folder and look at this process's memory."""
    starts = range(0, n_rows, FILE_ROWS)
    files = [
        _file(path, min(FILE_ROWS, n_rows - start))
        for start, path in zip(starts, sorted(folder.glob("*.npy")), strict=True)
    ]
    began = time.perf_counter()
    learn(files, WatchedProcess(), n_components, 1)
    seconds = time.perf_counter() - began
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return {"peak_gb": int(line.split()[1]) * 1024 / 1e9, "seconds": seconds}
    raise RuntimeError("this kernel does not tell the memory of a process")


def _file(path: Path, n_rows: int) -> SampleFile:
    return SampleFile(str(path), n_rows, 3 * N_JOINTS, N_JOINTS, float(n_rows))


if __name__ == "__main__":
    main()
