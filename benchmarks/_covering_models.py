# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""ILR and HILR alone, for samples that cover a box."""

from __future__ import annotations

from typing import Any

import numpy as np
from _covering_recordings import EVERY
from _learners import FEW_VACANT, node_learning_settings
from _simulated_motion import Arm

from ilr_dynamics.arrays import FloatArray
from ilr_dynamics.learning.prior import INFERENCE, PRIOR_ALONE, with_settings
from ilr_dynamics.learning.recording_weights import recording_weights
from ilr_dynamics.regression import HILR, ILR, TwoLevelPrior
from ilr_dynamics.regression.mixture_regressor import MixtureRegressor

__all__ = ["CORRELATION_TIME", "MODELS", "new_model", "node_model", "weights_of"]

# Most components, chosen on other paths and another arm.
MODELS = {"ilr_pd": 150, "hilr_pd": 300}
# Friction turns round within 0.05 rad/s, and all else bends little within the box: components
# shall be narrow in the velocities and as wide as the box in postures and accelerations. With the
# node's scales they are narrow in all of them, and each has samples of few stretches of motion.
POSITION_SCALE, VELOCITY_SCALE, ACCELERATION_SCALE = 0.8, 0.1, 4.8
# Samples count as independent when they are this far apart, s. What a linear model leaves of the
# torques has correlation times of 0.13 to 0.23 s; the node's weights count ten times as many.
CORRELATION_TIME = 0.15


def weights_of(X: FloatArray, arm: Arm) -> FloatArray:
    """Weights (n,) that add up to how many independent samples there are."""
    by_the_node = with_settings(ILR(), node_model(arm))
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
    return with_settings(model, {**node_model(arm), **settings})


def node_model(arm: Arm) -> dict[str, Any]:
    """Return the parameters of the model that the node has by the arm's file."""
    return dict(node_learning_settings(arm).model)
