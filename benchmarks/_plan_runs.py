# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Runs of the benchmark of planned motions: a first model, a recording, and what it is worth."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from _closed_loop import joined, record
from _hard_plants import hard_arm
from _kept_runs import KeptRuns
from _learners import LocalModels, make_learner, product_feedforward
from _plan_motions import MOTIONS
from _plant_paths import plant_path, rest_to_rest
from _simulated_motion import Arm

from ilr_dynamics.control import JointPath, RigidBodyFeedForward, track
from ilr_dynamics.exceptions import TrajectoryError
from ilr_dynamics.regression import load_snapshot
from ilr_dynamics.regression.mixture_regressor import MixtureRegressor
from ilr_dynamics.robot.identified_dynamics import IdentifiedDynamics
from ilr_dynamics.robot.tool_paths import ToolPath, figure_eight

__all__ = ["CHOSEN_ON", "EVERY", "FIRST", "JUDGING", "first_model", "recorded_file", "run"]

Results = dict[str, Any]

FIRST = "first eight"
"""What is there before: a model of one eight."""
JUDGING = ("T1", "T2", "T3", "A")
CHOSEN_ON = ("R21", "R22", "C")
"""Paths by which constants of the planner may be chosen; they judge nothing."""
EVERY = 5
"""Cycles of 500 Hz for one sample."""

CONTROLLER, FIRST_PERIOD = "physics_ilr_pd", 3.8
# Another circle than path A: lying, on the other side.
CIRCLE = ToolPath(
    period=3.0,
    duration=15.0,
    start_up=1.5,
    amplitude=np.array([0.08, 0.12, 0.0]),
    harmonic=np.ones(3),
    offset=np.array([-0.05, -0.15, -0.05]),
    phase=np.array([0.0, np.pi / 2.0, 0.0]),
)


def run(plant: str, seed: int, motion: str, paths: tuple[str, ...], folder: Path) -> Results:
    """
    Track paths with what is learned from one eight of 20 s and a recording of one motion.

    Parameters
    ----------
    plant
        One of `PLANTS`.
    seed
        Of the arm, the model and the motion.
    motion
        One of `MOTIONS`, or `FIRST`.
    paths
        To track.
    folder
        Of results, which are not made again, first models and motions.

    Returns
    -------
    dict
        Mean squared errors by path, rad^2, or the faults that ended them.
    """
    kept = KeptRuns(folder, f"{plant}_{seed}_{'_'.join(paths)}")
    return kept(motion.replace(" ", "_"), lambda: _errors(plant, seed, motion, paths, folder))


def first_model(arm: Arm, plant: str, seed: int, folder: Path) -> MixtureRegressor:
    """Return the model of one eight, recorded with the analytic controller."""
    file = folder / f"{plant}_{seed}_first.npz"
    if not file.exists():
        learner = _learner(arm, seed)
        path = arm.joint_path(figure_eight(FIRST_PERIOD))
        learner.learn(*record(arm, RigidBodyFeedForward(arm.model), path, every=EVERY))
        assert learner.model is not None
        learner.model.save(file)
    return load_snapshot(file)


def recorded_file(plant: str, seed: int, motion: str, folder: Path) -> Path:
    """Where the recorded states (m, 3 n_joints) of a motion are kept, for the picture."""
    return folder / f"{plant}_{seed}_{motion.replace(' ', '_')}.npy"


def _learner(arm: Arm, seed: int) -> LocalModels:
    learner = make_learner(CONTROLLER, arm, random_state=seed)
    assert isinstance(learner, LocalModels)
    return learner


def _errors(plant: str, seed: int, motion: str, paths: tuple[str, ...], folder: Path) -> Results:
    arm = hard_arm(plant, seed)
    model = first_model(arm, plant, seed, folder)
    if motion != FIRST:
        dynamics = model.global_model_
        assert isinstance(dynamics, IdentifiedDynamics)
        feedforward = product_feedforward(arm, model.predictor())
        learner = _learner(arm, seed)
        learner.model = model
        try:
            parts = [
                record(arm, feedforward, path, every=EVERY)
                for path in MOTIONS[motion](arm, dynamics, seed, folder)
            ]
        except TrajectoryError as error:
            return {path: {"fault": f"while recording: {error}"} for path in paths}
        X, Y = joined(parts)
        np.save(recorded_file(plant, seed, motion, folder), X)
        learner.learn(X, Y)
        assert learner.model is not None
        model = learner.model
    feedforward = product_feedforward(arm, model.predictor())
    results: Results = {}
    for name in paths:
        try:
            result = track(arm.plant, arm.controller(feedforward), _path(name, arm))
            results[name] = {"mse": result.mean_squared_error}
        except TrajectoryError as error:
            results[name] = {"fault": str(error)}
    return results


def _path(name: str, arm: Arm) -> JointPath:
    """One of `JUDGING` or `CHOSEN_ON`."""
    if name in JUDGING:
        return plant_path(name, arm)
    if name == "C":
        return arm.joint_path(CIRCLE)
    return rest_to_rest(arm.description.n_joints, seed=int(name.removeprefix("R")))
