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
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from _closed_loop import TEST_PATHS, LearnedTorque, Learner, run_rounds, track_tests
from _simulated_motion import Arm
from numpy.typing import NDArray
from tqdm import tqdm

from ilr_dynamics.control import FeedForward, RigidBodyFeedForward
from ilr_dynamics.exceptions import TrajectoryError
from ilr_dynamics.learning import LearningSettings, learn
from ilr_dynamics.learning.prior import PRIOR_ALONE
from ilr_dynamics.recording import Samples
from ilr_dynamics.regression import HILR
from ilr_dynamics.robot.identified_dynamics import IdentifiedDynamics
from ilr_dynamics.robot.plant_inverse import PlantInverse

Array = NDArray[np.float64]

# As in config/wam4.yaml.
MODEL = {
    "n_components": 300,
    "input_scale": [*[0.2] * 4, *[0.4] * 4, *[1.2] * 4],
    "output_scale": [4.0, 8.0, 2.0, 2.0],
}

# Lower components share the width of their upper one, which more samples know better: they reach
# less far beside the recorded path, where the desired one is. With the concentrations of a model
# without hierarchy the lower ones without samples, one of each upper component, speak there, and
# these have a slope but no offset: torques are Nm off, and joint 4 goes faster than it may. With
# next to no share for those, the unseen component speaks: the mean torque.
FEW_VACANT = {"concentration": 1e-6, "upper_concentration": 1e-3}


class LocalModels:
    """What the node's learner makes of recordings, with or without identified dynamics."""

    def __init__(self, arm: Arm, robot: str | None) -> None:
        self._joints = arm.description.joint_names
        self._settings = LearningSettings(self._joints, model=MODEL, robot=robot)
        self._model = None

    def learn(self, X: Array, Y: Array) -> None:
        samples = Samples(np.arange(len(X)) * 0.01, X, Y, self._joints, False, {})
        self._model, _ = learn(samples, self._settings, self._model)
        self._predictor = self._model.predictor()

    def predict_one(self, x: Array) -> Array:
        return self._predictor(x)[0]


class Hierarchy:
    """Upper and lower local models, with the prior that the node gives those that stand alone."""

    def __init__(self, arm: Arm) -> None:
        self._model = HILR(**{**PRIOR_ALONE, **FEW_VACANT}).set_params(**MODEL)

    def learn(self, X: Array, Y: Array) -> None:
        self._model.partial_fit(X, Y)
        self._predictor = self._model.predictor()

    def predict_one(self, x: Array) -> Array:
        return self._predictor(x)[0]


class Identified:
    """Identified dynamics alone."""

    def __init__(self, arm: Arm) -> None:
        self._dynamics = IdentifiedDynamics.from_description(arm.description)

    def learn(self, X: Array, Y: Array) -> None:
        self._dynamics = self._dynamics.updated(X, Y, np.ones(len(X)))

    def predict_one(self, x: Array) -> Array:
        return self._dynamics.predict(x[None]).mean[0]


LEARNERS: dict[str, Callable[[Arm], Learner]] = {
    "identified_pd": Identified,
    "ilr_pd": lambda arm: LocalModels(arm, None),
    "hilr_pd": Hierarchy,
    "physics_ilr_pd": lambda arm: LocalModels(arm, "wam4"),
}


CONTROLLERS = ("pd", "analytic_pd", *LEARNERS, "perfect_pd")


@dataclass(frozen=True)
class Tracked:
    """
    A controller on the test trajectories.

    Parameters
    ----------
    error : (n_paths,)
        Mean squared error, rad^2.
    pd_torque : (n_paths,)
        Mean magnitude of the feedback torque, Nm.
    """

    error: Array
    pd_torque: Array


@dataclass(frozen=True)
class Fault:
    """What ended a controller's motion."""

    reason: str


def trained_feedforward(name: str, arm: Arm) -> FeedForward | None:
    """Feed-forward of a controller, after three rounds if it learns."""
    if name in LEARNERS:
        learner = LEARNERS[name](arm)
        run_rounds(arm, learner)
        return LearnedTorque(learner.predict_one)
    if name == "analytic_pd":
        return RigidBodyFeedForward(arm.model)
    if name == "perfect_pd":
        inverse = PlantInverse(arm.plant)
        return LearnedTorque(lambda x: inverse(*np.split(x, 3)))
    return None


def outcome(make_feedforward: Callable[[Arm], FeedForward | None], seed: int) -> Tracked | Fault:
    """
    Track the test trajectories, or find that this controller cannot.

    Parameters
    ----------
    make_feedforward
        Makes the feed-forward of the controller for an arm, which may move for that.
    seed
        Of the arm.
    """
    arm = Arm(seed)
    try:
        results = track_tests(arm, make_feedforward(arm))
    except TrajectoryError as error:
        return Fault(f"seed {seed}: {error}")
    errors, torques = zip(*(results[path] for path in TEST_PATHS), strict=True)
    return Tracked(np.array(errors), np.array(torques))


def main() -> int:
    """Track with all controllers."""
    options = _options()
    outcomes: dict[str, list[Tracked | Fault]] = {name: [] for name in options.controllers}
    runs = [(name, seed) for seed in range(options.seeds) for name in options.controllers]
    for name, seed in tqdm(runs, desc="closed loop", file=sys.stderr):
        outcomes[name].append(outcome(partial(trained_feedforward, name), seed))
    print(
        f"{'mean squared error [rad^2], PD torque [Nm]':44}"
        + "".join(f"{path:>26}" for path in TEST_PATHS)
    )
    figures = {name: report(name, of_seeds) for name, of_seeds in outcomes.items()}
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


def report(name: str, outcomes: list[Tracked | Fault]) -> dict[str, dict[str, float]] | None:
    """Print rows of the table; a controller that ends in a fault with one seed has no figures."""
    faults = [result for result in outcomes if isinstance(result, Fault)]
    for fault in faults:
        print(f"{name:44}fault: {fault.reason}")
    if faults:
        return None
    errors = np.array([result.error for result in outcomes])
    torques = np.array([result.pd_torque for result in outcomes])
    error, torque = np.median(errors, axis=0), np.median(torques, axis=0)
    cells = (f"{e:.2e}, {t:.2f}" for e, t in zip(error, torque, strict=True))
    print(f"{name:44}" + "".join(f"{cell:>26}" for cell in cells))
    if len(outcomes) > 1:
        ranges = zip(np.min(errors, axis=0), np.max(errors, axis=0), strict=True)
        cells = (f"({low:.2e} to {high:.2e})" for low, high in ranges)
        print(f"{'':44}" + "".join(f"{cell:>26}" for cell in cells))
    return {
        path: {"tracking_mse": float(f"{e:.4g}"), "pd_torque": float(f"{t:.4g}")}
        for path, e, t in zip(TEST_PATHS, error, torque, strict=True)
    }


if __name__ == "__main__":
    sys.exit(main())
