# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""
The paper's control experiments with one arm: learning in sequence, many samples, a changed arm.

Whatever is learned is recorded with the newest model of the same controller, as a lab would do it.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from _changed_arm import changed_arm
from _closed_loop import (
    N_ROUNDS,
    TEST_PATHS,
    given_feedforward,
    joined,
    record,
    track_tests,
    training_paths,
)
from _learners import LearnedTorque, Learner, make_learner
from _simulated_motion import Arm

from ilr_dynamics.arrays import FloatArray
from ilr_dynamics.control import (
    FeedForward,
    JointPath,
    RigidBodyFeedForward,
    TrackingResult,
    track,
)
from ilr_dynamics.exceptions import TrajectoryError
from ilr_dynamics.robot.tool_paths import (
    ToolPath,
    figure_eight,
    resting_posture,
    tool_path,
    training_periods,
)

__all__ = ["GIVEN", "LARGE_COMPONENTS", "between_postures", "learn_and_track", "track_given"]

Results = dict[str, Any]
"""What JSON can hold."""
Yielded = tuple[str, Results, dict[str, TrackingResult]]
"""An experiment, its results and, if it tracked the tests, their tracks."""

GIVEN = ("pd", "analytic_pd", "perfect_pd")

# 500 Hz, every fifth cycle: 2,000 samples of an eight of 20 s, 30,000 in three rounds of five.
SEQUENTIAL_EVERY = 5
# Every second: 75,000 samples of the eights in three rounds, and as many between postures.
LARGE_EVERY = 2
LARGE_COMPONENTS = {"wam4": 1000, "wam7": 1500}
# Postures are drawn around the resting one, rad: several times as wide as the eights are.
REACH = np.array([0.7, 0.5, 0.7, 0.6, 0.6, 0.5, 0.8])
POINT_TO_POINT_S = 100.0
SLOWEST_S, QUICKEST_S, TOP_SPEED = 2.0, 0.8, 1.2

PAYLOAD, FRICTION = 0.5, 2.0
# Share of what the samples from before the change weigh afterwards.
FORGETTING = 0.001
SECONDS_OF_EACH = 6.0


def track_given(name: str, robot: str, seed: int) -> tuple[Results, dict[str, TrackingResult]]:
    """Track the tests with a controller that learns nothing."""
    arm = Arm(seed, robot)
    tracks = track_tests(arm, given_feedforward(name, arm))
    return _figures(tracks), tracks


def learn_and_track(name: str, robot: str, seed: int, folder: Path) -> Iterator[Yielded]:
    """
    All experiments with a controller that learns.

    Parameters
    ----------
    name
        One of `LEARNERS`.
    robot, seed
        The arm.
    folder
        Where the changed arm is described.

    Yields
    ------
    Yielded
        One experiment after the other.
    """
    yield from _or_fault("sequential", lambda: _sequential(name, robot, seed, folder))
    yield from _or_fault("large", lambda: _large(name, robot, seed))


def _or_fault(experiment: str, results: Callable[[], Iterator[Yielded]]) -> Iterator[Yielded]:
    """A controller that ends in a fault has that as its result."""
    try:
        yield from results()
    except TrajectoryError as error:
        yield experiment, {"fault": str(error)}, {}


def _sequential(name: str, robot: str, seed: int, folder: Path) -> Iterator[Yielded]:
    """Learn from each eight at once, 15 times."""
    arm = Arm(seed, robot)
    # Tracked by the arm's own inverse, so that all controllers are judged on the same samples.
    perfect = given_feedforward("perfect_pd", arm)
    held_out = [record(arm, perfect, path, every=SEQUENTIAL_EVERY) for path in _tests(arm)]
    learner, feedforward = make_learner(name, arm), None
    curve = []
    for path in training_paths(arm) * N_ROUNDS:
        learner.learn(*record(arm, feedforward, path, every=SEQUENTIAL_EVERY))
        feedforward = LearnedTorque(learner.predict_one)
        curve.append([_normalised_error(learner, X, Y) for X, Y in held_out])
    tracks = track_tests(arm, feedforward)
    yield "sequential", {"curve": curve, **_figures(tracks)}, tracks
    changed = changed_arm(seed, robot, payload=PAYLOAD, friction=FRICTION, folder=folder)
    yield from _or_fault("change", lambda: _change(learner, arm, changed))


