# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""
The paper's control experiments, in lock-step with the simulated arms through the real controller.

Learning in sequence from 30,000 samples in 15 batches; learning from 150,000 samples, half of them
between postures of a larger region; an arm that takes up half a kilogram and whose friction
doubles. All of it takes hours; results of each controller are kept in a folder, and a run that was
interrupted goes on where it was by --resume (with the code of now, whatever made what is there).
"""

from __future__ import annotations

import argparse
import json
import sys
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Any

import numpy as np
from _closed_loop import TEST_PATHS, Fault, Tracked, table_rows
from _learners import LEARNERS
from _live_session import add_folder_options, new_folder
from _tracking_experiments import GIVEN, learn_and_track, track_given
from _tracking_figures import draw_curves, draw_shares, draw_tracks, keep_tracks, kept_tracks
from tqdm import tqdm

from ilr_dynamics.robot.description import load_description
from ilr_dynamics.robot.rigid_body import RigidBodyModel

CONTROLLERS = ("pd", "analytic_pd", *LEARNERS, "perfect_pd")
EXPERIMENTS = ("large", "sequential")
CHANGES = ("before", "after", "learned", "learned_forgetting", "perfect")
DRAWN_TRACKS = ("pd", "analytic_pd", "ilr_pd", "physics_ilr_pd")
Results = dict[str, Any]


def run(robot: str, seed: int, controllers: list[str], folder: Path) -> None:
    """All experiments with one arm; results of each controller go to files of their own."""
    for name in controllers:
        file = result_file(folder, robot, seed, name)
        if file.exists():
            continue
        results: Results = {}
        if name in GIVEN:
            results["large"], tracks = track_given(name, robot, seed)
            results["sequential"] = results["large"]
        else:
            changed = file.with_suffix("")
            for experiment, of_experiment, of_tests in learn_and_track(name, robot, seed, changed):
                results[experiment] = of_experiment
                if experiment == "large":
                    tracks = of_tests
        keep_tracks(file.with_suffix(".npz"), tracks)
        partial = file.with_suffix(".part")
        partial.write_text(json.dumps(results))
        partial.replace(file)


def result_file(folder: Path, robot: str, seed: int, controller: str) -> Path:
    """Where the results of a run are kept."""
    return folder / f"{robot}_{seed}_{controller}.json"


def main() -> int:
    """Run what is missing; print what there is."""
    options = _options()
    folder = options.resume or new_folder(options, "tracking")
    print(f"results are kept in {folder}", flush=True)
    runs = [(robot, seed) for seed in range(options.seeds) for robot in options.robots]
    with ProcessPoolExecutor(options.processes) as pool:
        jobs = [pool.submit(run, *of_arm, options.controllers, folder) for of_arm in runs]
        for job in tqdm(as_completed(jobs), total=len(jobs), desc="tracking", file=sys.stderr):
            job.result()
    summary: Results = {}
    for robot in options.robots:
        results = {name: _read(folder, robot, options.seeds, name) for name in options.controllers}
        of_robot = {experiment: _table(robot, experiment, results) for experiment in EXPERIMENTS}
        of_robot["change"] = _change_table(robot, results)
        of_robot["predictions_per_s"] = _rates(robot, results)
        options.figures.mkdir(parents=True, exist_ok=True)
        _draw_curves(robot, results, options.figures)
        _draw_tracks(robot, folder, options.figures)
        # Those of the first robot stand at the top, as those of the paper's arm do.
        summary.update({**of_robot.pop("large"), **of_robot} if not summary else {robot: of_robot})
    print(json.dumps({"benchmark": "tracking", **summary}))
    return 0


def _read(folder: Path, robot: str, n_seeds: int, name: str) -> list[Results]:
    files = (result_file(folder, robot, seed, name) for seed in range(n_seeds))
    return [json.loads(file.read_text()) for file in files]


def _table(robot: str, experiment: str, results: dict[str, list[Results]]) -> Results:
    """Print the errors and feedback torques of all controllers; medians by path and controller."""
    print(f"\n{robot}, {experiment}: mean squared error [rad^2], PD torque [Nm]")
    print(f"{'':44}" + "".join(f"{path:>26}" for path in TEST_PATHS))
    figures: Results = {path: {} for path in TEST_PATHS}
    for name, of_seeds in results.items():
        rows, by_path = table_rows(name, [_outcome(result[experiment]) for result in of_seeds])
        print("\n".join(rows))
        for path in TEST_PATHS:
            figures[path][name] = None if by_path is None else by_path[path]
    return figures


def _outcome(result: Results) -> Tracked | Fault:
    if "fault" in result:
        return Fault(result["fault"])
    return Tracked(np.array(result["mse"]), np.array(result["pd_torque"]))


def _change_table(robot: str, results: dict[str, list[Results]]) -> Results:
    print(f"\n{robot}, half a kilogram and friction doubled: error on T1 [rad^2]")
    print(f"{'':44}" + "".join(f"{label:>20}" for label in CHANGES))
    figures: Results = {}
    for name in LEARNERS:
        of_seeds = [result.get("change", {}) for result in results.get(name, [])]
        if not of_seeds:
            continue
        figures[name] = {label: _median(of_seeds, label) for label in CHANGES}
        cells = ("fault" if value is None else f"{value:.2e}" for value in figures[name].values())
        print(f"{name:44}" + "".join(f"{cell:>20}" for cell in cells))
    return figures


def _rates(robot: str, results: dict[str, list[Results]]) -> Results:
    """Print how often a second each model is asked in the loop, could the loop do nothing else."""
    rates = {}
    for name in LEARNERS:
        of_seeds = [result["large"] for result in results.get(name, [])]
        if of_seeds and (rate := _median(of_seeds, "predictions_per_s")) is not None:
            rates[name] = round(rate)
    shown = ", ".join(f"{name} {rate:,}" for name, rate in rates.items())
    print(f"\n{robot}, predictions a second in the loop: {shown}")
    return rates


def _median(of_seeds: list[Results], key: str) -> float | None:
    """Median over seeds; None if one of them has no figure."""
    values = [result.get(key) for result in of_seeds]
    return None if None in values else float(f"{np.median(values):.4g}")


def _draw_curves(robot: str, results: dict[str, list[Results]], figures: Path) -> None:
    curves = {
        name: np.array([result["sequential"]["curve"] for result in results[name]])
        for name in LEARNERS
        if name in results and all("curve" in result["sequential"] for result in results[name])
    }
    if curves:
        draw_curves(figures / f"tracking_{robot}_batches.png", curves, TEST_PATHS)


def _draw_tracks(robot: str, folder: Path, figures: Path) -> None:
    """Draw those of the first seed."""
    files = {
        name: result_file(folder, robot, 0, name).with_suffix(".npz") for name in DRAWN_TRACKS
    }
    tracks = {name: kept_tracks(file) for name, file in files.items() if file.exists()}
    tracks = {name: of_tests for name, of_tests in tracks.items() if of_tests}
    if tracks:
        description = load_description(robot)
        title = f"{robot} after 150,000 samples"
        model = RigidBodyModel(description)
        draw_tracks(figures / f"tracking_{robot}_tracks.png", tracks, model, title)
        shares = figures / f"tracking_{robot}_torques.png"
        draw_shares(shares, tracks, description.joint_names, TEST_PATHS[0])


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )

    def choice(name: str, known: tuple[str, ...], text: str) -> None:
        parser.add_argument(
            name, nargs="+", choices=known, default=list(known), metavar="NAME", help=text
        )

    parser.add_argument("--seeds", type=int, default=5, help="seeds of the arm (%(default)s)")
    choice("--robots", ("wam4", "wam7"), "only these arms (%(choices)s)")
    choice("--controllers", CONTROLLERS, "only these controllers (%(choices)s)")
    parser.add_argument(
        "--processes", type=int, default=1, help="runs at the same time (%(default)s)"
    )
    parser.add_argument(
        "--resume", type=Path, metavar="FOLDER", help="go on with what an earlier run kept there"
    )
    add_folder_options(parser)
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
