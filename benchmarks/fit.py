# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""
Learning: time of an iteration, of a whole fit, of an update and of stochastic inference.

On samples of the simulated arms. Each figure comes from a process of its own in which nothing is
set about threads. Charts show how the time of an iteration grows; `beside` is what busy programs
do to learning.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from _fit_beside import beside_busy_programs, plain_environment, record_eight, time_of_train
from _fit_charts import draw_growth
from _fit_data import excitation_samples
from _simulated_motion import inverse_dynamics_samples
from tqdm import tqdm

from ilr_dynamics.arrays import FloatArray

REPOSITORY = Path(__file__).resolve().parent.parent
MEASURES = REPOSITORY / "benchmarks" / "_fit_measures.py"
Figures = dict[str, float]

# Sizes along the charts, the number of samples up to `--largest`.
GROWTH = {
    "n_samples": [1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000],
    "n_components": [10, 30, 100, 300, 1_000, 3_000],
    "n_inputs": [3, 6, 12, 20, 30, 40],
}
# What the other two are meanwhile.
USUAL = {"n_samples": 20_000, "n_components": 300, "n_inputs": 12}
GROWTH_ITERATIONS = 9
# Of the update: 15 s at 500 Hz of a figure-eight at a speed between those learned.
UPDATE_ROWS, UPDATE_PERIOD = 7_500, 3.4
# Enough for 500 that hold more than one sample each.
UPDATE_TRUNCATION = 660


def main() -> int:
    """Measure what is asked for."""
    options = _options()
    figures: Figures = {}
    growth: dict[str, dict[str, Figures]] = {}
    with TemporaryDirectory() as folder:
        for name in tqdm(options.only, desc="measuring", disable=None):
            if name == "growth":
                growth = _growth(Path(folder), options.largest)
            else:
                figures |= PARTS[name](Path(folder))
    _print_table(figures, growth)
    for along, by_size in growth.items():
        draw_growth(along, by_size, options.figures / f"fit_{along}.png")
    print(json.dumps({"benchmark": "fit", **figures, **({"growth": growth} if growth else {})}))
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    names = (*PARTS, "growth")
    parser.add_argument("--only", nargs="+", choices=names, default=names, help="parts to measure")
    parser.add_argument(
        "--largest", type=int, default=1_000_000, help="largest number of samples in the charts"
    )
    parser.add_argument(
        "--figures",
        type=Path,
        default=REPOSITORY / "docs" / "figures",
        help="folder of the charts",
    )
    return parser.parse_args()


def _iteration(folder: Path) -> Figures:
    X, Y = inverse_dynamics_samples(40_000, 0)
    chosen = np.random.default_rng(0).choice(len(X), 10_000, replace=False)
    arrays = {"X": X[chosen], "Y": Y[chosen]}
    return _measured(folder, "iteration", arrays, n_components=500, n_iterations=20)


def _full_fit(folder: Path) -> Figures:
    X, Y = inverse_dynamics_samples(44_485, 0, "wam7")
    arrays = {"X": X[:44_484], "Y": Y[:44_484]}
    return _measured(folder, "full_fit", arrays, n_components=2_000)


def _partial_fit(folder: Path) -> Figures:
    X, Y = inverse_dynamics_samples(10_000, 0)
    X_new, Y_new = inverse_dynamics_samples(UPDATE_ROWS, 0, periods=[UPDATE_PERIOD])
    arrays = {"X": X, "Y": Y, "X_new": X_new, "Y_new": Y_new}
    return _measured(folder, "partial_fit", arrays, n_known=UPDATE_TRUNCATION)


def _stochastic(folder: Path) -> Figures:
    X, Y = excitation_samples(210_000, 0)
    # Apart from all others by a hundredth of a second: neighbours of what was learned.
    held_out = np.arange(len(X)) % 21 == 10
    arrays = {"X": X[~held_out], "Y": Y[~held_out], "X_test": X[held_out], "Y_test": Y[held_out]}
    return _measured(folder, "stochastic", arrays, n_components=300, n_passes=7)


def _beside(folder: Path) -> Figures:
    X, Y = inverse_dynamics_samples(10_000, 0)
    bag = folder / "eight"
    record_eight(bag, UPDATE_PERIOD)

    def time_of_fit() -> float:
        return _measured(folder, "plain_fit", {"X": X, "Y": Y}, n_components=300)["plain_fit_s"]

    return beside_busy_programs({"fit": time_of_fit, "train": lambda: time_of_train(bag)})


# By the names of what measures them.
PARTS: dict[str, Callable[[Path], Figures]] = {
    "iteration": _iteration,
    "full_fit": _full_fit,
    "partial_fit": _partial_fit,
    "stochastic": _stochastic,
    "beside": _beside,
}


def _growth(folder: Path, largest: int) -> dict[str, dict[str, Figures]]:
    """Figures of each size along each chart."""
    sizes = {**GROWTH, "n_samples": [size for size in GROWTH["n_samples"] if size <= largest]}
    # Inputs: the state of the seven-joint arm and, behind it, that of 0.3 s before.
    X, Y = excitation_samples(max(*sizes["n_samples"], USUAL["n_samples"]) + 30, 0, "wam7")
    X, Y = np.concatenate([X[30:], X[:-30]], axis=1), Y[30:, :4]
    generator = np.random.default_rng(0)
    found: dict[str, dict[str, Figures]] = {}
    for along, along_sizes in sizes.items():
        found[along] = {}
        for size in tqdm(along_sizes, desc=along, disable=None, leave=False):
            setting = {**USUAL, along: size}
            rows = generator.choice(len(X), setting["n_samples"], replace=False)
            arrays = {"X": X[rows, : setting["n_inputs"]], "Y": Y[rows]}
            found[along][str(size)] = _measured(
                folder,
                "growth",
                arrays,
                n_components=setting["n_components"],
                n_iterations=GROWTH_ITERATIONS,
            )
    return found


def _measured(folder: Path, name: str, arrays: dict[str, FloatArray], **settings: int) -> Figures:
    """Measure in a process of its own, and in a session of its own as programs of others are."""
    path = folder / "samples.npz"
    np.savez(path, **arrays)
    command = [sys.executable, str(MEASURES), name, str(path)]
    command += [f"{key}={value}" for key, value in settings.items()]
    process = subprocess.run(
        command,
        env=plain_environment(),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        start_new_session=True,
    )
    figures: Figures = json.loads(process.stdout.splitlines()[-1])
    return figures


def _print_table(figures: Figures, growth: dict[str, dict[str, Figures]]) -> None:
    for key, value in figures.items():
        print(f"{key:28}{value:>12g}")
    for along, by_size in growth.items():
        print(f"\n{along:>14}{'iteration s':>14}{'of processor':>14}{'components':>12}")
        for size, found in by_size.items():
            print(
                f"{size:>14}{found['iteration_s']:>14g}{found['iteration_cpu_s']:>14g}"
                f"{found['components']:>12g}"
            )


if __name__ == "__main__":
    sys.exit(main())
