# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""What limits local models alone: fits and oracles, on samples of `large` and covering ones."""

from __future__ import annotations

from typing import Any

import numpy as np
from _closed_loop import training_paths
from _covering_models import MODELS, new_model, node_model, weights_of
from _covering_oracles import TestStates, correlation_times, of_model, of_oracles
from _covering_recordings import EVERY, Recorded, box_of_tests
from _simulated_motion import Arm
from _tracking_experiments import LARGE_COMPONENTS, between_postures

from ilr_dynamics.learning.prior import INFERENCE, PRIOR_ALONE, with_settings
from ilr_dynamics.learning.recording_weights import recording_weights
from ilr_dynamics.regression import ILR

__all__ = ["limits_of_local_models"]

Results = dict[str, Any]

# Of `large`: motions between postures, one a round, and updates.
N_ROUNDS = 3
# Of the covering samples, so that both sets have about as many.
EVERY_OF_COVERING = 3


def limits_of_local_models(arm: Arm, covering: Recorded, seed: int) -> Results:
    """
    Errors of the torque at the states of the test paths, of fits to two sets of samples.

    Parameters
    ----------
    arm
    covering
        The samples that cover the box.
    seed
        Of the postures of the other set, that of `large`: eights, and motions between postures.

    Returns
    -------
    dict
        By set: its size and weight, errors of oracles, and of models with the node's scales and
        weights, at once and in updates, with weights of independent samples, and with the scales
        of the covering experiment too.
    """
    random = np.random.default_rng(seed)
    postures = [between_postures(arm, random) for _ in range(N_ROUNDS)]
    large = Recorded.along(arm, [*training_paths(arm), *postures])
    return {
        "large": _of_samples(arm, large, 1),
        "covering": _of_samples(arm, covering, EVERY_OF_COVERING),
    }


def _of_samples(arm: Arm, samples: Recorded, every: int) -> Results:
    X, Y, times = samples.X[::every], samples.Y[::every], samples.times[::every]
    independent = every * weights_of(samples.X, arm)[::every]
    of_the_node = recording_weights(X, with_settings(ILR(), node_model(arm)))
    covering = new_model("ilr_pd", arm, MODELS["ilr_pd"])
    in_updates, forgotten = _in_updates(arm, samples, every)
    fitted = {
        "node": _as_the_node(arm).fit(X, Y, of_the_node),
        "node, in updates": in_updates,
        "node, independent samples": _as_the_node(arm).fit(X, Y, independent),
        "covering": covering.fit(X, Y, independent),
    }
    box, tests = box_of_tests(arm), TestStates(arm)
    period = EVERY * arm.plant.config.cycle
    return {
        "correlation_s": correlation_times(
            samples.X, samples.Y, samples.recordings(), period
        ).tolist(),
        "forgotten": forgotten,
        "samples": len(X),
        "weight": {
            "node": float(of_the_node.sum()),
            "independent": float(independent.sum()),
        },
        "oracles": of_oracles(X, Y, independent, tests),
        "models": {name: of_model(m, X, times, box, tests) for name, m in fitted.items()},
    }


def _as_the_node(arm: Arm) -> ILR:
    """Return the model of `large`, untrained: it decides itself what an update forgets."""
    settings = {**node_model(arm), "n_components": LARGE_COMPONENTS[arm.description.name]}
    return with_settings(ILR(prior=PRIOR_ALONE, inference=INFERENCE), settings)


def _in_updates(arm: Arm, samples: Recorded, every: int) -> tuple[ILR, list[bool]]:
    """Learn every third recording at a time, and say which of the updates forgot something."""
    model, forgotten = _as_the_node(arm), []
    for update in range(N_ROUNDS):
        rows = np.concatenate(
            [np.arange(r.start, r.stop, every) for r in samples.recordings()[update::N_ROUNDS]]
        )
        X, Y = samples.X[rows], samples.Y[rows]
        model.partial_fit(X, Y, recording_weights(X, model))
        forgotten.append(model.change_ is not None and bool(model.change_.forgotten))
    return model, forgotten
