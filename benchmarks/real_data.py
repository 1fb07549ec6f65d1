# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""
Inverse dynamics of real arms: our models and their peers, on neighbours in time and new motions.

Normalised error of one output: mean squared error by the variance of that output in the test set;
the figure is the mean over the outputs. Interpolation holds out every fifth row, extrapolation the
last fifth of the recording.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path

import numpy as np
from _real_data_models import CONFIGURATION, Model, Ours, global_model_for, model_makers
from _real_data_report import draw, print_table, summary
from _real_data_sets import REPOSITORY, SETS, Split, add_data_option
from tqdm import tqdm

from ilr_dynamics.regression import ILR

N_QUERIES = 200
DETERMINISTIC = ("identified", "linear", "nearest_neighbours")
# An hour and more with five seeds.
SLOW = ("gaussian_process", "gpoe", "rbcm", "sparse_variational_gp")


def main() -> int:
    """Measure all models on all sets."""
    options = _options()
    report: dict[str, dict[str, dict[str, object]]] = {}
    for name in options.sets:
        data = SETS[name]
        splits = data.splits(options.data_dir)
        makers = model_makers(data, options.models, options.effective_samples)
        report[name] = {}
        for model, make in tqdm(makers.items(), desc=name, disable=None):
            n_seeds = _n_seeds(model, options)
            report[name][model] = summary(
                {
                    protocol: [
                        _measure(make(seed), split)
                        for seed in tqdm(range(n_seeds), desc=f"{model}, {protocol}", disable=None)
                    ]
                    for protocol, split in splits.items()
                }
            )
        print_table(name, report[name])
        if "ilr" in makers and "extrapolation" in splits:
            split = splits["extrapolation"]
            ilr = ILR(**CONFIGURATION, global_model=global_model_for(data), random_state=0)
            model = Ours(ilr, False)
            model.fit(split.X, split.Y)
            draw(split, model, options.figures / f"real_data_{name}.png")
    print(json.dumps({"benchmark": "real_data", **report}))
    return 0


def _measure(model: Model, split: Split) -> dict[str, object]:
    started = time.perf_counter()
    model.fit(split.X, split.Y)
    fitted = time.perf_counter()
    error = np.mean((model.predict(split.X_test) - split.Y_test) ** 2, axis=0)
    result: dict[str, object] = {
        "nmse": float(np.mean(error / split.Y_test.var(axis=0))),
        "mse": float(np.mean(error)),
        "fit_s": fitted - started + getattr(model, "shared_s", 0.0),
        "components": model.n_experts,
    }
    interval = model.interval(split.X_test)
    if interval is not None:
        inside = np.mean((split.Y_test >= interval[0]) & (split.Y_test <= interval[1]), axis=0)
        result["coverage"] = [float(np.mean(inside)), float(np.min(inside))]
    times = []
    for x in split.X_test[:: max(1, len(split.X_test) // N_QUERIES)]:
        begun = time.perf_counter()
        model.predict_one(x)
        times.append(time.perf_counter() - begun)
    result["query_us"] = 1e6 * float(np.median(times))
    return result


def _n_seeds(name: str, options: argparse.Namespace) -> int:
    """How often to repeat a model: not at all where nothing is drawn."""
    if name in DETERMINISTIC:
        return 1
    return options.gp_seeds if name in SLOW else options.seeds


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS), metavar="SET")
    parser.add_argument("--models", nargs="+", metavar="MODEL", help="only these")
    parser.add_argument("--seeds", type=int, default=1, help="seeds of each model (%(default)s)")
    parser.add_argument(
        "--gp-seeds", type=int, default=1, help="the same of Gaussian processes (%(default)s)"
    )
    parser.add_argument(
        "--effective-samples",
        action="store_true",
        help="let ours count samples that hardly differ as one",
    )
    add_data_option(parser)
    parser.add_argument("--figures", type=Path, default=REPOSITORY / "docs" / "figures")
    options = parser.parse_args()
    for name in list(options.sets):
        file = SETS[name].file
        if file is not None and not (options.data_dir / file).is_file():
            print(f"real_data: no {file} in {options.data_dir}: leaving {name} out (--data-dir)")
            options.sets.remove(name)
    return options


if __name__ == "__main__":
    sys.exit(main())
