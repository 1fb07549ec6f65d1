# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""
Learning in sequence on arms that no term describes, and tracking on paths near and far.

`physics_ilr_pd` is the product as it is: its feed-forward, its confidence gate and its analytic
fallback, with the values of config/wam4.yaml. All other controllers use what they have as it is.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from _closed_loop import N_ROUNDS, given_feedforward, record, training_paths
from _hard_plants import hard_arm, perfect_inverse
from _interval_figures import gate_where_wrong, interval_figures
from _intervals import LEVEL
from _learners import LEARNERS, LearnedTorque, LocalModels, make_learner, product_feedforward
from _plant_paths import PATHS, plant_path
from _simulated_motion import Arm, samples_of_track

from ilr_dynamics.control import FeedForward, JointPath, track
from ilr_dynamics.exceptions import TrajectoryError
from ilr_dynamics.regression.mixture_regressor import MixtureRegressor

__all__ = ["CONTROLLERS", "GATED", "track_paths"]

CONTROLLERS = (
    "pd",
    "analytic_pd",
    "identified_pd",
    "physics_pd",
    "physics_ilr_pd",
    "perfect_pd",
)
GATED = "physics_ilr_pd"
"""The one that goes through the product's gate."""
Results = dict[str, Any]

# 500 Hz, every fifth cycle; 20 of these are a stretch of 0.2 s.
EVERY, STRETCH = 5, 20


def track_paths(plant: str, seed: int, name: str) -> Results:
    """
    Learn from each eight at once, 15 times, and track all paths.

    Parameters
    ----------
    plant
        One of `PLANTS`.
    seed
        Of the arm and of the model.
    name
        One of `CONTROLLERS`.

    Returns
    -------
    dict
        Figures by path, or the fault that ended it there; the fault alone if it ended learning.
    """
    arm = hard_arm(plant, seed)
    try:
        feedforward, model = _controller(name, arm, seed)
    except TrajectoryError as error:
        return {path: {"fault": f"while learning: {error}"} for path in PATHS}
    return {path: _figures(arm, feedforward, model, plant_path(path, arm)) for path in PATHS}


def _controller(
    name: str, arm: Arm, seed: int
) -> tuple[FeedForward | None, MixtureRegressor | None]:
    """Return a feed-forward and, if the product's gate judges it, its model."""
    if name == "perfect_pd":
        return LearnedTorque(perfect_inverse(arm)), None
    if name not in LEARNERS:
        return given_feedforward(name, arm), None
    learner = make_learner(name, arm, random_state=seed)
    model, feedforward = None, None
    for path in training_paths(arm) * N_ROUNDS:
        learner.learn(*record(arm, feedforward, path, every=EVERY))
        if isinstance(learner, LocalModels) and name == GATED:
            model = learner.model
            feedforward = product_feedforward(arm, model.predictor())
        else:
            feedforward = LearnedTorque(learner.predict_one)
    return feedforward, model


def _figures(
    arm: Arm, feedforward: FeedForward | None, model: MixtureRegressor | None, path: JointPath
) -> Results:
    """Figures of one path, or the fault that ended it."""
    try:
        result = track(arm.plant, arm.controller(feedforward), path)
    except TrajectoryError as error:
        return {"fault": str(error)}
    figures: Results = {"mse": result.mean_squared_error}
    if model is None:
        return figures
    samples = samples_of_track(arm, result)
    X, Y = samples.X[::EVERY], samples.Y[::EVERY]
    cycles = np.rint(samples.time[::EVERY] / arm.plant.config.cycle).astype(int)
    velocity = np.split(X, 3, axis=1)[1]
    analytic = np.array([arm.model.inverse_dynamics(*np.split(x, 3)) for x in X])
    lower, upper = model.predict_interval(X, LEVEL)
    return {
        **figures,
        **interval_figures(Y, velocity, lower, upper),
        "gate_mean": float(np.mean(result.gate)),
        **gate_where_wrong(Y, model.predict(X), analytic, result.gate[cycles], STRETCH),
    }
