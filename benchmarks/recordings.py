# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""
A hundred recordings of the same work, learned one after the other: how the model grows.

A simulated arm does eights at three speeds, each time at a slightly different one and recorded
from another moment on. Each recording updates the model as the node's learner does. The model
should level off: components_ratio and query_ratio are the numbers of local models, and the times
of a query, after the last recording over those after the thirtieth. error_rise is by how much the
error on recordings that are never learned was ever above the least one before, from the tenth
recording on.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from _learners import node_learning_settings
from _live_session import add_folder_options, new_folder
from _recordings_figure import draw_growth
from _simulated_motion import Arm
from _work_recordings import SECONDS, work_recordings

from ilr_dynamics.arrays import FloatArray
from ilr_dynamics.cli.table import format_table
from ilr_dynamics.control.feedforward import Predictor
from ilr_dynamics.learning import learn
from ilr_dynamics.recording import Samples
from ilr_dynamics.regression.mixture_regressor import MixtureRegressor

# Tracks that are never learned.
TEST_TRACKS = (1001, 1002, 1003)
# From where on the model should hardly grow, and the error not rise.
LEVEL, SETTLED = 30, 10
N_QUERIES = 300
Results = dict[str, Any]


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--recordings", type=int, default=100)
    parser.add_argument("--components", type=int, default=100, help="learning.n_components")
    parser.add_argument("--rate", type=int, default=100, help="samples a second, of 500")
    parser.add_argument("--seed", type=int, default=0, help="of the arm and the learner")
    parser.add_argument("--kept", type=Path, help="folder that keeps tracks, for later runs")
    add_folder_options(parser)
    options = parser.parse_args()
    folder = options.kept or new_folder(options, "recordings")
    folder.mkdir(parents=True, exist_ok=True)
    results = run(options, folder)
    print(table(results))
    draw_growth(options.figures / "recordings.png", results["rows"])
    print(json.dumps({"benchmark": "recordings", **summary(results)}))


def run(options: argparse.Namespace, folder: Path) -> Results:
    """Learn recording after recording, and look at the model after each."""
    arm = Arm(options.seed)
    every = 500 // options.rate
    settings = node_learning_settings(
        arm, n_components=options.components, random_state=options.seed
    )
    tests = [each for n in TEST_TRACKS for each in work_recordings(arm, n, every, folder)]
    scale = np.array(settings.model["output_scale"])
    model: MixtureRegressor | None = None
    rows: list[Results] = []
    predictors: dict[int, Predictor] = {}
    for number in range(1, options.recordings + 1):
        samples = work_recordings(arm, (number - 1) // 2, every, folder)[(number - 1) % 2]
        start = time.process_time()
        model, report = learn(samples, settings, model)
        taken = time.process_time() - start
        rows.append(
            {
                "recording": number,
                "components": model.n_active_,
                "held": len(model.statistics_),
                "error": error(model, tests, scale),
                "density": density(model, tests),
                "gain": report.gain,
                "seconds": taken,
            }
        )
        if number in (LEVEL, options.recordings) or number % 10 == 0:
            predictors[number] = model.predictor()
        print(json.dumps(rows[-1]), flush=True)
    queries = np.concatenate([each.X for each in tests])
    return {"rows": rows, "query": query_times(predictors, queries), "folder": str(folder)}


def error(model: MixtureRegressor, tests: Sequence[Samples], scale: FloatArray) -> float:
    """Root mean squared error of torques on recordings, in units of the joints' torque scales."""
    squared = [np.mean(((model.predict(each.X) - each.Y) / scale) ** 2) for each in tests]
    return float(np.sqrt(np.mean(squared)))


def density(model: MixtureRegressor, tests: Sequence[Samples]) -> float:
    """Mean log predictive density of recordings, nats a sample."""
    densities = [model.log_predictive_density(each.X, each.Y) for each in tests]
    return float(np.mean(np.concatenate(densities)))


def query_times(
    predictors: dict[int, Predictor], queries: FloatArray, n_turns: int = 5
) -> dict[int, float]:
    """Median times of a query, us: of all models in turn, so that load hits all alike."""
    chosen = queries[np.linspace(0, len(queries) - 1, N_QUERIES).astype(int)]
    medians: dict[int, list[float]] = {number: [] for number in predictors}
    for _ in range(n_turns):
        for number, predictor in predictors.items():
            times = []
            for x in chosen:
                start = time.perf_counter()
                predictor(x)
                times.append(time.perf_counter() - start)
            medians[number].append(1e6 * float(np.median(times)))
    return {number: min(values) for number, values in medians.items()}


def table(results: Results) -> str:
    """After every tenth recording."""
    chosen = [row for row in results["rows"] if row["recording"] in results["query"]]
    return format_table(
        ["recordings", "local models", "error [torque scales]", "density [nats]", "query [us]"],
        [
            [
                row["recording"],
                row["components"],
                f"{row['error']:.4f}",
                f"{row['density']:.2f}",
                f"{results['query'][row['recording']]:.0f}",
            ]
            for row in chosen
        ],
    )


def summary(results: Results) -> Results:
    """What the recordings did to the model."""
    rows, query = results["rows"], results["query"]
    level = min(LEVEL, len(rows))
    errors = np.array([row["error"] for row in rows])
    least = np.minimum.accumulate(errors)
    settled = min(SETTLED, len(rows))
    return {
        "recordings": len(rows),
        "seconds_of_each": SECONDS,
        "components_30": rows[level - 1]["components"],
        "components": rows[-1]["components"],
        "components_ratio": rows[-1]["components"] / rows[level - 1]["components"],
        "held_ratio": rows[-1]["held"] / rows[level - 1]["held"],
        "query_us_30": query[level],
        "query_us": query[len(rows)],
        "query_ratio": query[len(rows)] / query[level],
        "error_30": errors[level - 1],
        "error": errors[-1],
        "error_rise": float(np.max(errors[settled - 1 :] / least[settled - 1 :]) - 1.0),
        "density_30": rows[level - 1]["density"],
        "density": rows[-1]["density"],
    }


if __name__ == "__main__":
    main()
