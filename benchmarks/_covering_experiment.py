# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""
The paper's second control experiment: local models alone, learned from motions that cover a box.

150,000 samples of motions drawn from one law. Only the bounds of their states are those of the
test paths. Both models learn the same samples, recorded with the analytic model and PD as a lab
records before it has learned anything; neither has rigid-body dynamics, identified dynamics or a
gate.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from _closed_loop import TEST_PATHS, given_feedforward, track_tests
from _covering_law import distance_ratios, states_of
from _covering_limits import limits_of_local_models
from _covering_models import MODELS, new_model, weights_of
from _covering_oracles import TestStates, normalised_error
from _covering_recordings import BATCH, N_BATCHES, Recorded, box_of_tests, drawn_path
from _kept_runs import KeptRuns
from _learners import LearnedTorque
from _simulated_motion import Arm

from ilr_dynamics.arrays import FloatArray
from ilr_dynamics.control import FeedForward
from ilr_dynamics.exceptions import ConvergenceWarning, TrajectoryError
from ilr_dynamics.regression.mixture_regressor import MixtureRegressor
from ilr_dynamics.robot.tool_paths import tool_path

__all__ = ["GIVEN", "run_seed"]

Results = dict[str, Any]

GIVEN = ("pd", "analytic_pd", "perfect_pd")
# Numbers of components whose errors are compared, on every third sample.
SWEPT, SWEPT_EVERY = (10, 20, 40, 80, 160, 320), 3


def run_seed(robot: str, seed: int, controllers: list[str], folder: Path) -> None:
    """Record, learn and track with one arm; what an earlier run kept is not done again."""
    warnings.simplefilter("ignore", ConvergenceWarning)
    arm = Arm(seed, robot)
    kept = KeptRuns(folder, f"covering_{robot}_{seed}")
    for name in GIVEN:
        kept(name, partial(_tracked, arm, given_feedforward(name, arm)))
    recorded = Recorded.kept(folder / f"covering_{robot}_{seed}_samples.npz", arm, seed)
    kept("distances", partial(_distances, arm, recorded))
    runs: dict[str, Callable[..., Results]] = {"": _at_once, "_batches": _in_batches}
    if seed == 0:
        runs["_sweep"] = partial(_sweep, seed)
    for suffix, work in runs.items():
        for name in MODELS:
            if name in controllers:
                kept(name + suffix, partial(work, name, arm, recorded))
    if seed == 0:
        kept("limits", partial(limits_of_local_models, arm, recorded, seed))


def _tracked(arm: Arm, feedforward: FeedForward | None) -> Results:
    """Errors and torques on the test paths, or the fault that ended it."""
    try:
        results = track_tests(arm, feedforward)
    except TrajectoryError as error:
        return {"fault": str(error)}
    return {
        "mse": [track.mean_squared_error for track in results.values()],
        "pd_torque": [track.mean_pd_torque for track in results.values()],
    }


def _distances(arm: Arm, recorded: Recorded) -> Results:
    """Quartiles of how far the states of each test path are from the training states."""
    box = box_of_tests(arm)
    of_path = {}
    for name in TEST_PATHS:
        states = states_of(arm.joint_path(tool_path(name)))
        ratios = distance_ratios(states, recorded.X, recorded.times, box)
        of_path[name] = np.percentile(ratios, [0, 25, 50, 75, 100]).round(3).tolist()
    return of_path


def _at_once(name: str, arm: Arm, recorded: Recorded) -> Results:
    """Learn all samples in one fit, and track the tests."""
    model = new_model(name, arm, MODELS[name])
    started = time.process_time()
    model.fit(recorded.X, recorded.Y, weights_of(recorded.X, arm))
    learning_s = time.process_time() - started
    return {
        "learning_s": round(learning_s, 1),
        **_figures_of(model, TestStates(arm)),
        **_tracked_with(model, arm),
    }


def _tracked_with(model: MixtureRegressor, arm: Arm) -> Results:
    predictor = model.predictor()
    return _tracked(arm, LearnedTorque(lambda x: predictor(x)[0]))


def _in_batches(name: str, arm: Arm, recorded: Recorded) -> Results:
    """Learn one recording after the other, the posterior as prior, and track the tests."""
    model, tests = new_model(name, arm, MODELS[name]), TestStates(arm)
    figures = []
    for k in range(N_BATCHES):
        rows = slice(k * BATCH, (k + 1) * BATCH)
        X = recorded.X[rows]
        model.partial_fit(X, recorded.Y[rows], weights_of(X, arm))
        figures.append(_figures_of(model, tests))
    return {"curve": figures, **_tracked_with(model, arm)}


def _figures_of(model: MixtureRegressor, tests: TestStates) -> Results:
    """Size of a model, error of its torque on the test paths, and time of a prediction."""
    predictor = model.predictor()
    seconds: list[float] = []

    def predict(X: FloatArray) -> FloatArray:
        answers = []
        for x in X:
            started = time.perf_counter()
            answers.append(predictor(x)[0])
            seconds.append(time.perf_counter() - started)
        return np.array(answers)

    return {
        "experts": model.n_active_,
        "slopes": int(np.unique(model.groups_).size),
        "error": tests.errors(predict),
        "prediction_us": 1e6 * float(np.median(seconds)),
    }


def _sweep(seed: int, name: str, arm: Arm, recorded: Recorded) -> Results:
    """Errors of models with at most so many components, on a motion of the law not learned."""
    new = Recorded.along(arm, [drawn_path(arm, seed, N_BATCHES)])
    weights = SWEPT_EVERY * weights_of(recorded.X, arm)[::SWEPT_EVERY]
    X, Y = recorded.X[::SWEPT_EVERY], recorded.Y[::SWEPT_EVERY]
    rows, tests = [], TestStates(arm)
    for n_components in SWEPT:
        model = new_model(name, arm, n_components).fit(X, Y, weights)
        error = normalised_error(model.predict(new.X), new.Y)
        rows.append({"most": n_components, "new_motion": error, **_figures_of(model, tests)})
    return {"rows": rows}
