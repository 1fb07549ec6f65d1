# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""
One query in the control loop: mean and spread of all torques, near the data and far from them.

Models are fitted to motions of the arms: of the simulated one with four joints, and the recording
of a real one with seven where there is a data folder, else the seven-joint arm in simulation.
Queries near the data, far from them and in batches take turns with Pinocchio's rnea, the floor
that an analytic model sets: what slows the machine down for a while slows all of them.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pinocchio
from _simulated_motion import inverse_dynamics_samples
from tqdm import tqdm

from ilr_dynamics.arrays import FloatArray
from ilr_dynamics.exceptions import ConvergenceWarning
from ilr_dynamics.regression import HILR, ILR
from ilr_dynamics.robot.description import load_description
from ilr_dynamics.robot.identified_dynamics import IdentifiedDynamics

REPOSITORY = Path(__file__).resolve().parent.parent
# What the tests compare with too.
sys.path.insert(0, str(REPOSITORY / "test" / "regression"))
from naive_prediction import naive_predictions  # noqa: E402

N_QUERIES = 2000
N_ROUNDS, N_WARM_UP = 20, 5
N_BATCH = 5000
# Of either kind, which all components are asked about as the formulas say.
N_NAIVE = 50
# Enough that at least 1,350 and 1,700 components hold more than one sample each.
MODELS = {"12x4": 1900, "21x7": 1750}
ARMS = {"12x4": "wam4", "21x7": "wam7"}
# In the frame of the recording's joints, m/s^2; the description's where there is none.
GRAVITY = {"12x4": None, "21x7": (0.0, 0.0, 9.81)}
KEYS = ("us_p50", "us_p99", "far_us_p50", "batch_us", "components", "max_rel_error")
RATIOS = ("times_rnea", "far_times_near", "batch_gain", "p99_times_rnea")
IDENTIFIED = ("identified_us_p50", "identified_times_rnea")
# Components of 12 inputs and 4 outputs, learned from so many samples in a few iterations.
GROWTH, N_GROWTH_SAMPLES, N_GROWTH_ITERATIONS = (100, 1000, 10_000), 40_000, 3
# As real_data.py has it.
CONFIGURATION = {
    "prior__concentration": 100.0,
    "prior__input_spread": 0.1,
    "inference__max_iterations": 40,
}


def main() -> int:
    """Time single queries, batches and the rigid-body floor."""
    options = _options()
    report: dict[str, dict[str, float]] = {
        key: {} for key in (*KEYS, *RATIOS, *IDENTIFIED, "rnea_us_p50")
    }
    loads = {"12x4": lambda: inverse_dynamics_samples(20000, 0), "21x7": lambda: _real(options)}
    for size, load in tqdm(loads.items(), desc="fitting", disable=None):
        X, Y = load()
        kind = HILR if options.model == "hilr" else ILR
        model = kind(MODELS[size]).set_params(**CONFIGURATION)
        dynamics = IdentifiedDynamics.from_description(
            load_description(ARMS[size]), gravity=GRAVITY[size]
        )
        with_dynamics = clone_with(model, dynamics).fit(X, Y)
        _measure(model.fit(X, Y), with_dynamics, X, Y, ARMS[size], report)
    growth = _growth()
    _print_table(report)
    for n_active, median in growth.items():
        print(f"{f'12x4x{n_active}, few iterations':34}{median:>11}")
    first, *_, last = growth.values()
    report["growth_us_p50"] = growth
    # The largest of all sizes, as one number.
    error = max(report.pop("max_rel_error").values())
    figures = {**report, "growth_times": _rounded(last / first), "max_rel_error": error}
    print(json.dumps({"benchmark": "predict", **figures}))
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


def _real(options: argparse.Namespace) -> tuple[FloatArray, FloatArray]:
    path = options.data_dir / "real_barrett_wam7.npz"
    with np.load(path, allow_pickle=False) as data:
        X = np.concatenate([data["q"], data["qd"], data["qdd"]], axis=1)
        return X, np.asarray(data["tau"])


def clone_with(model: ILR | HILR, dynamics: IdentifiedDynamics) -> ILR | HILR:
    """The same estimator, to learn what identified dynamics leave."""
    return type(model)(**model.get_params(deep=False)).set_params(global_model=dynamics)


