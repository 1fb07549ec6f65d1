# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""
What each sample of a recording is worth to a model of the arm.

Samples between which the arm hardly moves count as one (`effective_sample_weights`). To a model
that stands alone, a sample in which a joint sticks is worth little: friction then holds whatever
torque is sent, so that the torque is no function of the state. Learned as all others, such samples
shift where friction changes sides away from where the motion turns round. Where dynamics are
identified they know what a joint that sticks should have carried
(`IdentifiedDynamics.informative_share`), and such samples keep their weight.
"""

from __future__ import annotations

import numpy as np

from ilr_dynamics.arrays import FloatArray
from ilr_dynamics.regression import effective_sample_weights
from ilr_dynamics.regression.mixture_regressor import MixtureRegressor
from ilr_dynamics.regression.scaling import Standardizer

__all__ = ["recording_weights"]

# Speed, in units of the velocities' scale, below which a joint rather sticks than slips: 0.02
# rad/s for the WAM.
STICKING_SPEED = 0.05
# What is left of a sample in which a joint sticks. With next to nothing left, learning from little
# became worse: where the arm turns round, such samples are most of what there is.
STUCK_WEIGHT = 0.1
# Shares of the recording in which a joint slips, up to which its sticking is ignored and from
# which on it counts fully. To one that rarely moves most samples of the others would be lost.
RARELY, OFTEN = 0.1, 0.4
# If joints move in turn, one sticks in nearly all samples, which says nothing against any of them:
# where a smaller share of the weight would be left than this, sticking counts the less.
ENOUGH = 0.2


def recording_weights(X: FloatArray, model: MixtureRegressor) -> FloatArray:
    """
    Weights (n,), above 0 and at most 1, of samples in the order of time.

    Parameters
    ----------
    X : (n, 3 n_joints)
        Positions, velocities and accelerations.
    model
        What learns them: its scales of the inputs are the units of distance, and where it has no
        global model, joints that stick are looked for.

    Raises
    ------
    InvalidParameterError
        If the model's `input_scale` does not fit the samples.
    """
    # Accelerations are differentiated: their noise would pass for motion.
    position, velocity, _ = np.split(np.arange(X.shape[1]), 3)
    moving = np.concatenate([position, velocity])
    scale = _input_scale(X, model)
    weights = effective_sample_weights(X[:, moving], scale[moving])
    if model.global_model is None:
        weights *= _informative_share(X[:, velocity] / scale[velocity], weights)
    return weights


def _input_scale(X: FloatArray, model: MixtureRegressor) -> FloatArray:
    if hasattr(model, "regressors_"):
        return model.regressors_.scaling.scale
    alike = np.ones(len(X))
    stated = None if model.scaling is None else model.scaling.input_scale
    return Standardizer.from_data(X, alike, None, stated, "input").scale


def _informative_share(velocity: FloatArray, weights: FloatArray) -> FloatArray:
    """Share (n,) of a sample that is left, of velocities (n, n_joints) in units of their scale."""
    squared = velocity**2
    slips = squared / (squared + STICKING_SPEED**2)
    often = np.average(slips, axis=0, weights=weights)
    counts = np.clip((often - RARELY) / (OFTEN - RARELY), 0.0, 1.0)
    all_slip = np.prod(1.0 - counts * (1.0 - slips), axis=1)
    all_slip /= max(float(all_slip.max()), np.finfo(float).tiny)
    in_turn = min(1.0, float(np.average(all_slip, weights=weights)) / ENOUGH)
    return 1.0 - in_turn * (1.0 - STUCK_WEIGHT) * (1.0 - all_slip)
