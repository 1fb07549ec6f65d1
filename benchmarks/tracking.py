# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""
The paper's control experiments, in lock-step with the simulated arms through the real controller.

Learning in sequence from 30,000 samples in 15 batches; learning from 150,000 samples, half of them
between postures of a larger region; an arm that takes up half a kilogram and whose friction
doubles. With --plants instead: learning in sequence on arms that no term of identified dynamics
describes, through the product's own gate, and paths that no recording came near. With --protocol
covering: ILR and HILR alone, learned from 150,000 samples of motions that cover a box of postures,
speeds and accelerations.

All of it takes hours; results of each controller are kept in a folder, and a run that was
interrupted goes on where it was by --resume (with the code of now, whatever made what is there).
"""

from __future__ import annotations

import argparse
import json
import sys
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Any

import _covering_experiment
import _plant_experiments
import numpy as np
from _closed_loop import TEST_PATHS
from _covering_models import MODELS
from _covering_tables import report_covering
from _hard_plants import PLANTS
from _learners import LEARNERS
from _live_session import add_folder_options, new_folder
from _plant_tables import print_plant
from _tracking_experiments import GIVEN, learn_and_track, track_given
from _tracking_figures import draw_curves, draw_shares, draw_tracks, keep_tracks, kept_tracks
from _tracking_tables import print_changes, print_errors, print_rates
from tqdm import tqdm

from ilr_dynamics.robot.description import load_description
from ilr_dynamics.robot.rigid_body import RigidBodyModel

CONTROLLERS = ("pd", "analytic_pd", *LEARNERS, "perfect_pd")
EXPERIMENTS = ("large", "sequential")
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
        _write(file, results)


def run_plant(plant: str, seed: int, controller: str, folder: Path) -> None:
    """Let one controller learn and track with an arm that no term describes."""
    file = result_file(folder, plant, seed, controller)
    if not file.exists():
        _write(file, _plant_experiments.track_paths(plant, seed, controller))


def result_file(folder: Path, arm: str, seed: int, controller: str) -> Path:
    """Where the results of a run are kept; the arm is a robot's name or a plant's."""
    return folder / f"{arm}_{seed}_{controller}.json"


def _write(file: Path, results: Results) -> None:
    partial = file.with_suffix(".part")
    partial.write_text(json.dumps(results))
    partial.replace(file)


def main() -> int:
    """Run what is missing; print what there is."""
    options = _options()
    folder = options.resume or new_folder(options, "tracking")
    folder.mkdir(parents=True, exist_ok=True)
    print(f"results are kept in {folder}", flush=True)
    if options.protocol == "covering":
        summary = _of_covering(options, folder)
    else:
        summary = _of_plants(options, folder) if options.plants else _of_robots(options, folder)
    print(json.dumps({"benchmark": "tracking", **summary}))
    return 0


def _of_plants(options: argparse.Namespace, folder: Path) -> Results:
    runs = [
        (run_plant, plant, seed, name, folder)
        for seed in range(options.seeds)
        for plant in options.plants
        for name in options.controllers
    ]
    _run_all(runs, options.processes)
    plants, ratios = {}, {}
    for plant in options.plants:
        results = {name: _read(folder, plant, options.seeds, name) for name in options.controllers}
        plants[plant], ratios[plant] = print_plant(plant, results)
    return {"plants": plants, "ratios": ratios}


def _of_covering(options: argparse.Namespace, folder: Path) -> Results:
    runs = [
        (_covering_experiment.run_seed, robot, seed, options.controllers, folder)
        for seed in range(options.seeds)
        for robot in options.robots
    ]
    _run_all(runs, options.processes)
    return {
        robot: report_covering(robot, options.seeds, options.controllers, folder, options.figures)
        for robot in options.robots
    }


def _run_all(runs: list[tuple[Any, ...]], processes: int) -> None:
    with ProcessPoolExecutor(processes) as pool:
        jobs = [pool.submit(*of_run) for of_run in runs]
        for job in tqdm(as_completed(jobs), total=len(jobs), desc="tracking", disable=None):
            job.result()


def _of_robots(options: argparse.Namespace, folder: Path) -> Results:
    runs = [
        (run, robot, seed, options.controllers, folder)
        for seed in range(options.seeds)
        for robot in options.robots
    ]
    _run_all(runs, options.processes)
    summary: Results = {}
    for robot in options.robots:
        results = {name: _read(folder, robot, options.seeds, name) for name in options.controllers}
        of_learners = {name: results[name] for name in LEARNERS if name in results}
        of_robot: Results = {name: print_errors(robot, name, results) for name in EXPERIMENTS}
        of_robot["change"] = print_changes(robot, of_learners)
        of_robot["predictions_per_s"] = print_rates(robot, of_learners)
        options.figures.mkdir(parents=True, exist_ok=True)
        _draw_curves(robot, results, options.figures)
        _draw_tracks(robot, folder, options.figures)
        # Those of the first robot stand at the top, as those of the paper's arm do.
        summary.update({**of_robot.pop("large"), **of_robot} if not summary else {robot: of_robot})
    return summary


def _read(folder: Path, arm: str, n_seeds: int, name: str) -> list[Results]:
    files = (result_file(folder, arm, seed, name) for seed in range(n_seeds))
    return [json.loads(file.read_text()) for file in files]


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

    def choice(name: str, known: tuple[str, ...], default: list[str], text: str) -> None:
        parser.add_argument(
            name, nargs="+", choices=known, default=default, metavar="NAME", help=text
        )

    parser.add_argument("--seeds", type=_count, help="seeds of the arm (5; 3 with --plants)")
    robots = ("wam4", "wam7")
    choice("--robots", robots, [], "only these arms (both; wam4 of covering)")
    choice("--plants", tuple(PLANTS), [], "these plants of wam4 instead (%(choices)s)")
    choice("--controllers", CONTROLLERS, [], "only these controllers (%(choices)s)")
    parser.add_argument(
        "--protocol",
        choices=("rounds", "covering"),
        default="rounds",
        help="how the arm is recorded and what learns (%(default)s)",
    )
    parser.add_argument(
        "--processes", type=_count, default=1, help="runs at the same time (%(default)s)"
    )
    parser.add_argument(
        "--resume", type=Path, metavar="FOLDER", help="go on with what an earlier run kept there"
    )
    add_folder_options(parser)
    options = parser.parse_args()
    if options.plants and options.protocol == "covering":
        parser.error("--plants goes with --protocol rounds only, got covering")
    if options.plants and options.robots:
        parser.error(f"--plants are arms like wam4; expected no --robots, got {options.robots}")
    if options.resume is not None and options.resume.exists() and not options.resume.is_dir():
        parser.error(f"--resume {options.resume} is no folder; expected that of an earlier run")
    covers = options.protocol == "covering"
    known = (*_covering_experiment.GIVEN, *MODELS)
    if covers and (others := [name for name in options.controllers if name not in known]):
        parser.error(f"--protocol covering knows {', '.join(known)}; got {', '.join(others)}")
    options.robots = options.robots or (["wam4"] if covers else list(robots))
    seeds, controllers = (
        (3, _plant_experiments.CONTROLLERS) if options.plants else (5, CONTROLLERS)
    )
    options.seeds = seeds if options.seeds is None else options.seeds
    options.controllers = options.controllers or list(controllers)
    return options


def _count(text: str) -> int:
    """Number of an option; 0 or less is an error."""
    if (number := int(text)) < 1:
        raise argparse.ArgumentTypeError(f"expected 1 or more, got {number}")
    return number


if __name__ == "__main__":
    sys.exit(main())
