# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""
What is measured of learning, each in a process of its own: fit.py calls this file.

    python _fit_measures.py NAME FILE [SETTING=VALUE...]

FILE (.npz) holds the arrays; the figures are printed as one line of JSON. Times are of the wall
clock; those of the processor are beside them, as other programs may want the same cores.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from collections.abc import Callable

import numpy as np

from ilr_dynamics.arrays import FloatArray
from ilr_dynamics.blas_threads import one_blas_thread
from ilr_dynamics.regression import ILR, BatchInference, Prior, StochasticInference
from ilr_dynamics.regression.inference.initialization import (
    assignment_statistics,
    k_means_plus_plus,
    nearest_seed,
)
from ilr_dynamics.regression.inference.state import InferenceResult, initial_state
from ilr_dynamics.regression.mixture.mixture import extend

Figures = dict[str, float]

N_PRODUCTS = 10
# What the bound may still change by, relatively, twice in a row.
SETTLED = 1e-5
STOCHASTIC = StochasticInference(batch_size=2000, step_rate=0.6)


class Clock:
    """Wall-clock and processor time of what happened between its readings."""

    def __init__(self) -> None:
        self._times = [self._now()]

    def read(self) -> None:
        self._times.append(self._now())

    def intervals(self) -> FloatArray:
        """Time (n, 2) between readings, s."""
        return np.diff(self._times, axis=0)

    def total(self) -> FloatArray:
        """Time (2,) from the beginning to the last reading, s."""
        return np.subtract(self._times[-1], self._times[0])

    @staticmethod
    def _now() -> tuple[float, float]:
        return time.perf_counter(), time.process_time()


def iteration(X: FloatArray, Y: FloatArray, n_components: int, n_iterations: int) -> Figures:
    """Time of the first iteration and mean of the later ones, beside that of a matrix product."""
    clock, products = Clock(), Clock()
    result = _iterated(X, Y, n_components, n_iterations, clock)
    first, *later = clock.intervals()[1:]
    square = np.random.default_rng(0).normal(size=(1000, 1000))
    with one_blas_thread:
        for _ in range(N_PRODUCTS):
            square @ square
            products.read()
    seconds, cpu_seconds = np.mean(later, axis=0)
    return {
        "first_iteration_s": first[0],
        "first_iteration_cpu_s": first[1],
        "iteration_s": seconds,
        "iteration_cpu_s": cpu_seconds,
        # In products of two matrices of a thousand rows and columns, of the processor's time.
        "iteration_products": cpu_seconds / np.median(products.intervals()[1:, 1]),
        "components": len(result.groups),
    }


def growth(X: FloatArray, Y: FloatArray, n_components: int, n_iterations: int) -> Figures:
    """Mean time of the iterations after the first."""
    clock = Clock()
    result = _iterated(X, Y, n_components, n_iterations, clock)
    mean = np.mean(clock.intervals()[2:], axis=0)
    return {"iteration_s": mean[0], "iteration_cpu_s": mean[1], "components": len(result.groups)}


def full_fit(X: FloatArray, Y: FloatArray, n_components: int) -> Figures:
    """Time of a fit until the bound has settled, and the most memory the process has held."""
    bounds: list[float] = []

    def stop_when_settled(_iteration: int, _max_iterations: int, bound: float) -> None:
        bounds.append(bound)
        changes = np.abs(np.diff(bounds[-3:]))
        if changes.size == 2 and np.all(changes < SETTLED * abs(bound)):
            raise _Settled

    clock = Clock()
    model = ILR(n_components, inference=BatchInference(max_iterations=1000, tolerance=1e-300))
    try:
        model.fit(X, Y, callback=stop_when_settled)
    except _Settled:
        clock.read()
    seconds, cpu_seconds = clock.total()
    return {
        "full_fit_s": seconds,
        "full_fit_cpu_s": cpu_seconds,
        "full_fit_peak_gb": _peak_gb(),
        "full_fit_iterations": len(bounds),
    }


