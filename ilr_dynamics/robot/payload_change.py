# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
r"""
Whether newer torques still fit what older ones said of the payload.

Two explanations are compared by their marginal likelihoods: one payload, one change of friction
and one noise for all samples, or others for the newer ones,

.. math::
    \log \frac{p(D_\mathrm{old})\, p(D_\mathrm{new})}{p(D_\mathrm{old}, D_\mathrm{new})}

where all of these are integrated out. No threshold on a torque has to be known: more parameters
have to pay for themselves. The noise takes part because one payload for both leaves errors that
more noise would explain as well. Each likelihood is the bound of variational Bayes (Bishop, 2006,
section 10.3), with a Gaussian for the payload, about none.
"""

from __future__ import annotations

import numpy as np
from scipy.special import gammaln

from ilr_dynamics.arrays import FloatArray
from ilr_dynamics.robot.dynamics_terms import N_INERTIAL
from ilr_dynamics.robot.payload_posterior import SHAPE, PayloadPrior, expected_squares
from ilr_dynamics.robot.payload_sums import PayloadSums, reduced

__all__ = ["log_odds_of_change"]

# The bound holds after any number, and less of it is lost on how newer samples differ.
ITERATIONS = 2


def log_odds_of_change(
    older: PayloadSums, newer: PayloadSums, precision: FloatArray, prior: PayloadPrior
) -> float:
    """
    Return the log of how much more probable the samples are if something changed between them.

    Parameters
    ----------
    older, newer : PayloadSums
    precision : ndarray of shape (n,)
        Factor xi of each joint's precision, from which on it is searched.
    prior : PayloadPrior
    """
    apart = sum(_log_evidence(sums, precision, prior) for sums in (older, newer))
    return apart - _log_evidence(older + newer, precision, prior)


def _log_evidence(sums: PayloadSums, precision: FloatArray, prior: PayloadPrior) -> float:
    """Log marginal likelihood of the samples."""
    scale = prior.body.scale
    shape = SHAPE + 0.5 * sums.count
    for _ in range(ITERATIONS):
        left = reduced(sums, precision, prior.friction)
        # In units of the prior deviations: moments of inertia are in the ten-thousandths.
        whole = np.eye(N_INERTIAL) + left.A * np.outer(scale, scale)
        covariance = np.linalg.inv(whole)
        pull = scale * left.b
        mean = covariance @ pull
        squares = expected_squares(sums, left, scale * mean, covariance * np.outer(scale, scale))
        rate = SHAPE + 0.5 * squares
        used, precision = precision, shape / rate
    _, log_determinant = np.linalg.slogdet(whole)
    of_torques = left.log_constant - 0.5 * float(log_determinant) + 0.5 * float(pull @ mean)
    of_noise = gammaln(shape) - gammaln(SHAPE) + SHAPE * np.log(SHAPE) - shape * np.log(rate)
    return of_torques + float(np.sum(of_noise + used * (rate - SHAPE)))
