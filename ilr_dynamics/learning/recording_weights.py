# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""
What each sample of a recording is worth to a model of the arm.

Samples between which the arm hardly moves count as one (`effective_sample_weights`). To a model
that stands alone, a sample in which a joint sticks is worth next to nothing: friction then holds
whatever torque is sent, so that the torque is no function of the state. Learned, it shifts the
side to which friction points away from where the motion turns round. Where dynamics are identified
they know what a joint that sticks should have carried (`IdentifiedDynamics.informative_share`),
and such samples keep their weight.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..regression import effective_sample_weights
from ..regression.learner import MixtureLearner

__all__ = ["recording_weights"]

Array = NDArray[np.float64]

# Speed, in units of the velocities' scale, below which a joint rather sticks than slips: 0.02
# rad/s for the WAM; with twice as much, tracking errors were alike.
STICKING_SPEED = 0.05
# What is left of such a sample: a recording of postures alone must teach something.
STUCK_WEIGHT = 0.02
# A joint that slips in a smaller share of the recording is not asked: it would take nearly all
# samples of the other joints with it.
SLIPS_ENOUGH = 0.3


def recording_weights(X: Array, model: MixtureLearner) -> Array:
    """
    Weights (n,), above 0 and at most 1, of samples in the order of time.

    Parameters
    ----------
    X : (n, 3 n_joints)
        Positions, velocities and accelerations.
    model
        What learns them: its scales of the inputs are the units of distance, and where it has no
        fallback joints that stick are asked for.
    """
    # Accelerations are differentiated: their noise would pass for motion.
    position, velocity, _ = np.split(np.arange(X.shape[1]), 3)
    moving = np.concatenate([position, velocity])
    scale = _input_scale(X, model)
    weights = effective_sample_weights(X[:, moving], scale[moving])
    if model.fallback is None:
        weights *= _informative_share(X[:, velocity] / scale[velocity], weights)
    return weights


def _input_scale(X: Array, model: MixtureLearner) -> Array:
    if hasattr(model, "regressors_"):
        return model.regressors_.scaling.scale
    stated = X.std(axis=0) if model.input_scale is None else model.input_scale
    scale = np.broadcast_to(np.asarray(stated, dtype=float), X.shape[1])
    return np.where(scale > 0.0, scale, 1.0)


def _informative_share(velocity: Array, weights: Array) -> Array:
    """Share (n,) of a sample that is left, of velocities (n, n_joints) in units of their scale."""
    squared = velocity**2
    slips = squared / (squared + STICKING_SPEED**2)
    often = np.average(slips, axis=0, weights=weights) > SLIPS_ENOUGH
    return STUCK_WEIGHT + (1.0 - STUCK_WEIGHT) * np.prod(slips[:, often], axis=1)
