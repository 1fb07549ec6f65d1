# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Learning beside busy programs, from Python and by `train`, with nothing set about threads."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from _busy_programs import busy_programs
from _simulated_motion import Arm
from numpy.typing import NDArray
from tqdm import tqdm

from ilr_dynamics.control import RigidBodyFeedForward, track
from ilr_dynamics.recording import RecordingWriter
from ilr_dynamics.robot.tool_paths import figure_eight

__all__ = ["beside_busy_programs", "plain_environment", "record_eight", "time_of_train"]

THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
BUSY_PROGRAMS = (0, 1, 3)
N_TURNS = 3


def beside_busy_programs(measures: dict[str, Callable[[], float]]) -> dict[str, float]:
    """
    Take turns with no, one and three busy programs beside.

    Parameters
    ----------
    measures
        What returns a time, s, by name.

    Returns
    -------
    dict of str to float
        For each name the median time without others, and its ratios with them.
    """
    turns: dict[str, list[list[float]]] = {name: [] for name in measures}
    for _ in tqdm(range(N_TURNS), desc="beside", file=sys.stderr, leave=False):
        for name, measure in measures.items():
            turns[name].append([])
            for count in BUSY_PROGRAMS:
                with busy_programs(count):
                    turns[name][-1].append(measure())
    figures = {}
    for name, times in turns.items():
        quiet, *loaded = np.median(times, axis=0)
        figures[f"{name}_s"] = float(f"{quiet:.4g}")
        for count, seconds in zip(BUSY_PROGRAMS[1:], loaded, strict=True):
            figures[f"{name}_ratio_beside_{count}"] = float(f"{seconds / quiet:.3g}")
    return figures


def plain_environment() -> dict[str, str]:
    """Variables of a shell in which nobody has set how many threads there are."""
    return {name: value for name, value in os.environ.items() if name not in THREAD_VARIABLES}


def time_of_train(bag: Path) -> float:
    """Time of the whole program `train`, s."""
    command = [sys.executable, "-P", "-m", "ilr_dynamics.cli.train", str(bag)]
    output = bag.parent / "trained.npz"
    start = time.perf_counter()
    subprocess.run(
        [*command, "--output", str(output)],
        env=plain_environment(),
        check=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    return time.perf_counter() - start


def record_eight(bag: Path, period: float) -> None:
    """Record the simulated arm while the analytic model tracks a figure-eight."""
    arm = Arm(0)
    controller = arm.controller(RigidBodyFeedForward(arm.model))
    run = track(arm.plant, controller, arm.joint_path(figure_eight(period)))
    joints = arm.description.joint_names
    rows: NDArray[np.int64] = np.round(1e9 * run.time).astype(np.int64) + 1
    with RecordingWriter(bag) as writer:
        for at, q, qd, torque in zip(rows, run.position, run.velocity, run.torque, strict=True):
            writer.write_joint_state("/joint_states", int(at), joints, q, qd)
            writer.write_joint_state("/joint_torque_command", int(at), joints, effort=torque)
