# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
r"""
Posterior of a payload, and how far the model's own uncertainty has to be widened for it.

The factors xi of the precisions have Gamma distributions, and are found together with the
payload by variational Bayes, as a product of both (Bishop, 2006, section 10.1):

.. math::
    E\,\xi_j = \frac{a + n_j / 2}{a + E \lVert r_j - \phi_j \chi \rVert^2 / 2}
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from ilr_dynamics.arrays import FloatArray
from ilr_dynamics.robot.dynamics_terms import N_INERTIAL
from ilr_dynamics.robot.payload_sums import (
    FRICTION,
    N_UNKNOWN,
    PAYLOAD,
    PayloadSums,
    Reduced,
    reduced,
)
from ilr_dynamics.robot.pseudo_inertia_prior import PseudoInertiaPrior

__all__ = ["SHAPE", "PayloadPosterior", "PayloadPrior", "expected_squares"]

# Shape a of the Gamma distribution of each xi, whose mean is one before anything is known.
SHAPE = 2.0
# Change of dry friction, and of viscous friction at one rad/s, that is usual as a share of the
# largest torque of a joint.
CHANGE_OF_FRICTION = 0.05


@dataclass(frozen=True, eq=False)
class PayloadPrior:
    """
    What is known before an arm has moved with its payload.

    Parameters
    ----------
    body : PseudoInertiaPrior
        Of the payload, if there is one.
    friction : ndarray of shape (n, 2)
        Standard deviation of changes of viscous and dry friction, Nms/rad and Nm.
    """

    body: PseudoInertiaPrior
    friction: FloatArray

    @classmethod
    def of_arm(cls, body: PseudoInertiaPrior, torque_limit: FloatArray) -> Self:
        """Return the prior of an arm whose joints have these largest torques (n,), Nm."""
        return cls(body, CHANGE_OF_FRICTION * np.column_stack([torque_limit, torque_limit]))


@dataclass(frozen=True, eq=False)
class PayloadPosterior:
    """
    What is known of the payload.

    Attributes
    ----------
    parameters : ndarray of shape (10,)
        Most probable inertial parameters about the tool point; always those of a real body.
    covariance : ndarray of shape (10, 10)
    log_odds : float
        Log of how much more probable the torques are with some payload than without any.
    precision : ndarray of shape (n,)
        Factor xi by which the precision of the torques is more than the model expects.
    friction : ndarray of shape (n, 2)
        Changes of viscous and dry friction, Nms/rad and Nm.
    """

    parameters: FloatArray
    covariance: FloatArray
    log_odds: float
    precision: FloatArray
    friction: FloatArray

    @classmethod
    def before_samples(cls, prior: PayloadPrior) -> Self:
        """Return what is known without a sample."""
        n_joints = len(prior.friction)
        nothing = np.zeros(N_INERTIAL)
        mode = prior.body.mode(np.zeros((N_INERTIAL, N_INERTIAL)), nothing, prior.body.mean)
        return cls(
            mode.parameters,
            mode.covariance,
            0.0,
            np.ones(n_joints),
            np.zeros((n_joints, 2)),
        )

    def updated(self, sums: PayloadSums, prior: PayloadPrior, iterations: int = 2) -> Self:
        """
        Return the posterior of all samples, by a search that begins with this one.

        Parameters
        ----------
        sums : PayloadSums
            Of all samples.
        prior : PayloadPrior
        iterations : int
            Times that payload and xi are found by turns.
        """
        found = self
        for _ in range(iterations):
            left = reduced(sums, found.precision, prior.friction)
            mode = prior.body.mode(left.A, left.b, found.parameters)
            with_torque = np.append(-mode.parameters, 1.0)
            found = replace(
                found,
                parameters=mode.parameters,
                covariance=mode.covariance,
                log_odds=mode.log_evidence,
                friction=left.to_friction @ with_torque,
            )
            squares = expected_squares(sums, left, mode.parameters, mode.covariance)
            precision = (SHAPE + 0.5 * sums.count) / (SHAPE + 0.5 * squares)
            found = replace(found, precision=precision)
        return found


def expected_squares(
    sums: PayloadSums, left: Reduced, mean: FloatArray, covariance: FloatArray
) -> FloatArray:
    """
    Return the expected sum (n,) of each joint's squared standardised errors.

    Parameters
    ----------
    sums : PayloadSums
    left : Reduced
        The same without friction.
    mean : ndarray of shape (10,)
    covariance : ndarray of shape (10, 10)
        Of the payload.
    """
    n_joints = len(sums.count)
    products = sums.products
    signed = np.empty((n_joints, N_UNKNOWN + 1))
    signed[:, PAYLOAD] = -mean
    signed[:, FRICTION] = -(left.to_friction @ np.append(-mean, 1.0))
    signed[:, N_UNKNOWN] = 1.0
    at_mean = np.sum((products @ signed[:, :, None])[:, :, 0] * signed, axis=1)
    # Of a payload that is off by e, friction is off by -to_friction e, and by its own besides.
    spread = np.empty((n_joints, N_UNKNOWN, N_INERTIAL))
    spread[:, PAYLOAD] = np.eye(N_INERTIAL)
    spread[:, FRICTION] = -left.to_friction[:, :, :N_INERTIAL]
    known = products[:, :N_UNKNOWN, :N_UNKNOWN]
    of_payload = np.sum((known @ spread) * (spread @ covariance), axis=(1, 2))
    of_friction = np.sum(products[:, FRICTION, FRICTION] * left.friction_covariance, axis=(1, 2))
    return np.asarray(np.maximum(at_mean, 0.0) + of_payload + of_friction)
