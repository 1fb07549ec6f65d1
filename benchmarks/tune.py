# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""
Choose the one configuration of real_data.py, without its test rows.

Of the rows that both protocols train on, contiguous blocks are held out, one after the other: new
motions. Of the rest, every fifth row is held out too: neighbours in time. A configuration is worth
the geometric mean of its errors on both, relative to the best there; the cheapest of those within
the noise of the best is chosen.
"""

from __future__ import annotations

import argparse
import itertools
import json
import sys
import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from _real_data_models import GlobalModelMaker, global_model_maker
from _real_data_sets import SETS, Recording, Split, add_data_option
from tqdm import tqdm

from ilr_dynamics.arrays import FloatArray
from ilr_dynamics.regression import ILR, BatchInference, Prior

N_BLOCKS = 3
# Share of the rows in each block, as large as the part that real_data.py keeps for new motions.
BLOCK_SHARE = 0.2
# Most components, deviations in inputs, expected concentration, and whether components are merged.
GRID = {
    "n_components": (300, 1500),
    "input_spread": (0.1, 0.2),
    "concentration": (0.1, 100.0),
    "merge": (False, True),
}
# Configurations whose worth differs by less than this are taken for equal; blocks differ by more.
NOISE = 0.05

Choice = dict[str, Any]


@dataclass(frozen=True)
class Trial:
    """
    What came of one point of the grid, mean over the blocks.

    Parameters
    ----------
    choice
        The point.
    errors : (2,)
        Normalised error on neighbours and on new motions.
    fit_s
        Time of a fit, s.
    """

    choice: Choice
    errors: FloatArray
    fit_s: float


def main() -> int:
    """Try all configurations."""
    options = _options()
    data = SETS[options.set]
    missing = data.missing(options.data_dir)
    if missing:
        print(f"tune: no {missing[0]} in {options.data_dir}: nothing to choose by (--data-dir)")
        print(json.dumps({"benchmark": "tune"}))
        return 0
    global_model = global_model_maker(data, options.data_dir)
    X, Y = Recording.of_file(options.data_dir / data.file).never_tested_on()
    blocks = _blocks(X, Y)
    choices = [
        dict(zip(GRID, values, strict=True)) for values in itertools.product(*GRID.values())
    ]
    trials = [
        _trial(choice, global_model, blocks)
        for choice in tqdm(choices, desc="configurations", disable=None)
    ]
    _report(options.set, trials)
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    recordings = (
        "real_barrett_wam7",
        "sl_barrett_wam7_simulated",
        "real_baxter7",
        "real_sarcos_small",
    )
    parser.add_argument("--set", default=recordings[0], choices=recordings)
    add_data_option(parser)
    return parser.parse_args()


def _blocks(X: FloatArray, Y: FloatArray) -> list[tuple[Split, Split]]:
    """For each block the rows to train on, with neighbours and with the block held out."""
    n, length = len(X), round(BLOCK_SHARE * len(X))
    rows = np.arange(n)
    parts = []
    for start in np.linspace(0, n - length, N_BLOCKS).astype(int):
        in_block = (rows >= start) & (rows < start + length)
        is_neighbour = ~in_block & (rows % 5 == 2)
        train = ~in_block & ~is_neighbour
        neighbours, new_motions = (
            Split(X[train], Y[train], X[test], Y[test]) for test in (is_neighbour, in_block)
        )
        parts.append((neighbours, new_motions))
    return parts


def _trial(
    choice: Choice, global_model: GlobalModelMaker, blocks: list[tuple[Split, Split]]
) -> Trial:
    errors, seconds = [], []
    for neighbours, new_motions in blocks:
        parameters = _parameters(choice)
        model = ILR(**parameters, global_model=global_model(), random_state=0)
        started = time.process_time()
        model.fit(neighbours.X, neighbours.Y)
        seconds.append(time.process_time() - started)
        errors.append([_error(model, neighbours), _error(model, new_motions)])
    return Trial(choice, np.mean(errors, axis=0), float(np.mean(seconds)))


def _parameters(choice: Choice) -> dict[str, object]:
    """Turn a point of the grid into parameters of the model."""
    return {
        "n_components": choice["n_components"],
        "prior": Prior(concentration=choice["concentration"], input_spread=choice["input_spread"]),
        "inference": BatchInference(merge=choice["merge"]),
    }


def _error(model: ILR, split: Split) -> float:
    error = np.mean((model.predict(split.X_test) - split.Y_test) ** 2, axis=0)
    return float(np.mean(error / split.Y_test.var(axis=0)))


def _report(name: str, trials: list[Trial]) -> None:
    errors = np.array([trial.errors for trial in trials])
    worth = np.exp(np.mean(np.log(errors / errors.min(axis=0)), axis=1))
    order = np.argsort(worth)
    equal = order[worth[order] <= (1.0 + NOISE) * worth[order[0]]]
    chosen = trials[min(equal, key=lambda index: trials[index].fit_s)]
    print(f"\n{name}: mean over {N_BLOCKS} contiguous blocks")
    print(
        "".join(f"{key:>22}" for key in GRID)
        + f"{'neighbours':>12}{'new motions':>13}{'worth':>8}{'fit s':>8}"
    )
    for index in order:
        trial = trials[index]
        cells = "".join(f"{value!s:>22}" for value in trial.choice.values())
        mark = "  <-" if trial is chosen else ""
        print(
            f"{cells}{trial.errors[0]:>12.4g}{trial.errors[1]:>13.4g}"
            f"{worth[index]:>8.3f}{trial.fit_s:>8.3g}{mark}"
        )
    neighbours, new_motions = (float(f"{error:.4g}") for error in chosen.errors)
    figures = {"chosen": chosen.choice, "neighbours": neighbours, "new_motions": new_motions}
    print(json.dumps({"benchmark": "tune", "set": name, **figures}))


if __name__ == "__main__":
    sys.exit(main())