def _large(name: str, robot: str, seed: int) -> Iterator[Yielded]:
    """Learn from 150,000 samples in three rounds, half of them between postures."""
    arm = Arm(seed, robot)
    # HILR looks for groups among its components, which takes time by their square.
    changes = {} if name == "hilr_pd" else {"n_components": LARGE_COMPONENTS[robot]}
    learner = make_learner(name, arm, **changes)
    feedforward: FeedForward | None = None
    # Carried by PD alone the arm with seven joints sags by more than the supervision allows.
    between = None if robot == "wam4" else RigidBodyFeedForward(arm.model)
    random = np.random.default_rng(seed)
    n_samples, learning_time = 0, 0.0
    for _ in range(N_ROUNDS):
        eights = [(feedforward, path) for path in training_paths(arm)]
        runs = [*eights, (between, between_postures(arm, random))]
        X, Y = joined([record(arm, used, path, every=LARGE_EVERY) for used, path in runs])
        started = time.perf_counter()
        learner.learn(X, Y)
        learning_time += time.perf_counter() - started
        n_samples += len(X)
        feedforward = between = LearnedTorque(learner.predict_one)
    timed = _Timed(learner)
    tracks = track_tests(arm, LearnedTorque(timed.predict_one))
    yield (
        "large",
        {
            "n_samples": n_samples,
            "learning_s": round(learning_time, 1),
            "predictions_per_s": round(1.0 / float(np.median(timed.seconds))),
            **_figures(tracks),
        },
        tracks,
    )


def _change(learner: Learner, arm: Arm, changed: Arm) -> Iterator[Yielded]:
    """Track T1 before and after the arm has changed, and once the change has been learned."""
    feedforward = LearnedTorque(learner.predict_one)
    results = {"before": _error(arm, feedforward), "after": _error(changed, feedforward)}
    paths = [changed.joint_path(_shortened(period)) for period in training_periods()]
    recordings = [record(changed, feedforward, path, every=SEQUENTIAL_EVERY) for path in paths]
    for label, factor in (("learned", 1.0), ("learned_forgetting", FORGETTING)):
        newer = copy.deepcopy(learner)
        newer.learn(*joined(recordings), forgetting_factor=factor)
        results[label] = _error(changed, LearnedTorque(newer.predict_one))
    perfect = given_feedforward("perfect_pd", changed)
    yield "change", {**results, "perfect": _error(changed, perfect)}, {}


class _Timed:
    """A learner whose queries are timed where they happen: in the loop, caches as they are."""

    def __init__(self, learner: Learner) -> None:
        self._learner = learner
        self.seconds: list[float] = []

    def predict_one(self, x: FloatArray) -> FloatArray:
        started = time.perf_counter()
        torque = self._learner.predict_one(x)
        self.seconds.append(time.perf_counter() - started)
        return torque


def _tests(arm: Arm) -> list[JointPath]:
    return [arm.joint_path(tool_path(name)) for name in TEST_PATHS]


def _shortened(period: float) -> ToolPath:
    return replace(figure_eight(period), duration=SECONDS_OF_EACH)


def between_postures(
    arm: Arm, random: np.random.Generator, duration: float = POINT_TO_POINT_S
) -> JointPath:
    """Rest-to-rest motions of at least this duration, s, between postures drawn around home."""
    n = arm.description.n_joints
    centre, reach = resting_posture(n), REACH[:n]
    postures, times = [centre], [0.0]
    while times[-1] < duration:
        posture = centre + random.uniform(-reach, reach)
        # The peak of a quintic from rest to rest is 15/8 of its mean speed.
        at_top_speed = 15.0 / 8.0 * np.max(np.abs(posture - postures[-1])) / TOP_SPEED
        times.append(times[-1] + max(at_top_speed, random.uniform(QUICKEST_S, SLOWEST_S)))
        postures.append(posture)
    rest = np.zeros((len(times), n))
    return JointPath(times, postures, rest, rest)


def _normalised_error(learner: Learner, X: FloatArray, Y: FloatArray) -> float:
    predicted = np.array([learner.predict_one(x) for x in X])
    return float(np.mean(np.mean((predicted - Y) ** 2, axis=0) / np.var(Y, axis=0)))


def _error(arm: Arm, feedforward: FeedForward | None) -> float | None:
    """Mean squared error on T1, rad^2; None if a fault ends it."""
    path = arm.joint_path(tool_path("T1"))
    try:
        return track(arm.plant, arm.controller(feedforward), path).mean_squared_error
    except TrajectoryError:
        return None


def _figures(tracks: dict[str, TrackingResult]) -> Results:
    return {
        "mse": [track.mean_squared_error for track in tracks.values()],
        "pd_torque": [track.mean_pd_torque for track in tracks.values()],
    }