def plain_fit(X: FloatArray, Y: FloatArray, n_components: int) -> Figures:
    """Time of a fit with the default settings."""
    clock = Clock()
    ILR(n_components).fit(X, Y)
    clock.read()
    return {"plain_fit_s": clock.total()[0]}


def partial_fit(
    X: FloatArray, Y: FloatArray, X_new: FloatArray, Y_new: FloatArray, n_known: int
) -> Figures:
    """Time of an update that may open as many components as ILR does by default."""
    model = ILR(n_known).fit(X, Y)
    model.n_components = ILR().n_components
    known = model.n_active_
    clock = Clock()
    model.partial_fit(X_new, Y_new)
    clock.read()
    seconds, cpu_seconds = clock.total()
    return {
        "partial_fit_s": seconds,
        "partial_fit_cpu_s": cpu_seconds,
        "partial_fit_known": known,
        "partial_fit_components": len(model.groups_),
        "partial_fit_iterations": len(model.lower_bounds_),
    }


def stochastic(
    X: FloatArray,
    Y: FloatArray,
    X_test: FloatArray,
    Y_test: FloatArray,
    n_components: int,
    n_passes: int,
) -> Figures:
    """Time and held-out log density of stochastic inference, relative to those of batches."""
    found = {}
    for name, scheme in {
        "batch": BatchInference(),
        "svi": STOCHASTIC.with_params(max_iterations=n_passes),
    }.items():
        clock = Clock()
        model = ILR(n_components, inference=scheme).fit(X, Y)
        clock.read()
        density = float(np.mean(model.log_predictive_density(X_test, Y_test)))
        found[name] = (*clock.total(), density)
    batch_s, batch_cpu_s, batch_density = found["batch"]
    svi_s, svi_cpu_s, svi_density = found["svi"]
    return {
        "batch_fit_s": batch_s,
        "svi_fit_s": svi_s,
        # Of the processor: the runs are one after the other, among other programs.
        "svi_time_ratio": svi_cpu_s / batch_cpu_s,
        "svi_wall_time_ratio": svi_s / batch_s,
        "svi_gap_nats": batch_density - svi_density,
    }


class _Settled(Exception):
    """Ends a fit."""


# As `fit` has it, which is what calls this inference.
@one_blas_thread
def _iterated(
    X: FloatArray, Y: FloatArray, n_components: int, n_iterations: int, clock: Clock
) -> InferenceResult:
    """Iterate from k-means++ with the prior of ILR; the clock is read before and after each."""
    prior = Prior().base_distribution(X.shape[1], 0, Y.shape[1])
    inputs = (X - X.mean(axis=0)) / X.std(axis=0)
    outputs = (Y - Y.mean(axis=0)) / Y.std(axis=0)
    Z = extend(np.column_stack([inputs, np.ones(len(X))]), outputs)
    weights = np.ones(len(X))
    seeds = k_means_plus_plus(inputs, weights, n_components, np.random.default_rng(0))
    initial = assignment_statistics(Z, weights, nearest_seed(inputs, seeds), len(seeds))
    groups = np.arange(len(seeds))
    state = initial_state(weights, prior, prior, np.zeros_like(initial), initial, groups)

    def read_clock(_iteration: int, _max_iterations: int, _bound: float) -> None:
        clock.read()

    scheme = BatchInference(n_iterations, tolerance=1e-300)
    clock.read()
    return scheme.run(Z, weights, state, np.random.default_rng(0), read_clock)


def _peak_gb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9


MEASURES: dict[str, Callable[..., Figures]] = {
    measure.__name__: measure
    for measure in (iteration, growth, full_fit, plain_fit, partial_fit, stochastic)
}


def main() -> int:
    """Measure what the arguments say."""
    name, path, *settings = sys.argv[1:]
    with np.load(path, allow_pickle=False) as data:
        arrays = dict(data)
    numbers = {key: int(value) for key, value in (setting.split("=") for setting in settings)}
    figures = MEASURES[name](**arrays, **numbers)
    print(json.dumps({key: float(f"{value:.4g}") for key, value in figures.items()}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
