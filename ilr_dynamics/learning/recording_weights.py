# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
"""
Weights of the samples of a recording.

Samples between which the arm hardly moves count as one (`effective_sample_weights`). Without
identified dynamics, a sample in which a joint sticks gets a small weight: static friction balances
any torque, so the torque is not a function of the state. With full weight such samples move the
sign change of friction away from the reversal of the motion. With identified dynamics, which
treat sticking joints themselves (`IdentifiedDynamics.informative_share`), they keep their weight.
"""

from __future__ import annotations

import numpy as np

from ilr_dynamics.arrays import FloatArray
from ilr_dynamics.regression import effective_sample_weights
from ilr_dynamics.regression.mixture_regressor import MixtureRegressor
from ilr_dynamics.regression.units.scaling import Standardizer

__all__ = ["recording_weights"]

# Speed below which a joint counts as sticking rather than slipping, in units of the velocity
# scale: 0.02 rad/s for the WAM.
STICKING_SPEED = 0.05
# Weight of a sample in which a joint sticks. With almost zero, learning from few data became
# worse: near reversals most samples are of this kind.
STUCK_WEIGHT = 0.1
# Share of the recording in which a joint slips: up to the first value its sticking is ignored,
# from the second on it counts fully. A joint that rarely moves would otherwise remove most
# samples of the others.
SELDOM_SLIPS, OFTEN_SLIPS = 0.1, 0.4
# If joints move in turn, one of them sticks in nearly all samples, which makes none of these bad.
# If sticking would leave less than this share of the total weight, it counts less.
MIN_SHARE_LEFT = 0.2


def recording_weights(X: FloatArray, model: MixtureRegressor) -> FloatArray:
    """
    Weights of samples in the order of time.

    Parameters
    ----------
    X : ndarray of shape (n, 3 n_joints)
        Positions, velocities and accelerations.
    model : MixtureRegressor
        Model that will learn them. Its input scales are the units of distance; if it has no
        global model, samples of sticking joints get a smaller weight.

    Returns
    -------
    ndarray of shape (n,)
        Weights above 0 and at most 1.

    Raises
    ------
    InvalidParameterError
        If the model's `input_scale` does not fit the samples.
    """
    # Without accelerations, which are differentiated: their noise would count as motion.
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
    equal = np.ones(len(X))
    stated = None if model.scaling is None else model.scaling.input_scale
    return Standardizer.from_data(X, equal, None, stated, "input").scale


def _informative_share(velocity: FloatArray, weights: FloatArray) -> FloatArray:
    """Share (n,) of the weight that samples of scaled velocities (n, n_joints) keep."""
    squared = velocity**2
    slips = squared / (squared + STICKING_SPEED**2)
    often = np.average(slips, axis=0, weights=weights)
    counts = np.clip((often - SELDOM_SLIPS) / (OFTEN_SLIPS - SELDOM_SLIPS), 0.0, 1.0)
    all_slip = np.prod(1.0 - counts * (1.0 - slips), axis=1)
    all_slip /= max(float(all_slip.max()), np.finfo(float).tiny)
    relevance = min(1.0, float(np.average(all_slip, weights=weights)) / MIN_SHARE_LEFT)
    return 1.0 - relevance * (1.0 - STUCK_WEIGHT) * (1.0 - all_slip)
