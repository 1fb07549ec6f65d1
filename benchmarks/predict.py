# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""
One query in the control loop: mean and spread of all torques, near the data and far from them.

Models are fitted to motions of the arms: of the simulated one with four joints, and the recording
of a real one with seven where there is a data folder, else the seven-joint arm in simulation.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pinocchio
from _simulated_motion import inverse_dynamics_samples
from numpy.typing import NDArray
from tqdm import tqdm

from ilr_dynamics.regression import HILR, ILR
from ilr_dynamics.robot.description import load_description

REPOSITORY = Path(__file__).resolve().parent.parent
Array = NDArray[np.float64]

N_QUERIES = 2000
N_BATCH, N_BATCHES = 5000, 5
N_DENSE = 100
# Enough that at least 1,350 and 1,700 components hold more than one sample each.
MODELS = {"12x4": 1900, "21x7": 1750}
# As real_data.py has it.
PRIOR = {"concentration": 100.0, "input_spread": 0.1, "fit_scales": True, "max_iterations": 40}


def main() -> int:
    """Time single queries, batches and the rigid-body floor."""
    options = _options()
    report: dict[str, dict[str, float]] = {
        key: {}
        for key in ("us_p50", "us_p99", "far_us_p50", "batch_us", "components", "max_rel_error")
    }
    loads = {"12x4": lambda: inverse_dynamics_samples(20000, 0), "21x7": lambda: _real(options)}
    for size, load in tqdm(loads.items(), desc="fitting", file=sys.stderr):
        X, Y = load()
        kind = HILR if options.model == "hilr" else ILR
        model = kind(MODELS[size], **PRIOR)
        _measure(model.fit(X, Y), X, Y, f"{size}x{model.n_active_}", report)
    report["rnea_us_p50"] = {arm: _rnea(arm) for arm in ("wam4", "wam7")}
    _print_table(report)
    # The largest of all sizes, as one number.
    error = max(report.pop("max_rel_error").values())
    print(json.dumps({"benchmark": "predict", **report, "max_rel_error": error}))
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", choices=("ilr", "hilr"), default="ilr")
    parser.add_argument(
        "--data-dir",
        type=Path,
        default=Path(os.environ.get("ILR_DYNAMICS_DATA", REPOSITORY.parent / "shared" / "data")),
        help="folder of the recording of a real arm",
    )
    return parser.parse_args()


def _real(options: argparse.Namespace) -> tuple[Array, Array]:
    path = options.data_dir / "real_barrett_wam7.npz"
    with np.load(path, allow_pickle=False) as data:
        X = np.concatenate([data["q"], data["qd"], data["qdd"]], axis=1)
        return X, np.asarray(data["tau"])


def _measure(
    model: ILR | HILR, X: Array, Y: Array, name: str, report: dict[str, dict[str, float]]
) -> None:
    generator = np.random.default_rng(1)
    chosen = generator.choice(len(X), N_QUERIES, replace=False)
    # Between neighbours in time, where no sample lies exactly.
    near = 0.5 * (X[chosen] + X[np.minimum(chosen + 1, len(X) - 1)])
    far = X[chosen] + 3.0 * X.std(axis=0) * generator.normal(size=near.shape)
    predictor = model.predictor()
    near_us, far_us = _times(predictor, near), _times(predictor, far)
    report["us_p50"][name] = _rounded(np.median(near_us))
    report["us_p99"][name] = _rounded(np.quantile(near_us, 0.99))
    report["far_us_p50"][name] = _rounded(np.median(far_us))
    report["components"][name] = model.n_active_
    report["max_rel_error"][name] = _largest_error(model, np.concatenate([near, far]), Y)
    rows = generator.choice(len(X) - 1, N_BATCH)
    batch = 0.5 * (X[rows] + X[rows + 1])
    batch_us = _times(lambda _: model.predict(batch, return_std=True), X[:N_BATCHES], warm_up=1)
    report["batch_us"][name] = _rounded(np.median(batch_us) / N_BATCH)


def _times(call: Callable[[Array], object], X: Array, warm_up: int = 50) -> Array:
    """Microseconds (n,) of each call, after a few that warm up."""
    for x in X[:warm_up]:
        call(x)
    times = np.empty(len(X))
    for row, x in enumerate(X):
        started = time.perf_counter()
        call(x)
        times[row] = time.perf_counter() - started
    return 1e6 * times


def _largest_error(model: ILR | HILR, X: Array, Y: Array) -> float:
    """Largest difference to the full mixture, in deviations of the outputs."""
    # Few at a time, of which all components are asked.
    parts = [
        model.predict(X[start : start + N_DENSE], return_std=True)
        for start in range(0, len(X), N_DENSE)
    ]
    mean, std = (np.concatenate(part) for part in zip(*parts, strict=True))
    predictor = model.predictor()
    found = [predictor(x) for x in X]
    scale = Y.std(axis=0)
    errors = [
        np.max(np.abs([part for part, _ in found] - mean) / scale),
        np.max(np.abs([part for _, part in found] - std) / np.maximum(std, scale)),
    ]
    return float(f"{max(errors):.2g}")


def _rnea(arm: str) -> float:
    description = load_description(arm)
    model = pinocchio.buildModelFromUrdf(str(description.urdf_path))
    data = model.createData()
    motions = np.random.default_rng(0).normal(size=(N_QUERIES, 3, description.n_joints))
    return _rounded(np.median(_times(lambda x: pinocchio.rnea(model, data, *x), motions)))


def _rounded(value: float) -> float:
    return float(f"{value:.3g}")


def _print_table(report: dict[str, dict[str, float]]) -> None:
    heads = "".join(f"{head:>10}" for head in ("median", "99 %", "far", "batch"))
    print(f"{'inputs x outputs x components':34}{heads}  us, times rnea")
    floors = report["rnea_us_p50"]
    for name, arm in zip(report["us_p50"], floors, strict=True):
        columns = (report[key][name] for key in ("us_p50", "us_p99", "far_us_p50", "batch_us"))
        ratio = report["us_p50"][name] / floors[arm]
        print(f"{name:34}" + "".join(f"{value:>10}" for value in columns) + f"{ratio:>8.1f}")
    for arm, value in floors.items():
        print(f"{'rnea, ' + arm:34}{value:>10}")


if __name__ == "__main__":
    sys.exit(main())
