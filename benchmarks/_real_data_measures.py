# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""What real_data.py measures of one fitted model, and its medians over the seeds."""

from __future__ import annotations

import time

import numpy as np
from _intervals import coverage, interval_score
from _real_data_models import Model
from _real_data_sets import Split

from ilr_dynamics.arrays import FloatArray

__all__ = ["SCATTERED", "measure", "normalised_error", "rounded", "summary"]

N_QUERIES = 200
# Figures whose mean and standard deviation over the seeds are given.
SCATTERED = ("nmse", "log_density", "coverage", "interval_score", "fit_s", "query_us")


def measure(model: Model, split: Split) -> dict[str, object]:
    """
    Fit a model to the training rows and judge it on the test rows.

    Parameters
    ----------
    model
        Has learned nothing.
    split
        Training and test rows.

    Returns
    -------
    dict
        Normalised and mean squared error; of models with intervals each output's coverage and
        their score and the log density; the time of the fit and of a query.
    """
    started = time.perf_counter()
    model.fit(split.X, split.Y)
    fitted = time.perf_counter()
    predicted = model.predict(split.X_test)
    result: dict[str, object] = {
        "nmse": normalised_error(predicted, split.Y_test),
        "mse": float(np.mean((predicted - split.Y_test) ** 2)),
        "fit_s": fitted - started,
        "components": model.n_experts,
    }
    interval = model.interval(split.X_test)
    if interval is not None:
        result["coverage"] = coverage(*interval, split.Y_test)
        scores = interval_score(*interval, split.Y_test) / split.Y_test.std(axis=0)
        result["interval_score"] = float(np.mean(scores))
        # Of outputs in standard deviations of the test set, as the scores are.
        scaling = float(np.mean(np.log(split.Y_test.std(axis=0))))
        result["log_density"] = model.log_density(split.X_test, split.Y_test) + scaling
    result["query_us"] = _query_us(model, split.X_test)
    return result


def normalised_error(predicted: FloatArray, Y: FloatArray) -> float:
    """Mean squared error by the variance of `Y` (n, d), mean over the outputs."""
    return float(np.mean(np.mean((predicted - Y) ** 2, axis=0) / Y.var(axis=0)))


def _query_us(model: Model, X: FloatArray) -> float:
    times = []
    for x in X[:: max(1, len(X) // N_QUERIES)]:
        begun = time.perf_counter()
        model.predict_one(x)
        times.append(time.perf_counter() - begun)
    return 1e6 * float(np.median(times))


def summary(runs: dict[str, list[dict[str, object]]]) -> dict[str, object]:
    """
    Medians over the seeds, and the spread of the errors.

    Parameters
    ----------
    runs
        By protocol, what was measured with each seed.

    Returns
    -------
    dict
        By protocol the normalised error, and below their names the other figures by protocol:
        `coverage` has mean and lowest of the outputs, `coverage_of_outputs` all;
        `mean_and_std` has those of each of `SCATTERED`.
    """
    by_protocol = (
        "coverage",
        "coverage_of_outputs",
        "interval_score",
        "spread",
        "mse",
        "mean_and_std",
    )
    figures: dict[str, object] = {name: {} for name in by_protocol}
    for protocol, results in runs.items():
        errors = [result["nmse"] for result in results]
        figures[protocol] = rounded(np.median(errors))
        figures["spread"][protocol] = rounded(np.ptp(errors))
        figures["mse"][protocol] = rounded(np.median([result["mse"] for result in results]))
        figures["mean_and_std"][protocol] = {
            name: [rounded(np.mean(values)), rounded(np.std(values))]
            for name in SCATTERED
            if name in results[0]
            for values in [[np.mean(result[name]) for result in results]]
        }
        if "coverage" in results[0]:
            covered = np.array([result["coverage"] for result in results])
            means_and_lowest = np.median([covered.mean(axis=1), covered.min(axis=1)], axis=1)
            figures["coverage"][protocol] = [rounded(value) for value in means_and_lowest]
            figures["coverage_of_outputs"][protocol] = [
                rounded(value) for value in np.median(covered, axis=0)
            ]
            scores = [result["interval_score"] for result in results]
            figures["interval_score"][protocol] = rounded(np.median(scores))
    first = next(iter(runs.values()))
    figures["seeds"] = len(first)
    figures["components"] = first[0]["components"]
    figures["fit_s"] = rounded(np.median([result["fit_s"] for result in first]))
    figures["query_us"] = rounded(np.median([result["query_us"] for result in first]))
    return figures


def rounded(value: float) -> float:
    """To four digits."""
    return float(f"{value:.4g}")
