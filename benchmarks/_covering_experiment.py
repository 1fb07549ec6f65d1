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
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from _closed_loop import TEST_PATHS, given_feedforward, track_tests, training_paths
from _covering_law import Box, box_around, covering_path, distance_ratios, states_of
from _covering_oracles import TestStates, normalised_error, of_model, of_oracles
from _kept_runs import KeptRuns
from _learners import FEW_VACANT, LearnedTorque, node_learning_settings
from _simulated_motion import Arm, recorded_samples
from _tracking_experiments import LARGE_COMPONENTS, between_postures

from ilr_dynamics.arrays import FloatArray
from ilr_dynamics.control import JointPath, TrackingResult
from ilr_dynamics.exceptions import ConvergenceWarning, TrajectoryError
from ilr_dynamics.learning.prior import INFERENCE, PRIOR_ALONE, with_settings
from ilr_dynamics.learning.recording_weights import recording_weights
from ilr_dynamics.regression import HILR, ILR, TwoLevelPrior
from ilr_dynamics.regression.mixture_regressor import MixtureRegressor
from ilr_dynamics.robot.tool_paths import resting_posture, tool_path

__all__ = ["GIVEN", "MODELS", "N_BATCHES", "SWEPT", "run_seed"]

Results = dict[str, Any]

N_BATCHES, BATCH = 15, 10_000
# 500 Hz, every fifth cycle: 100 Hz, as the node takes samples by default.
EVERY, DURATION = 5, 101.0
GIVEN = ("pd", "analytic_pd", "perfect_pd")
# Most components, chosen on other paths and another arm.
MODELS = {"ilr_pd": 150, "hilr_pd": 300}
# Numbers of components whose errors are compared, on every third sample.
SWEPT, SWEPT_EVERY = (10, 20, 40, 80, 160, 320), 3
# Of `large`: motions between postures, one a round, and updates.
N_POSTURE_PATHS = N_UPDATES = 3
# Friction turns round within 0.05 rad/s, and all else bends little within the box: components
# shall be narrow in the velocities and as wide as the box in postures and accelerations. With the
# node's scales they are narrow in all of them, and each has samples of few stretches of motion.
POSITION_SCALE, VELOCITY_SCALE, ACCELERATION_SCALE = 0.8, 0.1, 4.8
# Samples count as independent when they are this far apart, s. What a linear model leaves of the
# torques has correlation times of 0.13 to 0.23 s; the node's weights count ten times as many.
CORRELATION_TIME = 0.15


@dataclass(frozen=True)
class Recorded:
    """
    Samples of all recordings of an arm.

    Attributes
    ----------
    X, Y : (n, 3 n_joints), (n, n_joints)
        States and torques.
    times : (n,)
        When they were recorded, s.
    """

    X: FloatArray
    Y: FloatArray
    times: FloatArray

    @classmethod
    def along(cls, arm: Arm, paths: Sequence[JointPath]) -> Recorded:
        """Record motions along these paths, at most `BATCH` samples of each."""
        feedforward = given_feedforward("analytic_pd", arm)
        parts = [recorded_samples(arm, arm.controller(feedforward), path) for path in paths]
        apart = 2.0 * DURATION * np.arange(len(parts))
        return cls(
            np.concatenate([part.X[::EVERY][:BATCH] for part in parts]),
            np.concatenate([part.Y[::EVERY][:BATCH] for part in parts]),
            np.concatenate(
                [t + part.time[::EVERY][:BATCH] for t, part in zip(apart, parts, strict=True)]
            ),
        )

    @classmethod
    def kept(cls, file: Path, arm: Arm, seed: int) -> Recorded:
        """Read what an earlier run kept, or record motions that are drawn from the law."""
        if not file.exists():
            new = cls.along(arm, [_drawn_path(arm, seed, k) for k in range(N_BATCHES)])
            np.savez(file.with_suffix(".part.npz"), X=new.X, Y=new.Y, times=new.times)
            file.with_suffix(".part.npz").replace(file)
        with np.load(file, allow_pickle=False) as arrays:
            return cls(arrays["X"], arrays["Y"], arrays["times"])


def box_of_tests(arm: Arm) -> Box:
    """Box of the states of the test paths."""
    return box_around([arm.joint_path(tool_path(name)) for name in TEST_PATHS])


def _drawn_path(arm: Arm, seed: int, index: int) -> JointPath:
    """Draw the motion of one recording."""
    home = resting_posture(arm.description.n_joints)
    random = np.random.default_rng([seed, index])
    return covering_path(box_of_tests(arm), home, DURATION, random)


def weights_of(X: FloatArray, arm: Arm) -> FloatArray:
    """Weights (n,) that add up to how many independent samples there are."""
    by_the_node = with_settings(ILR(), _node_model(arm))
    weights = recording_weights(X, by_the_node)
    independent = len(X) * EVERY * arm.plant.config.cycle / CORRELATION_TIME
    return np.asarray(weights * min(1.0, independent / float(np.sum(weights))))


