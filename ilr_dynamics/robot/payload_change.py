# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
r"""
Whether newer torques still fit what older ones said of the payload.

Two explanations are compared by their marginal likelihoods: one payload and one change of friction
for all samples, or others for the newer ones,

.. math::
    \log \frac{p(D_\mathrm{old})\, p(D_\mathrm{new})}{p(D_\mathrm{old}, D_\mathrm{new})}

where payload and friction are integrated out of each. No threshold on a torque has to be known:
more parameters have to pay for themselves.
"""

from __future__ import annotations

import numpy as np

from ilr_dynamics.arrays import FloatArray
from ilr_dynamics.robot.payload_posterior import PayloadPrior
from ilr_dynamics.robot.payload_sums import PayloadSums, reduced
from ilr_dynamics.robot.pseudo_inertia import N_INERTIAL

__all__ = ["log_odds_of_change"]


def log_odds_of_change(
    older: PayloadSums, newer: PayloadSums, precision: FloatArray, prior: PayloadPrior
) -> float:
    """
    Return the log of how much more probable the samples are if something changed between them.

    Parameters
    ----------
    older, newer : PayloadSums
    precision : ndarray of shape (n,)
        Factor kappa of each joint's precision.
    prior : PayloadPrior
    """
    apart = sum(_log_evidence(sums, precision, prior) for sums in (older, newer))
    return apart - _log_evidence(older + newer, precision, prior)


def _log_evidence(sums: PayloadSums, precision: FloatArray, prior: PayloadPrior) -> float:
    """Log marginal likelihood, with a Gaussian for the payload, about none."""
    left = reduced(sums, precision, prior.friction)
    scale = prior.body.scale
    # In units of the prior deviations: moments of inertia are in the ten-thousandths.
    whole = np.eye(N_INERTIAL) + left.A * np.outer(scale, scale)
    pull = scale * left.b
    factor = np.linalg.cholesky(whole)
    scaled = np.linalg.solve(factor, pull)
    log_determinant = float(np.sum(np.log(np.diagonal(factor))))
    return left.log_constant - log_determinant + 0.5 * float(scaled @ scaled)
