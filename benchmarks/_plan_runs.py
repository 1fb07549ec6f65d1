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
from ilr_dynamics.robot.identified_dynamics import IdentifiedDynamics
from ilr_dynamics.robot.tool_paths import ToolPath, figure_eight

__all__ = ["CHOSEN_ON", "FIRST", "JUDGING", "run"]

Results = dict[str, Any]

FIRST = "first eight"
"""What is there before: a model of one eight."""
JUDGING = ("T1", "T2", "T3", "A")
CHOSEN_ON = ("R21", "R22", "C")
"""Paths by which the planner's constants were chosen; they judge nothing."""

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

CONTROLLER, EVERY = "physics_ilr_pd", 5
FIRST_PERIOD = 3.8


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
        For results, which are not made again, and motions.

    Returns
    -------
    dict
        Mean squared errors by path, rad^2, or the faults that ended them.
    """
    kept = KeptRuns(folder, f"{plant}_{seed}_{'_'.join(paths)}")
    return kept(motion.replace(" ", "_"), lambda: _errors(plant, seed, motion, paths, folder))


def _errors(plant: str, seed: int, motion: str, paths: tuple[str, ...], folder: Path) -> Results:
    arm = hard_arm(plant, seed)
    learner = make_learner(CONTROLLER, arm, random_state=seed)
    assert isinstance(learner, LocalModels)
    first = arm.joint_path(figure_eight(FIRST_PERIOD))
    learner.learn(*record(arm, RigidBodyFeedForward(arm.model), first, every=EVERY))
    if motion != FIRST:
        try:
            _learn_motion(learner, arm, motion, seed, folder)
        except TrajectoryError as error:
            return {path: {"fault": f"while recording: {error}"} for path in paths}
    assert learner.model is not None
    feedforward = product_feedforward(arm, learner.model.predictor())
    results: Results = {}
    for name in paths:
        try:
            result = track(arm.plant, arm.controller(feedforward), _path(name, arm))
            results[name] = {"mse": result.mean_squared_error}
        except TrajectoryError as error:
            results[name] = {"fault": str(error)}
    return results


def _learn_motion(
    learner: LocalModels, arm: Arm, motion: str, seed: int, folder: Path
) -> None:
    """Record a motion with the first model, and learn it at once."""
    assert learner.model is not None
    dynamics = learner.model.global_model_
    assert isinstance(dynamics, IdentifiedDynamics)
    feedforward = product_feedforward(arm, learner.model.predictor())
    paths = MOTIONS[motion](arm, dynamics, seed, folder)
    learner.learn(*joined([record(arm, feedforward, path, every=EVERY) for path in paths]))


def _path(name: str, arm: Arm) -> JointPath:
    """One of `JUDGING` or `CHOSEN_ON`."""
    if name in JUDGING:
        return plant_path(name, arm)
    if name == "C":
        return arm.joint_path(CIRCLE)
    return rest_to_rest(arm.description.n_joints, seed=int(name.removeprefix("R")))
