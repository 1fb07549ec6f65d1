# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""Model of a simulated arm, learned from its own eights as the node learns."""

from __future__ import annotations

from pathlib import Path

from _closed_loop import record, training_paths
from _learners import LocalModels, make_learner, product_feedforward
from _simulated_motion import Arm

from ilr_dynamics.control.feedforward import Predictor
from ilr_dynamics.regression import load_snapshot

__all__ = ["learned_predictor"]

# Of the states of a recording one in so many is learned from.
EVERY = 5


def learned_predictor(arm: Arm, seed: int, rounds: int, snapshot: str | None) -> Predictor:
    """
    Learn from all eights, so many times, or load what was learned of this arm.

    Parameters
    ----------
    arm
    seed
        Of the learner.
    rounds
        How often all eights are recorded.
    snapshot
        Path of a model that is loaded if it is there; otherwise what is learned is kept there.
    """
    if snapshot and Path(snapshot).exists():
        return load_snapshot(snapshot).predictor()
    learner = make_learner("physics_ilr_pd", arm, random_state=seed)
    assert isinstance(learner, LocalModels)
    feedforward = None
    for path in training_paths(arm) * rounds:
        learner.learn(*record(arm, feedforward, path, every=EVERY))
        assert learner.model is not None
        predictor = learner.model.predictor()
        feedforward = product_feedforward(arm, predictor)
    if snapshot:
        assert learner.model is not None
        learner.model.save(snapshot)
    return predictor
