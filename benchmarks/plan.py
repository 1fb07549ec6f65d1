# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""
What to record next: errors after three minutes of planned motion, and of other motions.

A simulated arm knows one eight of 20 s, recorded with the analytic controller. With that model it
then records one of several motions for three minutes: eights of all speeds, ways between random
postures, a Fourier series of the smallest condition number of the regressor (as FloBaRoID and
others excite arms), or what `plan` plans. Each recording updates the first model as the node's
learner does, and the product tracks the test paths with the result. Ratios are those of medians
over seeds: of the planned motion's errors to those of eights and of random postures.

What an earlier run with the same --kept folder has measured is not measured again: seeds and
plants can be run in parts. --choosing tracks other paths, by which the planner's constants may be
chosen.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
from _hard_plants import PLANTS
from _live_session import add_folder_options, new_folder
from _plan_figure import draw_plan
from _plan_motions import MOTIONS
from _plan_runs import CHOSEN_ON, FIRST, JUDGING, run

from ilr_dynamics.cli.table import format_table

PLANNED = "planned"
COMPARED = {"eights": 0.6, "random postures": 0.8}
"""What errors of the planned motion are compared with, and the ratios that are asked for."""
# On T1, which is an eight itself, eights are the best that can be recorded.
OF_EIGHT, MOST_OF_EIGHT = "T1", 1.3
Results = dict[str, Any]


def main() -> int:
    """Run what is missing; print what there is."""
    options = _options()
    paths = CHOSEN_ON if options.choosing else JUDGING
    folder = options.kept or new_folder(options, "plan")
    folder.mkdir(parents=True, exist_ok=True)
    print(f"results are kept in {folder}", flush=True)
    seeds = range(options.first_seed, options.first_seed + options.seeds)
    summary: Results = {"seeds": options.seeds, "first_seed": options.first_seed}
    for plant in options.plants:
        results = {
            name: [run(plant, seed, name, paths, folder) for seed in seeds]
            for name in (FIRST, *MOTIONS)
        }
        summary[plant] = report(plant, results, paths)
    if not options.choosing:
        figure = options.figures / "plan_wam4.png"
        draw_plan(figure, options.plants[0], options.first_seed, tuple(MOTIONS), folder)
    print(json.dumps({"benchmark": "plan", **summary}))
    return 0


def report(plant: str, results: dict[str, list[Results]], paths: tuple[str, ...]) -> Results:
    """
    Print the table of a plant.

    Parameters
    ----------
    plant
        Its name.
    results
        By motion, those of each seed.
    paths
        That were tracked.

    Returns
    -------
    dict
        Medians by motion and path, ratios of those of the planned motion, and faults.
    """
    medians = {
        name: {path: _median(each, path) for path in paths} for name, each in results.items()
    }
    print(f"\n{plant}: mean squared error [rad²], medians of {len(results[FIRST])} seeds")
    rows = [
        [name, *("fault" if of[path] is None else f"{of[path]:.2e}" for path in paths)]
        for name, of in medians.items()
    ]
    ratios = {
        name: {path: _ratio(medians[PLANNED][path], medians[name][path]) for path in paths}
        for name in COMPARED
    }
    rows += [
        [
            f"{PLANNED} / {name}",
            *("-" if ratio is None else f"{ratio:.2f}" for ratio in of.values()),
        ]
        for name, of in ratios.items()
    ]
    print(format_table(["recorded after the first eight", *paths], rows))
    faults = [
        f"{name}, seed {number}, {path}: {of_seed[path]['fault']}"
        for name, of_seeds in results.items()
        for number, of_seed in enumerate(of_seeds)
        for path in paths
        if "fault" in of_seed[path]
    ]
    print("\n".join(faults))
    return {"mse": medians, "ratios": ratios, "faults": len(faults), "met": _met(ratios)}


def _met(ratios: dict[str, Results]) -> bool:
    """Whether all ratios are as small as asked for; T1 against the eights alone."""
    for name, of_paths in ratios.items():
        for path, ratio in of_paths.items():
            most = COMPARED[name]
            if path == OF_EIGHT:
                most = MOST_OF_EIGHT if name == "eights" else np.inf
            if ratio is None or ratio > most:
                return False
    return True


def _median(of_seeds: list[Results], path: str) -> float | None:
    errors = [of_seed[path].get("mse") for of_seed in of_seeds]
    return None if None in errors else float(np.median(errors))


def _ratio(error: float | None, other: float | None) -> float | None:
    return None if error is None or other is None else round(error / other, 3)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=5, help="number of seeds (%(default)s)")
    parser.add_argument("--first-seed", type=int, default=0, help="the first one (%(default)s)")
    parser.add_argument(
        "--plants",
        nargs="+",
        choices=tuple(PLANTS),
        default=["own", "hose"],
        metavar="NAME",
        help="of %(choices)s (own hose)",
    )
    parser.add_argument("--choosing", action="store_true", help="track paths that judge nothing")
    parser.add_argument("--kept", type=Path, metavar="FOLDER", help="go on with what is there")
    add_folder_options(parser)
    options = parser.parse_args()
    if options.seeds < 1:
        parser.error(f"--seeds is {options.seeds}, expected at least 1")
    return options


if __name__ == "__main__":
    sys.exit(main())
