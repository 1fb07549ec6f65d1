# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""
The paper's experiments with the models: ten seeds each, a table, pictures, one line of JSON.

Whether each seed is as good as asked for is counted; the figures are medians over the seeds.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path

import numpy as np
from _paper_experiments import EXPERIMENTS, Outcome
from _paper_figures import FIGURES
from tqdm import tqdm

REPOSITORY = Path(__file__).resolve().parent.parent


def main() -> int:
    """Run the experiments that are asked for."""
    options = _options()
    outcomes: dict[str, list[Outcome]] = {}
    runs = [
        (name, seed)
        for name in options.only
        for seed in range(min(options.seeds, EXPERIMENTS[name].n_seeds))
    ]
    for name, seed in tqdm(runs, desc="experiments", unit="run", disable=None):
        outcomes.setdefault(name, []).append(EXPERIMENTS[name].run(seed, options.data_dir))
    for name, results in outcomes.items():
        if name in FIGURES and options.figures is not None:
            options.figures.mkdir(parents=True, exist_ok=True)
            FIGURES[name](results, options.figures / f"paper_{name}.png")
    summary = {name: _summary(results) for name, results in outcomes.items()}
    _print_table(summary, outcomes)
    print(json.dumps({"benchmark": "paper", **summary}))
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--only", nargs="+", choices=EXPERIMENTS, default=list(EXPERIMENTS), metavar="NAME"
    )
    parser.add_argument("--seeds", type=int, default=10, help="seeds of each experiment at most")
    parser.add_argument(
        "--data-dir",
        type=Path,
        default=Path(os.environ.get("ILR_DYNAMICS_DATA", REPOSITORY.parent / "shared" / "data")),
        help="folder of cmb.csv",
    )
    parser.add_argument(
        "--figures",
        type=Path,
        default=REPOSITORY / "docs" / "figures",
        help="folder of the pictures",
    )
    options = parser.parse_args()
    if "cmb" in options.only and not (options.data_dir / "cmb.csv").is_file():
        print(f"paper: there is no cmb.csv in {options.data_dir}: leaving cmb out (--data-dir)")
        options.only = [name for name in options.only if name != "cmb"]
    return options


def _summary(results: list[Outcome]) -> dict[str, float]:
    medians = {
        name: float(f"{np.median([result.figures[name] for result in results]):.4g}")
        for name in results[0].figures
    }
    passed = sum(result.passed for result in results)
    return {**medians, "passed_seeds": passed, "seeds": len(results)}


def _print_table(summary: dict[str, dict[str, float]], outcomes: dict[str, list[Outcome]]) -> None:
    for name, figures in summary.items():
        print(f"\n{name}: {figures['passed_seeds']} of {figures['seeds']} seeds pass")
        print(f"  asked: {EXPERIMENTS[name].asked}")
        print(f"  {'':24}{'median':>11}{'lowest':>11}{'highest':>11}")
        for figure in outcomes[name][0].figures:
            values = [result.figures[figure] for result in outcomes[name]]
            print(f"  {figure:24}{np.median(values):11.4g}{min(values):11.4g}{max(values):11.4g}")
    print()


if __name__ == "__main__":
    sys.exit(main())
