# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Tables and picture of the covering experiment: mean and standard deviation over the seeds."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from _closed_loop import TEST_PATHS
from _covering_experiment import GIVEN
from _covering_figure import draw_covering
from _covering_models import MODELS

__all__ = ["report_covering"]

Results = dict[str, Any]

NAME, CELL = 18, 30
# Shares and errors of the states within so many spacings of the nearest sample.
NEAR_AND_FAR = ("under 0.75", "to 1.25", "to 2", "beyond")


def report_covering(
    robot: str, seeds: int, controllers: list[str], folder: Path, figures: Path
) -> Results:
    """
    Print the tables of one robot and draw its picture.

    Parameters
    ----------
    robot, seeds, controllers
        Whose results are read: of the seeds from 0 on.
    folder
        Where they are kept.
    figures
        Where the picture goes.

    Returns
    -------
    dict
        What the benchmark's line of JSON shall hold.
    """

    def kept(name: str, n_seeds: int = seeds) -> list[Results]:
        files = (folder / f"covering_{robot}_{seed}_{name}.json" for seed in range(n_seeds))
        return [json.loads(file.read_text()) for file in files]

    models = [name for name in MODELS if name in controllers]
    rows = [name for name in GIVEN if name in controllers]
    rows += [row for name in models for row in (name, f"{name}_batches")]
    sweeps = {name: kept(f"{name}_sweep", 1)[0]["rows"] for name in models}
    summary = {
        "times_below_pd": _print_errors(robot, {name: kept(name) for name in rows}, kept("pd")),
        "distances": _print_distances(kept("distances")),
        "experts": _print_sizes({name: kept(name) for name in models}),
        "sweep": {name: _print_sweep(name, of_model) for name, of_model in sweeps.items()},
    }
    for label, of_set in kept("limits", 1)[0].items():
        _print_limits(label, of_set)
    if models:
        curves = {name: [result["curve"] for result in kept(f"{name}_batches")] for name in models}
        figures.mkdir(parents=True, exist_ok=True)
        draw_covering(figures / f"tracking_{robot}_covering.png", curves, sweeps, TEST_PATHS)
    return summary


def _print_errors(robot: str, ways: dict[str, list[Results]], pd: list[Results]) -> Results:
    """Print errors by path; return by controller how many times below PD's its median is."""
    print(f"\n{robot}, covering: squared error [rad^2], mean and deviation; median times below PD")
    print(" " * NAME + "".join(f"{path:>{CELL}}" for path in TEST_PATHS))
    figures: Results = {}
    for name, of_seeds in ways.items():
        for seed, result in enumerate(of_seeds):
            if "fault" in result:
                print(f"{name:{NAME}}fault, seed {seed}: {result['fault']}")
        tracked = [
            (result["mse"], np.divide(of_pd["mse"], result["mse"]))
            for result, of_pd in zip(of_seeds, pd, strict=True)
            if "fault" not in result
        ]
        if not tracked:
            continue
        errors, times = (np.array(values) for values in zip(*tracked, strict=True))
        below = np.median(times, axis=0)
        cells = (
            f"{_mean_and_deviation(errors[:, p])}; {below[p]:.3g}" for p in range(len(TEST_PATHS))
        )
        print(f"{name:{NAME}}" + "".join(f"{cell:>{CELL}}" for cell in cells))
        figures[name] = dict(zip(TEST_PATHS, below.round(2).tolist(), strict=True))
    return figures


def _print_distances(of_seeds: list[Results]) -> Results:
    """Print how far each path is from what was learned."""
    print(
        "\ndistance of a path's states from the nearest training state, in units of the distance"
    )
    print("of a training state from the nearest one of another stretch: least, quartiles, largest")
    figures = {}
    for path in TEST_PATHS:
        figures[path] = np.median([result[path] for result in of_seeds], axis=0).round(2).tolist()
        print(f"{path:{NAME}}" + "".join(f"{value:8.2f}" for value in figures[path]))
    return figures


def _print_sizes(results: dict[str, list[Results]]) -> Results:
    """Print sizes of models that learned all at once; return the median numbers of experts."""
    print()
    for name, of_seeds in results.items():
        columns = {
            key: [result[key] for result in of_seeds]
            for key in ("experts", "slopes", "prediction_us", "learning_s")
        }
        shown = ", ".join(f"{key} {_mean_and_deviation(of)}" for key, of in columns.items())
        print(f"{name:{NAME}}{shown}")
    return {
        name: float(np.median([result["experts"] for result in of_seeds]))
        for name, of_seeds in results.items()
    }


def _print_sweep(name: str, rows: list[Results]) -> list[Results]:
    """Print errors by the number of experts; return them without those of single paths."""
    print(f"\n{name}, seed 0: normalised error of the torque by the number of experts")
    heads = ("at most", "experts", "slopes", "new motion", *TEST_PATHS)
    print("".join(f"{head:>12}" for head in heads))
    for row in rows:
        counts = (row["most"], row["experts"], row["slopes"])
        errors = (row["new_motion"], *row["error"])
        print("".join(f"{n:12d}" for n in counts) + "".join(f"{e:12.4f}" for e in errors))
    return [{key: row[key] for key in ("experts", "slopes", "new_motion")} for row in rows]


def _print_limits(label: str, of_set: Results) -> None:
    """Print errors of oracles and models that learned one set of samples, seed 0."""
    weight = ", ".join(f"{name} {value:,.0f}" for name, value in of_set["weight"].items())
    print(f"\n{label}, {of_set['samples']:,} samples, their weight: {weight}")
    times = ", ".join(f"{time:.2f}" for time in of_set["correlation_s"])
    print(f"what one linear map leaves of the torques is correlated over {times} s")
    print(
        f"updates that forgot something: {sum(of_set['forgotten'])} of {len(of_set['forgotten'])}"
    )
    heads = ("error", *TEST_PATHS, "experts", "unseen", "speaking", *NEAR_AND_FAR)
    print(f"{heads[0]:{NAME + 20}}" + "".join(f"{head:>14}" for head in heads[1:]))
    for name, errors in of_set["oracles"].items():
        print(f"{name:{NAME + 20}}" + "".join(f"{error:14.3f}" for error in errors))
    for name, of_model in of_set["models"].items():
        near_and_far = (
            f"{share:.0%} {'-' if error is None else format(error, '.3f')}"
            for share, error in of_model["by_distance"]
        )
        cells = (
            *(f"{error:.3f}" for error in of_model["error"]),
            of_model["experts"],
            f"{np.mean(of_model['unseen']):.3f}",
            f"{np.mean(of_model['speaking']):.1f}",
            *near_and_far,
        )
        print(f"{name:{NAME + 20}}" + "".join(f"{cell:>14}" for cell in cells))
    distances = ", ".join(f"{distance:.2f}" for distance in of_model["distance"])
    print(f"median distance of the paths from the nearest sample, in spacings: {distances}")


def _mean_and_deviation(values: Any) -> str:
    array = np.asarray(values, dtype=float)
    deviation = f" +- {array.std(ddof=1):.1g}" if len(array) > 1 else ""
    return f"{array.mean():.3g}{deviation}"
