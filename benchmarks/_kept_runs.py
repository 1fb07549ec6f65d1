# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""A model that a lab would learn, and results of runs with it, kept in a folder to go on with."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from _closed_loop import N_ROUNDS, joined, record, training_paths
from _learners import LearnedTorque, LocalModels, make_learner, product_feedforward
from _simulated_motion import Arm

from ilr_dynamics.control import FeedForward, RigidBodyFeedForward
from ilr_dynamics.regression import load_snapshot

__all__ = ["KeptRuns", "Results"]

Results = dict[str, Any]


class KeptRuns:
    """
    Results of runs of one arm; what an earlier run kept is not run again.

    Parameters
    ----------
    folder
        Where they are kept.
    name
        What tells the arm apart.
    """

    def __init__(self, folder: Path, name: str) -> None:
        self._folder, self._name = folder, name

    def __call__(self, name: str, work: Callable[[], Results]) -> Results:
        """Return the results of this name, of work that is done if there are none."""
        path = self._folder / f"{self._name}_{name}.json"
        if not path.exists():
            path.write_text(json.dumps(work()))
            print(f"{self._name}: {name} done", flush=True)
        return dict(json.loads(path.read_text()))

    def feedforward(self, arm: Arm) -> FeedForward:
        """Return what the product makes of a model of the arm, learned in rounds of eights."""
        file = self._folder / f"{self._name}_model.npz"
        if not file.exists():
            learner = make_learner("physics_ilr_pd", arm)
            assert isinstance(learner, LocalModels)
            feedforward: FeedForward = RigidBodyFeedForward(arm.model)
            for _ in range(N_ROUNDS):
                parts = [record(arm, feedforward, path, every=5) for path in training_paths(arm)]
                learner.learn(*joined(parts))
                feedforward = LearnedTorque(learner.predict_one)
            assert learner.model is not None
            learner.model.save(file)
        return product_feedforward(arm, load_snapshot(file).predictor())
