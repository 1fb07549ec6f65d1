# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Tables of the tracking experiments: one row a controller, medians over the seeds of the arm."""

from __future__ import annotations

from typing import Any

import numpy as np
from _closed_loop import TEST_PATHS

__all__ = ["print_changes", "print_errors", "print_rates", "rows_of_errors"]

Results = dict[str, Any]
"""Of one experiment, as JSON holds them; with the key "fault" if that is how it ended."""
Figures = dict[str, dict[str, float]]

CHANGES = ("before", "after", "learned", "learned_forgetting", "perfect")
NAME, CELL, NARROW_CELL = 16, 26, 20


def print_errors(
    robot: str, experiment: str, results: dict[str, list[Results]]
) -> dict[str, dict[str, Any]]:
    """Print errors and feedback torques; return their medians by path and controller."""
    print(f"\n{robot}, {experiment}: mean squared error [rad^2], PD torque [Nm]")
    print(" " * NAME + "".join(f"{path:>{CELL}}" for path in TEST_PATHS))
    figures: dict[str, dict[str, Any]] = {path: {} for path in TEST_PATHS}
    for name, of_seeds in results.items():
        rows, by_path = rows_of_errors(name, [result[experiment] for result in of_seeds])
        print("\n".join(rows))
        for path in TEST_PATHS:
            figures[path][name] = None if by_path is None else by_path[path]
    return figures


def rows_of_errors(name: str, of_seeds: list[Results]) -> tuple[list[str], Figures | None]:
    """
    Rows of a controller, and its medians by path.

    Medians are those of the seeds without a fault; the figures say how many had one.
    """
    faults = [
        f"{name:{NAME}}fault, seed {seed}: {result['fault']}"
        for seed, result in enumerate(of_seeds)
        if "fault" in result
    ]
    tracked = [result for result in of_seeds if "fault" not in result]
    if not tracked:
        return faults, None
    errors = np.array([result["mse"] for result in tracked])
    torques = np.array([result["pd_torque"] for result in tracked])
    medians = list(zip(np.median(errors, axis=0), np.median(torques, axis=0), strict=True))
    cells = (f"{error:.2e}, {torque:.2f}" for error, torque in medians)
    rows = [f"{name:{NAME}}" + "".join(f"{cell:>{CELL}}" for cell in cells)]
    if len(tracked) > 1:
        ranges = zip(np.min(errors, axis=0), np.max(errors, axis=0), strict=True)
        cells = (f"({low:.2e} to {high:.2e})" for low, high in ranges)
        rows.append(" " * NAME + "".join(f"{cell:>{CELL}}" for cell in cells))
    failed = {"faults": len(faults)} if faults else {}
    return rows + faults, {
        path: {"mse": _rounded(error), "pd_torque": _rounded(torque), **failed}
        for path, (error, torque) in zip(TEST_PATHS, medians, strict=True)
    }


def print_changes(robot: str, results: dict[str, list[Results]]) -> Results:
    """Print how controllers that learn do on an arm that changes; return the medians."""
    print(f"\n{robot}, half a kilogram and friction doubled: error on T1 [rad^2]")
    print(" " * NAME + "".join(f"{label:>{NARROW_CELL}}" for label in CHANGES))
    figures: Results = {}
    for name, of_seeds in results.items():
        changes = [result.get("change", {}) for result in of_seeds]
        figures[name] = {label: _median(changes, label) for label in CHANGES}
        cells = ("fault" if value is None else f"{value:.2e}" for value in figures[name].values())
        print(f"{name:{NAME}}" + "".join(f"{cell:>{NARROW_CELL}}" for cell in cells))
    return figures


def print_rates(robot: str, results: dict[str, list[Results]]) -> Results:
    """Print how often a second each model is asked in the loop, could the loop do nothing else."""
    medians = {
        name: _median([result["large"] for result in of_seeds], "predictions_per_s")
        for name, of_seeds in results.items()
    }
    rates = {name: round(rate) for name, rate in medians.items() if rate is not None}
    shown = ", ".join(f"{name} {rate:,}" for name, rate in rates.items())
    print(f"\n{robot}, predictions a second in the loop: {shown}")
    return rates


def _median(of_seeds: list[Results], key: str) -> float | None:
    """Median over seeds; None if one of them has no figure."""
    values = [result.get(key) for result in of_seeds]
    return None if None in values else _rounded(np.median(values))


def _rounded(value: float) -> float:
    return float(f"{value:.4g}")
