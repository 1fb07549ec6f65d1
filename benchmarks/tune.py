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
import os
import sys
import time
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from real_data import REPOSITORY, SETS, Split, fallback_for
from tqdm import tqdm

from ilr_dynamics.regression import ILR

Array = NDArray[np.float64]

N_BLOCKS = 3
# Share of the rows in each block, as large as the part that real_data.py keeps for new motions.
BLOCK_SHARE = 0.2
# Samples for one component, deviations in inputs, expected concentration, what follows the data.
GRID = {
    "samples_a_component": (8, 20, 40),
    "input_spread": (0.1, 0.3),
    "concentration": (1.0, 100.0),
    "widths": ("stated", "from the data"),
}
# Configurations whose worth differs by less than this are equal: the range over three blocks.
NOISE = 0.05


def _parameters(choice: dict[str, object], n_samples: int) -> dict[str, object]:
    """Turn a point of the grid into parameters of the model."""
    stated = choice["widths"] == "stated"
    return {
        "n_components": round(n_samples / choice["samples_a_component"]),
        "input_spread": choice["input_spread"],
        "concentration": choice["concentration"],
        "input_strength": 50.0 if stated else None,
        "fit_scales": "outputs" if stated else True,
        "max_iterations": 40,
    }


def _blocks(split: Split) -> list[tuple[Split, Split]]:
    """Training rows with neighbours held out, and with a block held out, for each block."""
    n, length = len(split.X), round(BLOCK_SHARE * len(split.X))
    starts = np.linspace(0, n - length, N_BLOCKS).astype(int)
    rows = np.arange(n)
    parts = []
    for start in starts:
        in_block = (rows >= start) & (rows < start + length)
        is_neighbour = ~in_block & (rows % 5 == 2)
        train = ~in_block & ~is_neighbour
        parts.append(
            tuple(
                Split(split.X[train], split.Y[train], split.X[test], split.Y[test])
                for test in (is_neighbour, in_block)
            )
        )
    return parts


def _error(model: ILR, split: Split) -> float:
    error = np.mean((model.predict(split.X_test) - split.Y_test) ** 2, axis=0)
    return float(np.mean(error / split.Y_test.var(axis=0)))


def main() -> int:
    """Try all configurations."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--set", default="real_barrett_wam7", choices=SETS)
    parser.add_argument(
        "--data-dir",
        type=Path,
        default=Path(os.environ.get("ILR_DYNAMICS_DATA", REPOSITORY.parent / "shared" / "data")),
        help="folder of the recordings",
    )
    options = parser.parse_args()
    load, robot = SETS[options.set]
    # The rows that are for training in both protocols.
    splits = load(options.data_dir)
    early = splits["extrapolation"]
    keep = np.arange(len(early.X)) % 5 != _test_phase(splits)
    training = Split(early.X[keep], early.Y[keep], early.X_test[:0], early.Y_test[:0])
    blocks = _blocks(training)
    choices = [
        dict(zip(GRID, values, strict=True)) for values in itertools.product(*GRID.values())
    ]
    rows = []
    for choice in tqdm(choices, desc="configurations", file=sys.stderr):
        errors, seconds = [], []
        for neighbours, block in blocks:
            started = time.perf_counter()
            model = ILR(
                **_parameters(choice, len(neighbours.X)),
                fallback=fallback_for(robot),
                random_state=0,
            ).fit(neighbours.X, neighbours.Y)
            seconds.append(time.perf_counter() - started)
            errors.append([_error(model, neighbours), _error(model, block)])
        rows.append({**choice, "errors": np.mean(errors, axis=0), "fit_s": np.mean(seconds)})
    _report(options.set, rows)
    return 0


def _test_phase(splits: dict[str, Split]) -> int:
    """Which of five consecutive rows interpolation tests on."""
    early = splits["extrapolation"].X[:5]
    first = splits["interpolation"].X_test[0]
    return int(np.flatnonzero(np.all(early == first, axis=1))[0])


def _report(name: str, rows: list[dict[str, object]]) -> None:
    errors = np.array([row["errors"] for row in rows])
    worth = np.exp(np.mean(np.log(errors / errors.min(axis=0)), axis=1))
    order = np.argsort(worth)
    equal = [index for index in order if worth[index] <= (1.0 + NOISE) * worth[order[0]]]
    chosen = min(equal, key=lambda index: rows[index]["fit_s"])
    print(f"\n{name}: mean over {N_BLOCKS} contiguous blocks")
    print(
        "".join(f"{key:>22}" for key in GRID)
        + f"{'neighbours':>12}{'new motions':>13}{'worth':>8}{'fit s':>8}"
    )
    for index in order:
        row = rows[index]
        cells = "".join(f"{row[key]!s:>22}" for key in GRID)
        mark = "  <-" if index == chosen else ""
        print(
            f"{cells}{errors[index, 0]:>12.4g}{errors[index, 1]:>13.4g}"
            f"{worth[index]:>8.3f}{row['fit_s']:>8.3g}{mark}"
        )
    print(
        json.dumps(
            {
                "benchmark": "tune",
                "set": name,
                "chosen": {key: rows[chosen][key] for key in GRID},
                "neighbours": float(f"{errors[chosen, 0]:.4g}"),
                "new_motions": float(f"{errors[chosen, 1]:.4g}"),
            }
        )
    )


if __name__ == "__main__":
    sys.exit(main())
