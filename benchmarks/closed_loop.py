# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""
Tracking with models learned in three rounds, in lock-step with the simulated arm.

The honest competitor of a learned model is the arm's dynamics identified from the same data. A
controller that ends in a fault is reported as that.
"""

from __future__ import annotations

import argparse
import json
import sys

from _closed_loop import (
    TEST_PATHS,
    Fault,
    Tracked,
    given_feedforward,
    outcome,
    run_rounds,
    table_rows,
    track_tests,
)
from _learners import LEARNERS, LearnedTorque, make_learner
from _simulated_motion import Arm
from tqdm import tqdm

from ilr_dynamics.control import FeedForward

CONTROLLERS = ("pd", "analytic_pd", *LEARNERS, "perfect_pd")


def trained_feedforward(name: str, arm: Arm) -> FeedForward | None:
    """Feed-forward of a controller, after three rounds if it learns."""
    if name not in LEARNERS:
        return given_feedforward(name, arm)
    learner = make_learner(name, arm)
    run_rounds(arm, learner)
    return LearnedTorque(learner.predict_one)


def run(name: str, seed: int) -> Tracked | Fault:
    """Track the test trajectories with a controller."""
    arm = Arm(seed)
    return outcome(lambda: track_tests(arm, trained_feedforward(name, arm)), f"seed {seed}")


def main() -> int:
    """Track with all controllers."""
    options = _options()
    outcomes: dict[str, list[Tracked | Fault]] = {name: [] for name in options.controllers}
    runs = [(name, seed) for seed in range(options.seeds) for name in options.controllers]
    for name, seed in tqdm(runs, desc="closed loop", file=sys.stderr):
        outcomes[name].append(run(name, seed))
    title = "mean squared error [rad^2], PD torque [Nm]"
    print(f"{title:44}" + "".join(f"{path:>26}" for path in TEST_PATHS))
    figures = {}
    for name, of_seeds in outcomes.items():
        rows, figures[name] = table_rows(name, of_seeds)
        print("\n".join(rows))
    print(json.dumps({"benchmark": "closed_loop", **figures}))
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=1, help="seeds of the arm (%(default)s)")
    parser.add_argument(
        "--controllers",
        nargs="+",
        choices=CONTROLLERS,
        default=list(CONTROLLERS),
        metavar="CONTROLLER",
        help="only these (%(choices)s)",
    )
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
