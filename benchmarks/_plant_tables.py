# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Tables of the arms that no term describes: medians over the seeds, and ratios to the best."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import Any

import numpy as np
from _plant_experiments import GATED
from _plant_paths import PATHS
from _tracking_before import ERRORS_OF_PHYSICS, SCORES_OF_PHYSICS_ILR, OfSeeds

__all__ = ["medians", "print_plant", "ratios", "wrong_stretches"]

Results = dict[str, Any]
OfController = list[Results]
"""Results by path, one for each seed."""

FIGURES = ("mse", "coverage", "interval_width", "interval_score", "gate_mean")
# What the product is measured by, besides `physics_pd` as it was.
BASELINES = ("pd", "analytic_pd", "identified_pd")
# With fewer wrong stretches nothing is known about the gate.
FEWEST_STRETCHES = 20
NAME, CELL = 16, 12


def print_plant(plant: str, results: dict[str, OfController]) -> tuple[Results, Results]:
    """
    Print the tables of a plant.

    Parameters
    ----------
    plant
        Its name.
    results
        By controller, those of each seed.

    Returns
    -------
    figures : dict
        Medians by controller and path, and the stretches in which the model is wrong.
    ratios : dict
        Those of `ratios`, by path.
    """
    figures = {name: medians(of_seeds) for name, of_seeds in results.items()}
    print(f"\n{plant}: mean squared error [rad^2]")
    print(_row("", PATHS))
    for name, of_paths in figures.items():
        print(_row(name, [_shown(of_paths[path]["mse"], ".2e") for path in PATHS]))
    n_seeds = max(map(len, results.values()))
    before = _first(ERRORS_OF_PHYSICS.get(plant, {}), n_seeds)
    print(_row("physics, before", [_shown(_median(before[path]), ".2e") for path in PATHS]))
    for name, of_seeds in results.items():
        for fault in _faults(of_seeds):
            print(f"{name:{NAME}}fault, {fault}")
    if GATED not in results:
        return figures, {}
    of_paths = {path: ratios(path, results, before[path]) for path in PATHS}
    print(f"{GATED} against the best of {', '.join(BASELINES)} and physics_pd as it was:")
    for label in ("median", "worst"):
        print(_row(label, [_shown(of_paths[path][label], ".2f") for path in PATHS]))
    scores = _first(SCORES_OF_PHYSICS_ILR.get(plant, {}), n_seeds)
    _print_confidence(plant, figures[GATED], scores)
    figures["gate_where_wrong"] = wrong = wrong_stretches(results[GATED])
    verdict = "" if wrong["stretches"] >= FEWEST_STRETCHES else ": too few for a verdict"
    print(
        f"gate at most 0.5 in {wrong['gate_at_most_half']} of {wrong['stretches']} stretches "
        f"in which the learned torque is wrong{verdict}"
    )
    return figures, of_paths


def medians(of_seeds: OfController) -> dict[str, Results]:
    """Medians by path; those with a fault are None, and the number of faults is said."""
    figures: dict[str, Results] = {}
    for path in PATHS:
        of_path = [result[path] for result in of_seeds]
        n_faults = sum("fault" in result for result in of_path)
        figures[path] = {key: _median([result.get(key) for result in of_path]) for key in FIGURES}
        if n_faults:
            figures[path]["faults"] = n_faults
    return figures


def ratios(path: str, results: dict[str, OfController], before: OfSeeds) -> Results:
    """
    Ratios of the product's errors on a path to the best of what it is measured by.

    Parameters
    ----------
    path
        One of `PATHS`.
    results
        By controller, those of each seed.
    before
        Errors of `physics_pd` as it was, one a seed; None with a fault.

    Returns
    -------
    dict
        That of the medians, and the largest of a seed; None with a fault of the product. Faults
        of what it is measured by leave those out.
    """
    ours = [result[path].get("mse") for result in results[GATED]]
    errors = [
        [result[path].get("mse") for result in results[name]]
        for name in BASELINES
        if name in results
    ]
    errors.append(before)
    of_seeds = [
        _ratio(error, _best(of_seed)) for error, *of_seed in itertools.zip_longest(ours, *errors)
    ]
    return {
        "median": _ratio(_median(ours), _best(map(_median, errors))),
        "worst": None if None in of_seeds else max(of_seeds),
    }


def wrong_stretches(of_seeds: OfController) -> dict[str, int]:
    """Count the stretches of all paths and seeds in which the learned torque is wrong."""
    keys = ("stretches", "gate_at_most_half")
    tracked = [result[path] for result in of_seeds for path in PATHS]
    counts = {key: sum(result.get(key, 0) for result in tracked) for key in keys}
    n_faults = sum("fault" in result for result in tracked)
    return {**counts, "faults": n_faults} if n_faults else counts


def _first(before: dict[str, OfSeeds], n_seeds: int) -> dict[str, OfSeeds]:
    """Of what was before the same seeds by path, as far as there are so many."""
    return {path: before.get(path, [])[:n_seeds] for path in PATHS}


def _print_confidence(
    plant: str, of_paths: dict[str, Results], before: dict[str, OfSeeds]
) -> None:
    print(f"{plant}, {GATED}: intervals of 95 % of joints that move [Nm], weight of the model")
    for key in FIGURES[1:]:
        cells = [_shown(of_paths[path][key], ".3f") for path in PATHS]
        print(_row(key.replace("_", " "), cells))
        if key == "interval_score":
            print(_row("score, before", [_shown(_median(before[path]), ".3f") for path in PATHS]))


def _row(label: str, cells: Any) -> str:
    return f"{label:{NAME}}" + "".join(f"{cell:>{CELL}}" for cell in cells)


def _shown(value: float | None, form: str) -> str:
    return "-" if value is None else format(value, form)


def _faults(of_seeds: OfController) -> list[str]:
    """Return what ended a controller, each reason once with all paths of the seed."""
    faults: dict[tuple[int, str], list[str]] = {}
    for seed, result in enumerate(of_seeds):
        for path in PATHS:
            if "fault" in result[path]:
                faults.setdefault((seed, result[path]["fault"]), []).append(path)
    return [f"seed {seed}, {', '.join(paths)}: {text}" for (seed, text), paths in faults.items()]


def _best(errors: Iterable[float | None]) -> float | None:
    return min((error for error in errors if error is not None), default=None)


def _ratio(error: float | None, best: float | None) -> float | None:
    return None if error is None or best is None else _rounded(error / best)


def _median(values: OfSeeds) -> float | None:
    """Median over seeds; None if one of them has no figure."""
    return None if None in values or not values else _rounded(float(np.median(values)))


def _rounded(value: float) -> float:
    return float(f"{value:.4g}")