def new_model(name: str, arm: Arm, n_components: int) -> MixtureRegressor:
    """Return an untrained model, with the node's prior of models that stand alone."""
    n = arm.description.n_joints
    scales = np.repeat([POSITION_SCALE, VELOCITY_SCALE, ACCELERATION_SCALE], n)
    model: MixtureRegressor = ILR(prior=PRIOR_ALONE, inference=INFERENCE)
    if name == "hilr_pd":
        prior = TwoLevelPrior(**{**PRIOR_ALONE.get_params(), **FEW_VACANT})
        model = HILR(prior=prior, inference=INFERENCE)
    settings = {"input_scale": scales, "n_components": n_components, "forgetting_factor": 1.0}
    return with_settings(model, {**_node_model(arm), **settings})


def _node_model(arm: Arm) -> dict[str, Any]:
    return dict(node_learning_settings(arm).model)


def run_seed(robot: str, seed: int, controllers: list[str], folder: Path) -> None:
    """Record, learn and track with one arm; what an earlier run kept is not done again."""
    warnings.simplefilter("ignore", ConvergenceWarning)
    arm = Arm(seed, robot)
    kept = KeptRuns(folder, f"covering_{robot}_{seed}")
    for name in GIVEN:
        kept(
            name,
            lambda name=name: _tracked(lambda: track_tests(arm, given_feedforward(name, arm))),
        )
    recorded = Recorded.kept(folder / f"covering_{robot}_{seed}_samples.npz", arm, seed)
    kept("distances", lambda: _distances(arm, recorded))
    for name in MODELS:
        if name in controllers:
            kept(name, lambda name=name: _at_once(name, arm, recorded))
            kept(f"{name}_batches", lambda name=name: _in_batches(name, arm, recorded))
            if seed == 0:
                kept(f"{name}_sweep", lambda name=name: _sweep(name, arm, recorded, seed))
    if seed == 0:
        kept("limits", lambda: _limits(arm, recorded, seed))


def _tracked(tracks: Any) -> Results:
    """Errors and torques on the test paths, or the fault that ended it."""
    try:
        results: dict[str, TrackingResult] = tracks()
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
    return _tracked(lambda: track_tests(arm, LearnedTorque(lambda x: predictor(x)[0])))


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


def _sweep(name: str, arm: Arm, recorded: Recorded, seed: int) -> Results:
    """Errors of models with at most so many components, on a motion of the law not learned."""
    new = Recorded.along(arm, [_drawn_path(arm, seed, N_BATCHES)])
    weights = SWEPT_EVERY * weights_of(recorded.X, arm)[::SWEPT_EVERY]
    X, Y = recorded.X[::SWEPT_EVERY], recorded.Y[::SWEPT_EVERY]
    rows, tests = [], TestStates(arm)
    for n_components in SWEPT:
        model = new_model(name, arm, n_components).fit(X, Y, weights)
        error = normalised_error(model.predict(new.X), new.Y)
        rows.append({"most": n_components, "new_motion": error, **_figures_of(model, tests)})
    return {"rows": rows}


def _limits(arm: Arm, recorded: Recorded, seed: int) -> Results:
    """What limits local models, learned from these samples and from those of `large`."""
    random = np.random.default_rng(seed)
    postures = [between_postures(arm, random) for _ in range(N_POSTURE_PATHS)]
    large = Recorded.along(arm, [*training_paths(arm), *postures])
    tests, results = TestStates(arm), {}
    most = LARGE_COMPONENTS[arm.description.name]
    for label, samples in (("large", large), ("covering", recorded)):
        thinned = slice(None, None, SWEPT_EVERY if label == "covering" else 1)
        X, Y, times = samples.X[thinned], samples.Y[thinned], samples.times[thinned]
        scale = len(samples.X) / len(X)
        independent = scale * weights_of(samples.X, arm)[thinned]
        by_the_node = recording_weights(X, with_settings(ILR(), _node_model(arm)))
        box = box_of_tests(arm)
        plain = {**_node_model(arm), "n_components": most, "forgetting_factor": 1.0}

        def as_the_node(plain: dict[str, Any] = plain) -> ILR:
            return with_settings(ILR(prior=PRIOR_ALONE, inference=INFERENCE), plain)

        in_updates = as_the_node()
        for rows in np.array_split(np.random.default_rng(0).permutation(len(X)), N_UPDATES):
            order = np.sort(rows)
            in_updates.partial_fit(X[order], Y[order], by_the_node[order])
        fitted = {
            "node's scales and weights": as_the_node().fit(X, Y, by_the_node),
            "the same in three updates": in_updates,
            "node's scales, independent samples": as_the_node().fit(X, Y, independent),
            "scales and weights of covering": new_model("ilr_pd", arm, MODELS["ilr_pd"]).fit(
                X, Y, independent
            ),
        }
        results[label] = {
            "oracles": of_oracles(X, Y, independent, tests),
            "models": {k: of_model(model, X, times, box, tests) for k, model in fitted.items()},
            "samples": [len(X), float(by_the_node.sum()), float(independent.sum())],
        }
    return results
