# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""
An arm that takes something up: how soon it is known, and what it is worth.

A model is learned without a payload, in three rounds of eights. Then the arm takes up 0.25, 0.5
and 1 kg at drawn places, amid T1 and at rest before it, while the controller estimates the payload
and feeds it forward by itself. T1_after_10_s and T1_after_30_s are the errors of a whole T1 with
the estimate that was in use 10 and 30 s after the first motion with the payload, the worst of all.
Besides: friction that doubles without a payload, ten minutes in which nothing happens, and test
trajectories that the model has not learned. What can be known of 1 kg from T1 at all is shown with
the arm's own inverse in the place of the learned model (com_error_mm_by_own_inverse).

Results of each run are kept in a folder; what was interrupted goes on where it was by --resume.
"""

from __future__ import annotations

import argparse
import json
import sys
from functools import partial
from pathlib import Path

import numpy as np
from _closed_loop import given_feedforward
from _kept_runs import KeptRuns, Results
from _live_session import add_folder_options, new_folder
from _payload_arm import LoadableArm, draw_payload
from _payload_figure import draw_estimates
from _payload_runs import Run, carried_payload, error_of, frozen_error, long_path, run

from ilr_dynamics.control import FeedForward

MASSES = (0.25, 0.5, 1.0)
HEAVIEST = 1.0
# Time of the pick-up from the start of T1, s; before it the arm is at rest.
PICK_UPS = {"amid": 7.3, "at_rest": -0.5}
FROZEN_AFTER = (10, 30)
SETTLED_S = 31.0
FRICTION, FRICTION_S = 2.0, 60.0
UNCHANGED_S, ELSEWHERE_S = 600.0, 60.0


def main() -> int:
    """Run what is missing; print what there is."""
    options = _options()
    folder = options.resume or new_folder(options, "payload")
    folder.mkdir(parents=True, exist_ok=True)
    print(f"results are kept in {folder}", flush=True)
    summary: Results = {"benchmark": "payload"}
    for robot in options.robots:
        summary[robot] = _of_arm(robot, options, folder)
    print(json.dumps(summary))
    return 0


def _of_arm(robot: str, options: argparse.Namespace, folder: Path) -> Results:
    seed = options.seed
    arm = LoadableArm(seed, robot)
    kept = KeptRuns(folder, f"{robot}_{seed}")
    feedforward = kept.feedforward(arm)
    bare = kept("bare", lambda: {"T1": frozen_error(arm, feedforward, None)})
    picked = {
        f"{mass:g} kg, {when}": kept(
            f"{mass:g}_{when}",
            partial(_pick_up, robot, seed, feedforward, mass, when, folder),
        )
        for mass in MASSES
        for when in PICK_UPS
    }
    own = given_feedforward("perfect_pd", arm)
    assert own is not None
    limits = [
        kept(f"own_inverse_{when}", partial(_pick_up, robot, seed, own, HEAVIEST, when, folder))
        for when in PICK_UPS
    ]
    rough = kept("friction", partial(_friction, robot, seed, feedforward))
    unchanged = kept("unchanged", partial(_unchanged, arm, feedforward, "T1", options.unchanged))
    elsewhere = [
        kept(f"unchanged_{name}", partial(_unchanged, arm, feedforward, name, ELSEWHERE_S))
        for name in ("T2", "T3")
    ]
    _print(robot, picked)
    options.figures.mkdir(parents=True, exist_ok=True)
    draw_estimates(options.figures / f"payload_{robot}.png", robot, picked, SETTLED_S)
    summary = _summary(bare, picked, rough, unchanged, elsewhere)
    return {**summary, "com_error_mm_by_own_inverse": _com_error_mm(limits)}


def _pick_up(
    robot: str, seed: int, feedforward: FeedForward, mass: float, when: str, folder: Path
) -> Results:
    random = np.random.default_rng([seed, round(1000 * mass), len(when)])
    payload, arm, at = draw_payload(mass, random), LoadableArm(seed, robot), PICK_UPS[when]
    moving = max(at, 0.0)
    found = run(
        arm,
        feedforward,
        long_path(arm, "T1", moving + SETTLED_S),
        carried_payload(arm),
        lambda: arm.plant.load(payload, folder),
        at,
    )
    results = _estimates(found, moving)
    results["true_mass"] = mass
    for after in FROZEN_AFTER:
        frozen = found.payload_at(moving + after)
        results[f"T1_{after}"] = frozen_error(arm, feedforward, frozen)
        results[f"errors_{after}"] = error_of(frozen, payload).tolist()
    return {**results, "T1_true": frozen_error(arm, feedforward, payload)}


def _friction(robot: str, seed: int, feedforward: FeedForward) -> Results:
    arm = LoadableArm(seed, robot, friction=FRICTION)
    found = run(arm, feedforward, long_path(arm, "T1", FRICTION_S), carried_payload(arm))
    return _estimates(found, 0.0)


def _unchanged(arm: LoadableArm, feedforward: FeedForward, name: str, duration: float) -> Results:
    found = run(arm, feedforward, long_path(arm, name, duration), carried_payload(arm))
    return _estimates(found, 0.0)


def _estimates(found: Run, start: float) -> Results:
    costs = 1e6 * np.array(found.costs)
    return {
        "times": np.round(np.array(found.times) - start, 3).tolist(),
        "masses": np.round(found.masses, 4).tolist(),
        "stds": np.round(found.stds, 4).tolist(),
        "largest": found.largest,
        "us_per_cycle": float(np.mean(costs)),
        "us_of_the_longest_in_a_thousand": float(np.quantile(costs, 0.999)),
    }


def _summary(
    bare: Results,
    picked: dict[str, Results],
    rough: Results,
    unchanged: Results,
    elsewhere: list[Results],
) -> Results:
    runs = list(picked.values())
    after = {
        f"T1_after_{s}_s": _worst([of_run[f"T1_{s}"] for of_run in runs]) for s in FROZEN_AFTER
    }
    errors = {of_run["true_mass"]: [] for of_run in runs}
    for of_run in runs:
        errors[of_run["true_mass"]].append(of_run["errors_30"])
    heavy = [error / mass for mass in (0.5, 1.0) for error, *_ in errors[mass]]
    all_runs = [*runs, rough, unchanged, *elsewhere]
    return {
        "T1_before": _rounded(bare["T1"]),
        **after,
        "T1_with_the_true_payload": _worst([of_run["T1_true"] for of_run in runs]),
        "mass_error": _rounded(max(heavy)),
        "mass_error_of_250_g": _rounded(max(error for error, *_ in errors[0.25])),
        "com_error_mm": _com_error_mm([each for each in runs if each["true_mass"] == HEAVIEST]),
        "first_moment_error": _rounded(max(of_run["errors_30"][2] for of_run in runs)),
        "friction_taken_for_kg": _rounded(rough["largest"]),
        "false_payload_kg": _rounded(unchanged["largest"]),
        "false_payload_elsewhere_kg": _rounded(max(each["largest"] for each in elsewhere)),
        "us_per_cycle": _rounded(float(np.median([each["us_per_cycle"] for each in all_runs]))),
    }


def _com_error_mm(runs: list[Results]) -> float:
    return _rounded(max(1e3 * of_run["errors_30"][1] for of_run in runs))


def _worst(errors: list[float | None]) -> float | None:
    """Largest error; None if one run ended in a fault."""
    known = [error for error in errors if error is not None]
    return _rounded(max(known)) if len(known) == len(errors) else None


def _rounded(value: float) -> float:
    return float(f"{value:.4g}")


def _print(robot: str, picked: dict[str, Results]) -> None:
    print(f"\n{robot}: error of T1 [rad^2], of mass [g], first moment [g m]; 10 s, 30 s, true")
    for name, of_run in picked.items():
        errors = [of_run[key] for key in ("T1_10", "T1_30", "T1_true")]
        cells = ["fault" if error is None else f"{error:.2e}" for error in errors]
        for after in FROZEN_AFTER:
            mass, _, moment = of_run[f"errors_{after}"]
            cells.append(f"{1e3 * mass:.1f} g, {1e3 * moment:.1f} g m")
        print(f"{name:>18}  " + "  ".join(f"{cell:>16}" for cell in cells))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    robots = ("wam4", "wam7")
    parser.add_argument(
        "--robots", nargs="+", choices=robots, default=list(robots), help="(%(default)s)"
    )
    parser.add_argument("--seed", type=int, default=0, help="of arm and places (%(default)s)")
    parser.add_argument(
        "--unchanged",
        type=float,
        default=UNCHANGED_S,
        help="time in which nothing happens, s (%(default)s)",
    )
    parser.add_argument(
        "--resume", type=Path, metavar="FOLDER", help="go on with what an earlier run kept there"
    )
    add_folder_options(parser)
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
