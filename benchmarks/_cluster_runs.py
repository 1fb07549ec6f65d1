# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Runs of learning from files, by one process and by clusters, and what their parts take."""

from __future__ import annotations

import os
import pickle
import signal
import threading
import time
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ilr_dynamics.arrays import FloatArray
from ilr_dynamics.exceptions import ConvergenceWarning
from ilr_dynamics.learning.cluster import DaskMapper
from ilr_dynamics.regression import ILR, BatchInference, SampleFile, fit_files, write_samples
from ilr_dynamics.regression.inference.inference import IterationCallback
from ilr_dynamics.regression.shared.map_reduce import Mapper, OneProcess

__all__ = [
    "N_JOINTS",
    "TimedMapper",
    "WatchedProcess",
    "learn",
    "other_inputs",
    "task_time",
    "worker_killer",
    "write_motion",
]

N_JOINTS = 4
RATE = 100.0  # Hz


def write_motion(folder: Path, n_rows: int, file_rows: int, seed: int = 0) -> list[SampleFile]:
    """Write samples of smooth motions of an arm of four joints, one of 200 s for each file."""
    files = []
    for number, start in enumerate(range(0, n_rows, file_rows)):
        generator = np.random.default_rng([seed, number])
        X, Y = _motion(generator, min(file_rows, n_rows - start))
        files.append(write_samples(folder / f"{number:05d}.npy", X, Y))
    return files


def other_inputs(seed: int = 1) -> FloatArray:
    """Inputs (n, 12) of another motion."""
    return _motion(np.random.default_rng([seed, 10**6]), 2000)[0]


def _motion(generator: np.random.Generator, n: int) -> tuple[FloatArray, FloatArray]:
    """Positions, velocities and accelerations (n, 12), and torques (n, 4) of a made-up arm."""
    t = np.arange(n)[:, None, None] / RATE
    rate = 2.0 * np.pi * generator.uniform(0.1, 1.2, (3, N_JOINTS))
    phase = generator.uniform(0.0, 2.0 * np.pi, (3, N_JOINTS))
    size = generator.uniform(0.1, 0.5, (3, N_JOINTS))
    q = np.sum(size * np.sin(rate * t + phase), axis=1)
    qd = np.sum(size * rate * np.cos(rate * t + phase), axis=1)
    qdd = np.sum(-size * rate**2 * np.sin(rate * t + phase), axis=1)
    # Inertia that depends on the posture, gravity, friction, and a ripple that no term describes.
    inertia = 1.0 + 0.3 * np.cos(np.roll(q, -1, axis=1))
    gravity = 5.0 * np.sin(np.cumsum(q, axis=1))
    friction = 0.8 * np.tanh(qd / 0.05) + 0.3 * qd
    torque = inertia * qdd + gravity + friction + 0.3 * np.sin(9.0 * q)
    torque += 0.05 * generator.normal(size=torque.shape)
    return np.concatenate([q, qd, qdd], axis=1), torque


class TimedMapper(Mapper):
    """
    Another mapper, and how long the caller has waited for each of its sums.

    Attributes
    ----------
    durations : list of float
        Of the sums so far, s.
    request_bytes, sums_bytes : int
        Sizes of what was given to all in the newest sum, and of its result.
    """

    def __init__(self, mapper: Mapper) -> None:
        self._mapper = mapper
        self.durations: list[float] = []
        self.request_bytes = self.sums_bytes = 0
        self.newest: Any = None

    def map(self, function: Any, items: Sequence[Any], shared: Any) -> list[Any]:
        return self._mapper.map(function, items, shared)

    def sum(self, function: Any, items: Sequence[Any], shared: Any) -> Any:
        start = time.perf_counter()
        self.newest = self._mapper.sum(function, items, shared)
        self.durations.append(time.perf_counter() - start)
        self.request_bytes = len(pickle.dumps(shared))
        self.sums_bytes = len(pickle.dumps(self.newest))
        return self.newest


class WatchedProcess(OneProcess):
    """
    One process, this one, and how long each file takes in a sum.

    Attributes
    ----------
    durations : list of list of float
        Of each sum those of all files, s.
    """

    def __init__(self) -> None:
        self.durations: list[list[float]] = []

    def sum(self, function: Any, items: Sequence[Any], shared: Any) -> Any:
        of_files: list[float] = []

        def watched(item: Any, given: Any) -> Any:
            start = time.perf_counter()
            result = function(item, given)
            of_files.append(time.perf_counter() - start)
            return result

        self.durations.append(of_files)
        return super().sum(watched, items, shared)


def learn(
    files: Sequence[SampleFile],
    mapper: Mapper,
    n_components: int,
    n_iterations: int,
    callback: IterationCallback | None = None,
) -> tuple[ILR, list[float]]:
    """Learn for some iterations; also when each ended, s."""
    ends: list[float] = []

    def iteration_done(*progress: Any) -> None:
        ends.append(time.perf_counter())
        if callback is not None:
            callback(*progress)

    # None ends early, and nothing else than an iteration is timed.
    inference = BatchInference(n_iterations, tolerance=1e-300, merge=False)
    model = ILR(n_components, inference=inference)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        fit_files(model, files, mapper=mapper, callback=iteration_done)
    return model, ends


def worker_killer(
    mapper: DaskMapper, at: int, delay: float
) -> tuple[IterationCallback, list[int]]:
    """Return a callback that kills a worker some time into an iteration, and whom it killed."""
    killed: list[int] = []

    def callback(iteration: int, *_: Any) -> None:
        if iteration == at:
            killed.append(next(iter(mapper.client.run(os.getpid).values())))
            threading.Timer(delay, os.kill, (killed[0], signal.SIGKILL)).start()

    return callback, killed


def task_time(mapper: Mapper, n: int = 400) -> float:
    """What a task without work takes, s."""
    start = time.perf_counter()
    mapper.map(_nothing, list(range(n)), None)
    return (time.perf_counter() - start) / n


def _nothing(item: int, shared: None) -> int:
    return item