def _measure(
    model: ILR | HILR,
    with_dynamics: ILR | HILR,
    X: FloatArray,
    Y: FloatArray,
    arm: str,
    report: dict[str, dict[str, float]],
) -> None:
    name = f"{X.shape[1]}x{Y.shape[1]}x{model.n_active_}"
    generator = np.random.default_rng(1)
    chosen = generator.choice(len(X), N_QUERIES, replace=False)
    # Between neighbours in time, where no sample lies exactly.
    near = 0.5 * (X[chosen] + X[np.minimum(chosen + 1, len(X) - 1)])
    far = X[chosen] + 3.0 * X.std(axis=0) * generator.normal(size=near.shape)
    rows = generator.choice(len(X) - 1, N_BATCH)
    batch = 0.5 * (X[rows] + X[rows + 1])
    times = _in_turns(
        {
            "near": (model.predictor(), near),
            "far": (model.predictor(), far),
            "identified": (with_dynamics.predictor(), near),
            "batch": (lambda _: model.predict(batch, return_std=True), near[:N_ROUNDS]),
            "rnea": _rnea(arm),
        }
    )
    times["batch"] /= N_BATCH
    medians = {kind: np.median(of_kind, axis=1) for kind, of_kind in times.items()}
    report["us_p50"][name] = _rounded(np.median(times["near"]))
    report["us_p99"][name] = _rounded(np.quantile(times["near"], 0.99))
    report["far_us_p50"][name] = _rounded(np.median(times["far"]))
    report["batch_us"][name] = _rounded(np.median(times["batch"]))
    report["identified_us_p50"][name] = _rounded(np.median(times["identified"]))
    report["rnea_us_p50"][arm] = _rounded(np.median(times["rnea"]))
    pairs = {
        "times_rnea": ("near", "rnea"),
        "far_times_near": ("far", "near"),
        "batch_gain": ("near", "batch"),
        "identified_times_rnea": ("identified", "rnea"),
    }
    for key, (dividend, divisor) in pairs.items():
        report[key][name] = _rounded(np.median(medians[dividend] / medians[divisor]))
    tails = {kind: np.quantile(times[kind], 0.99) / np.median(times[kind]) for kind in times}
    report["p99_times_rnea"][name] = _rounded(tails["near"] / tails["rnea"])
    report["components"][name] = model.n_active_
    asked = np.concatenate([near[:N_NAIVE], far[:N_NAIVE]])
    errors = [_largest_error(one, asked, Y) for one in (model, with_dynamics)]
    report["max_rel_error"][name] = max(errors)


def _growth() -> dict[str, float]:
    """Microseconds of a query by the number of components."""
    X, Y = inverse_dynamics_samples(N_GROWTH_SAMPLES, 0)
    near = 0.5 * (X[:-1] + X[1:])[np.random.default_rng(2).choice(len(X) - 1, N_QUERIES)]
    calls: dict[str, tuple[Callable[[FloatArray], object], FloatArray]] = {}
    for size in tqdm(GROWTH, desc="growth", disable=None):
        model = ILR(size).set_params(**CONFIGURATION)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.set_params(inference__max_iterations=N_GROWTH_ITERATIONS).fit(X, Y)
        calls[str(model.n_active_)] = (model.predictor(), near)
    times = _in_turns(calls)
    return {name: _rounded(np.median(of_kind)) for name, of_kind in times.items()}


def _in_turns(
    calls: dict[str, tuple[Callable[[FloatArray], object], FloatArray]],
) -> dict[str, FloatArray]:
    """Microseconds (rounds, calls a round) of each kind of call with each of its arguments."""
    times: dict[str, list[FloatArray]] = {kind: [] for kind in calls}
    for turn in range(N_ROUNDS):
        for kind, (call, X) in calls.items():
            # A batch takes long enough that other programs come between: its processor time.
            clock = time.thread_time if kind == "batch" else time.perf_counter
            times[kind].append(_times(call, X[turn::N_ROUNDS], clock))
    return {kind: np.array(rounds) for kind, rounds in times.items()}


def _times(
    call: Callable[[FloatArray], object], X: FloatArray, clock: Callable[[], float]
) -> FloatArray:
    """Microseconds (n,) of each call, after a few that warm up."""
    for x in X[1 : 1 + N_WARM_UP]:
        call(x)
    times = np.empty(len(X))
    for row, x in enumerate(X):
        started = clock()
        call(x)
        times[row] = clock() - started
    return 1e6 * times


def _largest_error(model: ILR | HILR, X: FloatArray, Y: FloatArray) -> float:
    """Largest difference to the naive predictions, in deviations of the outputs."""
    predictor, scale = model.predictor(), Y.std(axis=0)
    errors = []
    for x, naive in zip(X, naive_predictions(model, X), strict=True):
        found = predictor.query(x)
        errors.append(np.max(np.abs(found.mean - naive.mean) / (scale + np.abs(naive.mean))))
        errors.append(np.max(np.abs(found.std - naive.std) / np.maximum(naive.std, scale)))
    return float(f"{max(errors):.2g}")


def _rnea(arm: str) -> tuple[Callable[[FloatArray], object], FloatArray]:
    """Pinocchio's inverse dynamics, and motions to ask it about."""
    description = load_description(arm)
    model = pinocchio.buildModelFromUrdf(str(description.urdf_path))
    data = model.createData()
    motions = np.random.default_rng(0).normal(size=(N_QUERIES, 3, description.n_joints))
    return lambda x: pinocchio.rnea(model, data, *x), motions


def _rounded(value: float) -> float:
    return float(f"{value:.3g}")


def _print_table(report: dict[str, dict[str, float]]) -> None:
    heads = (
        "median",
        "99 %",
        "far",
        "batch",
        "/ rnea",
        "far/near",
        "near/batch",
        "99 %/rnea",
        "identified",
        "/ rnea",
    )
    print(f"{'inputs x outputs x components [us]':34}" + "".join(f"{head:>11}" for head in heads))
    for name in report["us_p50"]:
        columns = (report[key][name] for key in (*KEYS[:4], *RATIOS, *IDENTIFIED))
        print(f"{name:34}" + "".join(f"{value:>11}" for value in columns))
    for arm, value in report["rnea_us_p50"].items():
        print(f"{'rnea, ' + arm:34}{value:>11}")


if __name__ == "__main__":
    sys.exit(main())
